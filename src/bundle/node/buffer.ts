export const { Buffer } = process.getBuiltinModule('node:buffer')

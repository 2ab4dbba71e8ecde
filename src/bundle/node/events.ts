export const { EventEmitter } = process.getBuiltinModule('node:events')

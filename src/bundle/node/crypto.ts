export default process.getBuiltinModule('node:crypto')

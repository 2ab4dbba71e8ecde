export default process.getBuiltinModule('node:os')

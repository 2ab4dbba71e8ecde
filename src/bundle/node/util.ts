export default process.getBuiltinModule('node:util')

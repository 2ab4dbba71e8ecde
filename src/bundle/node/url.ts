export default process.getBuiltinModule('node:url')

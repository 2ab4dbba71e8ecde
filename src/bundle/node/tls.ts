const tls = process.getBuiltinModule('node:tls')

export default tls
export const { connect } = tls

const net = process.getBuiltinModule('node:net')

export default net
export const { connect } = net

const stream = process.getBuiltinModule('node:stream')

export default stream
export const { PassThrough, Transform, finished, pipeline } = stream

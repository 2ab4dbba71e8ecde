import {
  type RunnerMessage,
  runnerFrameCharsMax,
  runnerMessage,
  runnerProtocolVersion,
} from '../../shared/runner-protocol'

/** Returns the message of a frame, or why it is none. */
export function readFrame(data: string | ArrayBuffer): RunnerMessage | string {
  if (typeof data !== 'string') return 'Frames must be text.'
  if (data.length > runnerFrameCharsMax) return 'The frame is too long.'
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch {
    return 'The frame is not JSON.'
  }
  const parsed = runnerMessage.safeParse(value)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  if (issue?.path[0] === 'protocol') {
    return `This hub speaks version ${runnerProtocolVersion} of the runner protocol. Update the runner.`
  }
  return `Not a message: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`
}

import { runnerProtocolVersion } from '../../src/shared/runner-protocol.ts'

/** Connects a runner to a hub on this machine, and waits for the welcome. Node's own WebSocket sends headers. */
export async function openRunnerSocket(
  url: string,
  key: string,
  hello: object,
): Promise<WebSocket> {
  const options = { headers: { authorization: `Bearer ${key}` } }
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/runners/socket`, options as never)
  await new Promise((resolve, reject) => {
    socket.addEventListener('error', () => reject(new Error('The socket failed.')))
    socket.addEventListener('message', resolve)
    socket.addEventListener('open', () =>
      socket.send(
        JSON.stringify({
          type: 'hello',
          protocol: runnerProtocolVersion,
          version: '0.1.0',
          labels: [],
          slots: 2,
          runs: [],
          has_sandbox: true,
          programs: [],
          ...hello,
        }),
      ),
    )
  })
  return socket
}

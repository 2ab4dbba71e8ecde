import { expect, vi } from 'vitest'
import {
  type HubMessage,
  hubMessage,
  type RunnerMessage,
  runnerProtocolVersion,
} from '../../src/shared/runner-protocol'

/** A runner that is connected through the hub's socket. */
export interface ConnectedRunner {
  id: string
  /** What the hub has sent, without `pong`. */
  received: HubMessage[]
  pongs: number
  code: number
  send(message: RunnerMessage | string): void
  close(): void
}

const patience = { timeout: 120_000, interval: 20 }

/** Connects a runner, and waits for the hub's welcome. */
export async function connectRunner(
  fetchHub: (path: string, init: RequestInit) => Promise<Response>,
  key: string,
  hello: Partial<Extract<RunnerMessage, { type: 'hello' }>> = {},
): Promise<ConnectedRunner> {
  const headers = { upgrade: 'websocket', authorization: `Bearer ${key}` }
  const { status, webSocket } = await fetchHub('/runners/socket', { headers })
  expect(status).toBe(101)
  if (!webSocket) throw new Error('There is no socket.')
  const runner: ConnectedRunner = {
    id: '',
    received: [],
    pongs: 0,
    code: 0,
    send: (message) =>
      webSocket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    close: () => webSocket.close(1000, 'Goodbye'),
  }
  webSocket.addEventListener('message', ({ data }) => {
    if (data === 'pong') runner.pongs++
    else runner.received.push(hubMessage.parse(JSON.parse(String(data))))
  })
  webSocket.addEventListener('close', ({ code }) => {
    runner.code = code
  })
  webSocket.accept()
  runner.send({
    type: 'hello',
    protocol: runnerProtocolVersion,
    version: '0.1.0',
    name: 'cellar',
    labels: [],
    slots: 2,
    has_sandbox: false,
    programs: [{ type: 'codex', version: '1.0' }],
    runs: [],
    ...hello,
  })
  await vi.waitFor(() => expect(runner.received[0]?.type).toBe('welcome'), patience)
  const [welcome] = runner.received
  if (welcome?.type === 'welcome') runner.id = welcome.runner_id
  return runner
}

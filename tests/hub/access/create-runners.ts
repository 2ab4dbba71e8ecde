import { expect } from 'vitest'
import { connectRunner } from '../../support/connect-runner'
import type { TestHub } from '../create-test-hub'

// biome-ignore lint/suspicious/noExplicitAny: answers of every shape
type Admin = (path: string, body: unknown) => Promise<any>

/** Creates runner keys, and runners that are connected or were. */
export function createRunners(hub: TestHub, admin: Admin) {
  let runners = 0
  const newRunnerKey = async (): Promise<{ id: string; api_key: string }> =>
    (await admin('/runners/keys', { label: 'row' })).key
  const newRunner = async (isConnected: boolean): Promise<string> => {
    const { api_key: key } = await newRunnerKey()
    const runner = await connectRunner(hub.fetch, key, { name: `runner-${++runners}` })
    if (isConnected) return runner.id
    runner.close()
    await expect
      .poll(async () => {
        const { runners: listed } = await hub.context().agents.runners.list()
        return listed.find(({ id }) => id === runner.id)?.isConnected
      })
      .toBe(false)
    return runner.id
  }
  return { newRunnerKey, newRunner }
}

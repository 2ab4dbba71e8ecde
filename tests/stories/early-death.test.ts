import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { scheduling } from '../../src/shared/config'
import type { AgentObject } from '../../src/worker'
import { createAccount, post, waitForValue } from '../support/cast'
import { createAgent, type TestAgent, waitForActivation } from '../support/create-agent'

const agents = (env as unknown as { AGENTS: DurableObjectNamespace<AgentObject> }).AGENTS

let mira: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  mira = await createAccount('mira')
})

/** Restarts an agent during its model call. False when it already had an alarm: a slow test may be too late. */
async function killEarly(agent: TestAgent): Promise<boolean> {
  let isEarly = false
  await waitForValue(async () => (await agent.requests()).length > 0, 'the model to be asked')
  await runInDurableObject(agents.getByName(agent.accountId), async (_object, state) => {
    isEarly = (await state.storage.getAlarm()) === null
    state.abort('the machine stops')
  }).catch(() => undefined)
  return isEarly
}

test('S6 L36: an agent whose object restarts before it has an alarm is found by the sweep', async () => {
  const answers = [{ text: 'Nobody hears this.', latencyMs: 5_000 }, { text: 'In March.' }]
  const names = ['mayfly', 'spark', 'bubble']
  const created = await Promise.all(names.map((name) => createAgent(name, answers)))
  // An agent woken a moment ago, as new ones are, has its alarm immediately.
  await scheduler.wait(scheduling.watchdogMs + 500)
  let wasEarly = false
  for (const agent of created) {
    const asked = await post(mira.key, 'When?', `@${agent.name} when?`)
    wasEarly = (await killEarly(agent)) || wasEarly
    expect((await waitForActivation(asked)).outcome).toBe('completed')
    expect(await agent.requests()).toHaveLength(2)
    if (wasEarly) break
  }
  expect(wasEarly).toBe(true)
})

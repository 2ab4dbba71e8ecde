import { beforeAll, expect, test } from 'vitest'
import { createAccount, listComments, post, waitForValue } from '../support/cast'
import { createAgent, waitForActivation } from '../support/create-agent'
import { freePlan, isWithin } from '../support/platform-invocation'
import { runWorkerAsDeployed } from '../support/platform-worker'

/** The Worker with the limits of Cloudflare's free plan. docs/scale.md says what works there. */
const invocations = runWorkerAsDeployed(freePlan)

let mira: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  mira = await createAccount('mira')
})

/** Creates an agent with a scripted model, and waits until it has found no task. */
async function createIdleAgent(...[name, answers]: Parameters<typeof createAgent>) {
  const first = invocations.length
  const agent = await createAgent(name, answers)
  const hasLooked = async () =>
    invocations.slice(first).some((each) => each.name === 'AgentObject.wake' && each.queries > 0)
  await waitForValue(hasLooked, `${name} to look for tasks`)
  return agent
}

const search = (index: number) => ({
  name: 'hub_search',
  arguments: { query: `pelicans ${index}` },
})

test('a run without tools stays within the free plan', async () => {
  await createIdleAgent('owl', [{ text: 'There were 412.' }])
  const asked = await post(mira.key, 'Census', '@owl how many pelicans?')
  expect((await waitForActivation(asked)).outcome).toBe('completed')
  expect(invocations.filter((each) => !isWithin(each, freePlan))).toEqual([])
})

test('a run whose last statements the free plan refuses is finished once, by the next alarm', async () => {
  const calls = [1, 2, 3, 4].map(search)
  const crow = await createIdleAgent('crow', [{ calls }, { text: 'There were 412.' }])
  const asked = await post(mira.key, 'Census', '@crow how many pelicans?')
  expect((await waitForActivation(asked)).outcome).toBe('completed')
  expect(invocations.some((each) => !isWithin(each, freePlan))).toBe(true)
  expect((await listComments(asked)).map(({ content }) => content)).toEqual([
    '@mira There were 412.',
  ])
  expect(await crow.requests()).toHaveLength(2)
})

import { test } from 'vitest'
import { commit } from '../../../src/hub/activations/commit'
import { load } from '../../../src/hub/activations/load'
import { renew } from '../../../src/hub/activations/renew'
import type { ActivationId } from '../../../src/shared/ids'
import { createOffice } from './create-office'

const office = createOffice()
const { hub, createAgent } = office

type Account = Awaited<ReturnType<typeof createAgent>>
type Costs = Record<string, { roundTrips: number; rowsRead: number; rowsWritten: number }>

/** What LOAD, RENEW and COMMIT of a mention with an answer cost at D1. */
async function measureMention(agent: Account, key: string): Promise<Costs> {
  const postId = await office.post(key, `@${agent.name} what did we decide?`)
  const activationId = office.newId<ActivationId>()
  const now = hub.clock.now()
  const request = { agentId: agent.id, activationId, now, capacity: 50, canExplore: false }
  const money = { microusd: 10, tokens: 1 }
  const answer = { id: office.newId(), postId, parentId: null, content: 'A decision.' } as const
  const steps = {
    load: (context: ReturnType<typeof office.context>) => load(context.db, request),
    renew: (context: ReturnType<typeof office.context>) =>
      renew(context.db, { ...request, spent: money, want: money, floor: money }),
    commit: (context: ReturnType<typeof office.context>) =>
      commit(context, office.composeCommit(agent.id, activationId, { reply: answer })),
  }
  const costs: Costs = {}
  for (const [name, step] of Object.entries(steps)) {
    const context = office.context()
    await step(context)
    costs[name] = { ...context.db.cost }
  }
  return costs
}

/** The least of several mentions: a search that ends beside a row reads one more. */
async function measureLeast(agent: Account, key: string): Promise<Costs> {
  const all: Costs[] = []
  for (let count = 0; count < 6; count++) all.push(await measureMention(agent, key))
  const least = (step: string, what: 'roundTrips' | 'rowsRead' | 'rowsWritten') =>
    Math.min(...all.map((costs) => costs[step]?.[what] ?? 0))
  return Object.fromEntries(
    ['load', 'renew', 'commit'].map((step) => [
      step,
      {
        roundTrips: least(step, 'roundTrips'),
        rowsRead: least(step, 'rowsRead'),
        rowsWritten: least(step, 'rowsWritten'),
      },
    ]),
  )
}

test('B4: cost', async () => {
  const ada = await hub.join('ada', 'human')
  const scout = await createAgent('scout')
  await office.hubApi.sweep(hub.clock.now())
  console.log(JSON.stringify(await measureLeast(scout, ada.key)))
  const kit = await hub.join('kit')
  await office.run('UPDATE accounts SET owner_id = ?1 WHERE id = ?2', ada.id, kit.id)
  console.log(JSON.stringify(await measureLeast(scout, kit.key)))
})

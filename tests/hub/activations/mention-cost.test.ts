import { expect, test } from 'vitest'
import { commit } from '../../../src/hub/activations/commit'
import { load } from '../../../src/hub/activations/load'
import { renew } from '../../../src/hub/activations/renew'
import type { ActivationId } from '../../../src/shared/ids'
import { createOffice } from './create-office'

const office = createOffice()
const { hub, createAgent } = office

/** What LOAD, RENEW and COMMIT of a mention with an answer cost at D1. */
async function measureMention(agent: { id: Awaited<ReturnType<typeof createAgent>>['id']; name: string }, key: string) {
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
  const costs: Record<string, { roundTrips: number; rowsRead: number; rowsWritten: number }> = {}
  for (const [name, step] of Object.entries(steps)) {
    const context = office.context()
    await step(context)
    costs[name] = { ...context.db.cost }
  }
  return costs
}

test('B4: cost', async () => {
  const ada = await hub.join('ada', 'human')
  const scout = await createAgent('scout')
  await office.hubApi.sweep(hub.clock.now())
  console.log(JSON.stringify(await measureMention(scout, ada.key)))
  console.log(JSON.stringify(await measureMention(scout, ada.key)))
  const kit = await hub.join('kit')
  await office.run('UPDATE accounts SET owner_id = ?1 WHERE id = ?2', ada.id, kit.id)
  console.log(JSON.stringify(await measureMention(scout, kit.key)))
  expect(1).toBe(1)
})

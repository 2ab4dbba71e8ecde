import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { load, renew } from '../../../src/hub/runs/activation-api'
import { loadStatements } from '../../../src/hub/runs/load-queries'
import type { ActivationId } from '../../../src/shared/ids'
import { createOffice } from './create-office'

const office = createOffice()
const { hub, createAgent } = office

/** Statements of LOAD that look for waiting tasks of the agent. */
const searching = ['resume', 'claim', 'claimItems', 'state'] as const

test.each([true, false])(
  'L37: LOAD finds waiting tasks in the index of unread items, canExplore: %s',
  async (canExplore) => {
    const scout = await createAgent(`planned-${canExplore}`)
    const request = {
      agentId: scout.id,
      activationId: office.newId<ActivationId>(),
      now: hub.clock.now(),
      capacity: 50,
      canExplore,
    }
    const statements = loadStatements(request, office.context().models)
    for (const name of searching) {
      const { sql, params } = statements[name].compile()
      const steps = await office.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...params)
      const plan = steps.map(({ detail }) => detail).join('\n')
      expect(plan, name).toContain('INDEX inbox_unread')
      expect(plan, name).not.toMatch(/INDEX inbox_of\b/)
    }
  },
)

test('L37: LOAD and RENEW read no item that the agent has read', async () => {
  const ada = await hub.join('keeper', 'human')
  const scout = await createAgent('veteran')
  await office.hubApi.sweep(hub.clock.now())
  const ids = Array.from({ length: 1_000 }, () => office.newId())
  const rowsRead = async (canExplore: boolean) => {
    await office.post(ada.key, '@veteran once more')
    const now = hub.clock.now()
    const activationId = office.newId<ActivationId>()
    const request = { agentId: scout.id, activationId, now, capacity: 50, canExplore }
    const context = office.context()
    const answer = await load(context, request)
    expect(answer.kind).toBe('loaded')
    const money = { microusd: 10, tokens: 1 }
    await renew(context, { ...request, spent: money, want: money, floor: money })
    await office.commit(scout.id, activationId)
    return context.db.cost.rowsRead
  }
  const before = await rowsRead(false)
  const beforeExploring = await rowsRead(true)
  await env.DB.prepare(
    `INSERT INTO inbox_items (id, account_id, type, post_id, created_at, read_at, is_task)
     SELECT 'read-' || value, ?2, 'mention', 'elsewhere', key, 5, 1 FROM json_each(?1)`,
  )
    .bind(JSON.stringify(ids), scout.id)
    .run()
  expect(await rowsRead(false)).toBeLessThan(before + 20)
  expect(await rowsRead(true)).toBeLessThan(beforeExploring + 20)
})

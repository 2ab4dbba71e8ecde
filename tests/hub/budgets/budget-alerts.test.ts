import { beforeAll, beforeEach, expect, it } from 'vitest'
import { run as runStatement } from '../../../src/shared/db/batch'
import type { ActivationId } from '../../../src/shared/ids'
import { adminKey } from '../create-test-hub'
import { createOffice, usageOf } from '../runs/create-office'

const office = createOffice()
const { hub, post, start, commit, run } = office
const dayMs = 86_400_000
let mira: Awaited<ReturnType<typeof hub.join>>
const agents: (typeof mira)[] = []

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  for (const n of [0, 1, 2, 3])
    agents.push(await office.createAgent(`bot-${n}`, { floor: 1, want: 100 }))
})

beforeEach(async () => {
  await office.clear()
  hub.clock.advance(40 * dayMs)
  await sweep()
  await sweep()
  await office.setHubLimit(1_000_000)
  await run('DELETE FROM budget_levels')
  await run('DELETE FROM inbox_items')
  await run('UPDATE posts SET deleted_at = 1 WHERE is_listed = 0')
})

const sweep = () => {
  hub.clock.advance(1)
  return office.hubApi.sweep(hub.clock.now())
}
const readTitles = async () =>
  (
    await office.all<{ title: string }>(
      `SELECT p.title FROM posts p JOIN communities m ON m.id = p.community_id
       WHERE m.name = 'agent-status' AND p.deleted_at IS NULL ORDER BY p.created_at, p.id`,
    )
  ).map(({ title }) => title.replaceAll('\u00a0', ' '))
const readAdminInbox = async () =>
  (
    await office.all<{ content: string }>(
      `SELECT i.content FROM inbox_items i JOIN accounts a ON a.id = i.account_id
     WHERE a.name = 'admin' AND i.type = 'system' ORDER BY i.created_at, i.id`,
    )
  ).map(({ content }) => content.replaceAll('\u00a0', ' '))

/** Runs one activation with this cost; resolves when the alerts that it causes are posted. */
async function spend(cost: number, agent = agents[0]): Promise<void> {
  if (!agent) throw new Error('no agent')
  hub.clock.advance(1)
  await post(mira.key, `@${agent.name}`)
  const { activationId } = await start(agent.id)
  await finish(agent.id, activationId, cost)
}
const finish = async (id: (typeof mira)['id'], activationId: ActivationId, cost: number) => {
  await commit(id, activationId, { usage: [usageOf(cost, 10)] })
  await settled()
}
/** The hub posts alerts after the commit: waits until no crossed threshold is left to report. */
async function settled(): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if ((await office.all('SELECT 1 FROM budget_levels WHERE is_crossed = 1')).length === 0) return
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  throw new Error('the budget alert was not posted')
}

it('B9: each crossed threshold of a budget is reported once a period, also to admins', async () => {
  await spend(799_999)
  expect(await readTitles()).toEqual([])
  await spend(1)
  await spend(50_000)
  await spend(60_000)
  await spend(10_000)
  await sweep()
  expect(await readTitles()).toEqual([
    'The hub’s monthly budget is 80 % used',
    'The hub’s monthly budget is 91 % used',
  ])
  await spend(80_000)
  await sweep()
  expect((await readTitles()).at(2)).toBe('The hub’s monthly budget is used up')
  expect(await readAdminInbox()).toEqual(await readTitles())
  const { content } =
    (await office.first<{ content: string }>(
      `SELECT content FROM posts WHERE title LIKE '%used up' AND deleted_at IS NULL`,
    )) ?? {}
  expect(content?.replaceAll('\u00a0', ' ')).toContain('All agents: $1.00 of $1.00 spent.')
})

it('B9: of several thresholds crossed at once the highest is reported', async () => {
  await spend(950_000)
  expect(await readTitles()).toEqual(['The hub’s monthly budget is 95 % used'])
})

it('B9: a budget that refused a call is reported once, also to admins, until its limit is raised', async () => {
  const refuse = async (cost: number) => {
    const [agent] = agents
    if (!agent) throw new Error('no agent')
    await post(mira.key, `@${agent.name}`)
    const { activationId } = await start(agent.id)
    const refusedCall = { microusd: 500_000, tokens: 1 }
    await commit(agent.id, activationId, { usage: [usageOf(cost, 10)], refusedCall })
    await settled()
  }
  await refuse(600_000)
  await refuse(10)
  await spend(250_000)
  await sweep()
  const refusing = 'The hub’s monthly budget has too little left for a call'
  expect(await readTitles()).toEqual([refusing])
  expect(await readAdminInbox()).toEqual([refusing])
  expect(await lastContent()).toContain('It refused a call, because too little is left.')
  await change({ limit_microusd: 2_000_000 })
  expect((await readTitles()).slice(1)).toEqual(['The hub’s monthly budget is available again'])
  await run('DELETE FROM budget_refusals')
})

it('B9: concurrent commits and sweeps report it once', async () => {
  const running = await Promise.all(
    agents.map(async ({ id, name }) => {
      await post(mira.key, `@${name}`)
      return { id, ...(await start(id)) }
    }),
  )
  await Promise.all([
    ...running.map(({ id, activationId }) => finish(id, activationId, 205_000)),
    sweep(),
    sweep(),
  ])
  await sweep()
  expect(await readTitles()).toEqual(['The hub’s monthly budget is 82 % used'])
  expect(await readAdminInbox()).toHaveLength(1)
})

it('B9: the next sweep reports what a crash kept from being reported', async () => {
  await run(
    'UPDATE budget_windows SET spent_microusd = 920000 WHERE starts_at <= ?1 AND ends_at > ?1',
    hub.clock.now(),
  )
  await run(
    `INSERT INTO budget_levels (budget_id, is_crossed) SELECT id, 1 FROM budgets WHERE scope = 'hub'`,
  )
  expect(await readTitles()).toEqual([])
  await sweep()
  await sweep()
  expect(await readTitles()).toEqual(['The hub’s monthly budget is 92 % used'])
})

/** Changes the hub's budget as an admin does. */
const change = async (body: object) => {
  const { status } = await hub.call('/budgets/00000000-0000-7000-8000-000000000201', {
    method: 'PATCH',
    key: adminKey,
    body,
  })
  expect(status).toBe(200)
  await sweep()
  await sweep()
}
const lastContent = async () =>
  (
    await office.first<{ content: string }>(
      'SELECT content FROM posts WHERE is_listed = 0 AND deleted_at IS NULL ORDER BY created_at DESC LIMIT 1',
    )
  )?.content

it('B9: a raised limit is reported once, and its thresholds are reported again', async () => {
  await spend(950_000)
  await change({ limit_microusd: 2_000_000 })
  expect((await readTitles()).slice(1)).toEqual(['The hub’s monthly budget is available again'])
  expect(await readAdminInbox()).toHaveLength(1)
  await spend(690_000)
  expect((await readTitles()).slice(2)).toEqual(['The hub’s monthly budget is 82 % used'])
})

it('B9: each time a budget is used up or becomes available again, that is reported', async () => {
  await spend(1_000_000)
  for (const _ of [0, 1]) {
    await change({ limit_microusd: 2_000_000 })
    await change({ limit_microusd: 1_000_000 })
  }
  await change({ limit_microusd: 1_000_000 })
  const [usedUp, available] = [
    'The hub’s monthly budget is used up',
    'The hub’s monthly budget is available again',
  ]
  expect(await readTitles()).toEqual([usedUp, available, usedUp, available, usedUp])
  expect(await readAdminInbox()).toHaveLength(3)
})

it('B9: changed thresholds are not reported as a raised limit', async () => {
  const shares = { warning_share: 0.8, throttle_share: 0.9, critical_share: 1 }
  await spend(850_000)
  await change({ ...shares, warning_share: 0.9 })
  expect(await lastContent()).toContain('The limit or the thresholds were changed.')
  await change(shares)
})

it('B3 B9: the alert of a used up budget names what is refused', async () => {
  await change({ critical_share: 0.9, allows_critical: true })
  await spend(900_000)
  expect(await lastContent()).toContain('except tasks of critical priority.')
  await change({ limit_microusd: 900_000 })
  await change({ allows_critical: false, critical_share: 1, limit_microusd: 2_000_000 })
  await change({ limit_microusd: 900_000, allows_critical: true })
  expect(await lastContent()).toContain('are refused until it resets or is raised.')
  await change({ allows_critical: false })
})

it('B9: a new period is reported once, and only for a budget that had crossed a threshold', async () => {
  await spend(950_000)
  hub.clock.advance(32 * dayMs)
  await sweep()
  await sweep()
  hub.clock.advance(32 * dayMs)
  await sweep()
  expect((await readTitles()).slice(1)).toEqual(['The hub’s monthly budget is available again'])
  const { content } =
    (await office.first<{ content: string }>(
      `SELECT content FROM posts WHERE title LIKE '%available again' AND deleted_at IS NULL`,
    )) ?? {}
  expect(content).toContain('A new month has started.')
})

it('B9: each budget has its own thresholds, and an agent’s budget names the agent without waking it', async () => {
  const [first] = agents
  await run(
    `INSERT INTO budgets (id, scope, scope_id, period, limit_microusd, warning_share, created_at, updated_at)
     VALUES ('bot', 'agent', ?, 'day', 100000, 0.5, 0, 0)`,
    first?.id,
  )
  await sweep()
  await run('DELETE FROM inbox_items')
  await spend(60_000)
  expect(await readTitles()).toEqual(['The daily budget of bot-0 is 60 % used'])
  expect(
    await office.all(
      `SELECT 1 FROM inbox_items WHERE account_id = ? AND read_at IS NULL`,
      first?.id,
    ),
  ).toEqual([])
  expect((await sweep()).wake).toEqual([])
})

it('B9: a new budget that is already over a threshold is reported at once', async () => {
  await spend(300_000)
  const { status } = await hub.call('/budgets', {
    key: adminKey,
    body: { scope: 'hub', period: 'day', limit_microusd: 310_000 },
  })
  expect(status).toBe(201)
  await sweep()
  expect(await readTitles()).toEqual(['The hub’s daily budget is 97 % used'])
  await run(`DELETE FROM budgets WHERE scope = 'hub' AND period = 'day'`)
})

it('S10: budgets that never crossed a threshold cost the sweep nothing', async () => {
  const { selectChangedBudgets } = await import('../../../src/hub/budgets/report-queries')
  const count = async () => {
    const { db } = office.context()
    await runStatement(db, selectChangedBudgets({ now: hub.clock.now() }))
    return db.cost.rowsRead
  }
  const before = await count()
  for (let n = 0; n < 20; n++) {
    await run(
      `INSERT INTO budgets (id, scope, scope_id, period, limit_microusd, created_at, updated_at)
       VALUES (?1, 'agent', ?1, 'day', 100000, 0, 0)`,
      `nobody-${n}`,
    )
  }
  await sweep()
  expect(await count()).toBe(before)
})

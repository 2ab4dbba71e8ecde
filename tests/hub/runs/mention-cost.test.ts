import { beforeAll, expect, test } from 'vitest'
import { commit, load, renew } from '../../../src/hub/runs/activation-api'
import { run } from '../../../src/shared/db/batch'
import type { ActivationId, CommentId } from '../../../src/shared/ids'
import { adminKey } from '../create-test-hub'
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
  const answer = {
    id: office.newId<CommentId>(),
    postId,
    parentId: null,
    content: 'A decision.',
  } as const
  const steps = {
    load: (context: ReturnType<typeof office.context>) => load(context, request),
    renew: (context: ReturnType<typeof office.context>) =>
      renew(context, { ...request, spent: money, want: money, floor: money }),
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

beforeAll(async () => {
  await office.hubApi.sweep(hub.clock.now())
})

test('B4 T3: budgets by role make a mention on a hub without them no dearer', async () => {
  const ada = await hub.join('ada', 'human')
  const scout = await createAgent('scout')
  // before budgets by role: 112, 71 and 111 rows read, 10, 1 and 32 written
  const { load: loaded, renew: renewed, commit: committed } = await measureLeast(scout, ada.key)
  expect(loaded).toMatchObject({ roundTrips: 1, rowsWritten: 9 })
  expect(renewed).toMatchObject({ roundTrips: 1, rowsWritten: 1 })
  expect(committed).toMatchObject({ roundTrips: 1, rowsWritten: 31 })
  const rowsRead = [loaded, renewed, committed].reduce(
    (sum, each) => sum + (each?.rowsRead ?? 0),
    0,
  )
  // 14 more: what joined the run, and bans of its requesters; 17 more: lanes of replays hold money and rights, too
  expect(rowsRead).toBeLessThanOrEqual(328)
})

test('B4 T3: a budget by role costs one more row written, and rows read as any other budget', async () => {
  const mira = await hub.join('mira', 'human')
  const finch = await createAgent('finch')
  const before = await measureLeast(finch, mira.key)
  const body = { scope: 'role:member', period: 'month', limit_microusd: 20_000_000 }
  expect((await hub.call('/budgets', { key: adminKey, body })).status).toBe(201)
  const after = await measureLeast(finch, mira.key)
  for (const step of ['load', 'renew', 'commit']) {
    expect(after[step]?.roundTrips).toBe(1)
    const grown = (after[step]?.rowsRead ?? 0) - (before[step]?.rowsRead ?? 0)
    expect(grown, `rows read by ${step}`).toBeLessThan(34)
  }
  expect(after.commit?.rowsWritten).toBe((before.commit?.rowsWritten ?? 0) + 1)
})

test('L27 B4: a model provider that admins set up comes with LOAD and RENEW, in the same round trips', async () => {
  const piet = await hub.join('piet', 'human')
  const heron = await createAgent('heron')
  const before = await measureLeast(heron, piet.key)
  await office.run(
    "INSERT INTO model_providers (provider, updated_at, updated_by) VALUES ('anthropic', 0, 'ada')",
  )
  await office.run(
    `INSERT INTO credentials (name, server, service, variable, created_at, updated_at, updated_by)
     VALUES ('models/anthropic', 'models', 'anthropic', 'ROOKERY_SECRET_A', 0, 0, 'ada')`,
  )
  const context = office.context()
  expect(await run(context.db, context.models.selectConnections())).toMatchObject([
    { provider: 'anthropic', hasKey: true },
  ])
  await office.run('UPDATE agents SET reads_providers = 1 WHERE account_id = ?', heron.id)
  const after = await measureLeast(heron, piet.key)
  for (const step of ['load', 'renew', 'commit']) {
    expect(after[step]?.roundTrips).toBe(1)
    expect(after[step]?.rowsWritten).toBe(before[step]?.rowsWritten)
    const grown = (after[step]?.rowsRead ?? 0) - (before[step]?.rowsRead ?? 0)
    expect(grown, `rows read by ${step}`).toBeLessThanOrEqual(8)
  }
})

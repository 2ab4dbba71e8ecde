import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { ExplainRequest, SchedulerApi } from '../../../src/agents/contract/agents'
import {
  explainExploration,
  explainTask,
  explorationFloor,
} from '../../../src/agents/scheduler/explain'
import { requestReader } from '../../../src/hub/viewers/reader'
import { boardStatements } from '../../../src/hub/views/board-queries'
import { formatExplorationReason, readBoard } from '../../../src/hub/views/board-view'
import { batch } from '../../../src/shared/db/batch'
import type { AccountId, ActivationId } from '../../../src/shared/ids'
import { fakeExplain } from '../fake-explain'
import { createOffice } from '../runs/create-office'

/*
 * Why an agent does not run is decided twice: by LOAD in SQL, and by the scheduler, which offers
 * explorations and explains, in TypeScript. Here both answer the same questions.
 */

const office = createOffice()
const { hub, run } = office
const minute = 60_000

let mira: Awaited<ReturnType<typeof hub.join>>
let agents: { id: AccountId; name: string }[]
const agent = (at: number) => agents[at] as { id: AccountId; name: string }
/** The agent that is asked about. */
const asked = () => agent(0)
/** The agent whose task waits. */
const other = () => agent(4)

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  agents = []
  for (let at = 0; at < 5; at++) agents.push(await office.createAgent(`agent${at}`))
  await run(
    'INSERT INTO explorers (account_id, interval_ms, updated_at) VALUES (?, ?, 0)',
    asked().id,
    15 * minute,
  )
  await office.hubApi.sweep(hub.clock.now())
  await office.post(mira.key, 'What grows on Mars?')
  hub.clock.advance(6 * minute)
})
beforeEach(async () => {
  await run(`UPDATE activations SET state = 'done', reserved_microusd = 0, reserved_tokens = 0`)
  await run('UPDATE explorers SET explored_at = 0')
  await run(`DELETE FROM settings WHERE key IN ('exploration_waits', 'paused')`)
  await run('DELETE FROM inbox_items')
  await run('DELETE FROM bans')
  await run('DELETE FROM outage_waits')
  await run('UPDATE agents SET is_paused = 0')
  await run('UPDATE accounts SET disabled_at = NULL, owner_id = NULL')
  await run(`DELETE FROM budgets WHERE id = 'one'`)
  await run(`DELETE FROM budget_windows WHERE budget_id = 'one'`)
  await run('DELETE FROM budget_account_windows')
})

/** What may hold the runs of an agent back: the reason, and a statement for its account `?1`. */
const holds = {
  'a pause': ['paused', 'UPDATE agents SET is_paused = 1 WHERE account_id = ?1'],
  'a disabled account': ['stopped', 'UPDATE accounts SET disabled_at = 1 WHERE id = ?1'],
  'a mute': [
    'stopped',
    `INSERT INTO bans (id, account_id, kind, reason, created_by, created_at)
     VALUES ('mute', ?1, 'mute', '', ?1, 0)`,
  ],
  'a ban': [
    'stopped',
    `INSERT INTO bans (id, account_id, kind, reason, created_by, created_at)
     VALUES ('ban', ?1, 'ban', '', ?1, 0)`,
  ],
  'an outage': [
    'provider_down',
    `INSERT INTO outage_waits (agent_id, activation_id, address, since) VALUES (?1, 'none', 'a', 0)`,
  ],
} as const
type Hold = keyof typeof holds
const holdNames = Object.keys(holds) as Hold[]

const addTask = (id: AccountId) =>
  run(
    `INSERT INTO inbox_items (id, account_id, type, from_account_id, content, created_at, is_task)
     VALUES (?1, ?2, 'mention', ?3, '', 0, 1)`,
    `task of ${id}`,
    id,
    mira.id,
  )

interface Slots {
  capacity: number
  /** Running. */
  tasks: number
  explorations: number
  /** Whether an exploration was refused for lack of a slot. */
  isRefused: boolean
}

async function occupy({ tasks, explorations, isRefused }: Slots): Promise<void> {
  const now = hub.clock.now()
  for (let at = 0; at < tasks + explorations; at++)
    await run(
      `INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version, started_at, deadline_at)
       VALUES (?1, ?2, ?3, 'mention', 'running', 'granted', 'test/model', 1, ?4, ?4)`,
      office.newId(),
      agent(at + 1).id,
      at < tasks ? 'inbox' : 'exploration',
      now,
    )
  if (isRefused)
    await run(
      `INSERT INTO settings (key, value, updated_at) VALUES ('exploration_waits', 'true', ?)`,
      now,
    )
}

/** Returns the scheduler's reasons for the explorations and tasks of an agent. */
async function explain({ capacity }: Pick<Slots, 'capacity'>, { id, name } = asked()) {
  const now = hub.clock.now()
  const page = { state: 'all', name: '', after: null, limit: 50 } as const
  const rows = await batch(
    office.context().db,
    boardStatements(page, now, requestReader(null, now)),
  )
  let asked: ExplainRequest | null = null
  const scheduler = {
    explain: async (question: ExplainRequest) => {
      asked = question
      return fakeExplain(question, now)
    },
  }
  const board = await readBoard(scheduler as SchedulerApi, rows, page)
  const question = asked as unknown as ExplainRequest
  const config = { mode: 'hybrid', capacity, stored: null, now } as const
  const explorer = question.agents.find(({ agentId }) => agentId === id)
  const task = question.tasks[rows.tasks.findIndex(({ agent }) => agent.name === name)]
  const shown = board.agents.find((each) => each.id === id)
  return {
    says: shown && formatExplorationReason(shown, board.view, now),
    exploration: explorer && explainExploration(explorer, question.hub, config).reason,
    task: task && explainTask(task, question.hub, config),
  }
}

/** Whether LOAD starts a run. */
async function load({ capacity }: Pick<Slots, 'capacity'>, { id } = asked()): Promise<boolean> {
  const answer = await office.hubApi.load({
    agentId: id,
    activationId: office.newId<ActivationId>(),
    now: hub.clock.now(),
    capacity,
    canExplore: true,
    explorationFloor: explorationFloor('hybrid', capacity),
  })
  return answer.kind === 'loaded'
}

const counts = [0, 1, 2, 3]
const allSlots: Slots[] = [1, 2, 3].flatMap((capacity) =>
  counts.flatMap((tasks) =>
    counts
      .filter((explorations) => tasks + explorations <= capacity)
      .flatMap((explorations) =>
        [false, true].map((isRefused) => ({ capacity, tasks, explorations, isRefused })),
      ),
  ),
)

test.each(allSlots)(
  'S3 S11: they agree whether an exploration has a slot of %j, whatever waits',
  async (slots) => {
    await occupy(slots)
    const check = async (what: string) => {
      const { exploration } = await explain(slots)
      expect([what, await load(slots)]).toEqual([what, exploration === 'next'])
      await run(
        `UPDATE activations SET state = 'done' WHERE agent_id = ? AND state = 'running'`,
        asked().id,
      )
      await run('UPDATE explorers SET explored_at = 0')
      // LOAD records a refusal.
      if (!slots.isRefused) await run(`DELETE FROM settings WHERE key = 'exploration_waits'`)
    }
    await check('nothing waits')
    await addTask(other().id)
    await check('a task waits')
    for (const hold of holdNames) {
      await run(holds[hold][1], other().id)
      await check(`a task waits for the end of ${hold}`)
      await run('DELETE FROM bans')
      await run('DELETE FROM outage_waits')
      await run('UPDATE agents SET is_paused = 0')
      await run('UPDATE accounts SET disabled_at = NULL')
    }
  },
)

test.each(allSlots)('S3 S11: they agree whether a task has a slot of %j', async (slots) => {
  await occupy(slots)
  await addTask(asked().id)
  const { task } = await explain(slots)
  expect(await load(slots)).toBe(task === 'starting')
})

test.each(holdNames)('S11: they agree that %s holds tasks and explorations back', async (hold) => {
  const [reason, statement] = holds[hold]
  await run(statement, asked().id)
  expect((await explain({ capacity: 3 })).exploration).toBe(reason)
  expect(await load({ capacity: 3 })).toBe(false)
  await addTask(asked().id)
  expect((await explain({ capacity: 3 })).task).toBe(reason)
  expect(await load({ capacity: 3 })).toBe(false)
  const { wake, exploration } = await office.hubApi.sweep(hub.clock.now(), {
    since: 0,
    until: 0,
    after: null,
  })
  expect([wake, exploration?.isInboxWaiting]).toEqual([[], false])
})

test('S3: a sweep reports that tasks wait only when one does, not when agents run', async () => {
  const ask = async () => {
    const question = { since: 0, until: 0, after: null }
    return (await office.hubApi.sweep(hub.clock.now(), question)).exploration?.isInboxWaiting
  }
  await occupy({ capacity: 3, tasks: 1, explorations: 1, isRefused: false })
  hub.clock.advance(minute)
  expect(await ask()).toBe(false)
  await addTask(other().id)
  expect(await ask()).toBe(true)
})

test('S2: agents that cannot run take no wake-up from those that can', async () => {
  const [running] = [agent(3)]
  await office.post(mira.key, `@${running.name}`)
  const { activationId } = await office.start(running.id)
  for (const at of [0, 1, 2]) {
    await addTask(agent(at).id)
    await run(
      `INSERT INTO bans (id, account_id, kind, reason, created_by, created_at)
       VALUES (?1, ?1, 'ban', '', ?1, 0)`,
      agent(at).id,
    )
  }
  await addTask(other().id)
  const answer = await office.commit(running.id, activationId)
  expect(answer).toMatchObject({ kind: 'done', waiting: [other().id] })
})

/** Budgets that pay for the explorations of the agent, besides the hub's own. */
const payers = {
  hub: ['', 'the hub'],
  agent: ['', 'agent0'],
  model: ['test/big', 'test/big'],
  provider: ['test', 'test'],
  requester: ['', 'mira'],
  'role:member': ['', 'each member'],
} as const
const levels = [
  ['healthy', 0.5],
  ['throttled', 0.9],
  ['too little for a call', 0.995],
  ['used up', 1],
  ['without a window', null],
] as const

test.each(
  (Object.keys(payers) as (keyof typeof payers)[]).flatMap((scope) =>
    levels.map(([state, share]) => [scope, state, share] as const),
  ),
)(
  'B3 S11: they agree on explorations with a budget of the scope %s that is %s',
  async (scope, state, share) => {
    const now = hub.clock.now()
    const [scopeId, owner] = payers[scope]
    const isOwned = scope === 'requester' || scope === 'role:member'
    await run(`UPDATE agents SET models = '["test/big"]' WHERE account_id = ?`, asked().id)
    await run(
      'UPDATE accounts SET owner_id = ?2 WHERE id = ?1',
      asked().id,
      isOwned ? mira.id : null,
    )
    const id = scope === 'agent' ? asked().id : scope === 'requester' ? mira.id : scopeId
    await run(
      `INSERT INTO budgets (id, scope, scope_id, period, limit_microusd, created_at, updated_at)
     VALUES ('one', ?1, ?2, 'week', 1000, 0, 0)`,
      scope,
      id,
    )
    if (share !== null) {
      const spent = scope === 'role:member' ? 0 : share * 1_000
      await run(`INSERT INTO budget_windows VALUES ('one', 0, ?1, ?2, 0)`, now + minute, spent)
      if (scope === 'role:member')
        await run(
          `INSERT INTO budget_account_windows (budget_id, starts_at, account_id, spent_microusd)
         VALUES ('one', 0, ?1, ?2)`,
          mira.id,
          share * 1_000,
        )
    }
    const { exploration, says } = await explain({ capacity: 3 })
    expect(await load({ capacity: 3 })).toBe(exploration === 'next')
    expect(exploration).toBe(state === 'healthy' ? 'next' : 'budget')
    if (state === 'throttled')
      expect(says).toContain(`The weekly budget of ${owner} is nearly used up`)
    else if (share === null)
      expect(says).toContain(`The weekly budget of ${owner} has no open period now`)
    else if (state !== 'healthy')
      expect(says).toContain(`The weekly budget of ${owner} has too little left for a run`)
    expect(says?.includes('mentions are still answered')).toBe(state === 'throttled')
  },
)

test('B3 S3: an exploration that no budget pays for keeps no slot from tasks', async () => {
  const doesWait = async () =>
    (await office.first(`SELECT 1 FROM settings WHERE key = 'exploration_waits'`)) !== null
  await occupy({ capacity: 1, tasks: 1, explorations: 0, isRefused: false })
  await office.setSpent(18_000_000)
  expect(await load({ capacity: 1 })).toBe(false)
  expect(await doesWait()).toBe(false)
  await office.setSpent(0)
  expect(await load({ capacity: 1 })).toBe(false)
  expect(await doesWait()).toBe(true)
})

const shares = [0.5, 0.9, 0.995, 1]

test.each(shares.flatMap((one) => shares.map((two) => [one, two] as const)))(
  'B3 B6 S11: they agree on explorations with two models, of whose budgets %d and %d are used',
  async (...used) => {
    const models = ['near/a', 'far/b']
    await run(
      `UPDATE agents SET models = ?2 WHERE account_id = ?1`,
      asked().id,
      JSON.stringify(models),
    )
    const ids: string[] = models
    for (const [at, id] of ids.entries()) {
      await run(
        `INSERT INTO budgets (id, scope, scope_id, period, limit_microusd, throttle_share, created_at, updated_at)
         VALUES (?1, 'model', ?1, 'week', 1000, ?2, 0, 0)`,
        id,
        at === 0 ? 0.9 : 0.999,
      )
      await run(
        'INSERT INTO budget_windows VALUES (?1, 0, ?2, ?3, 0)',
        id,
        hub.clock.now() + minute,
        (used[at] ?? 0) * 1_000,
      )
    }
    const { exploration } = await explain({ capacity: 3 })
    expect(await load({ capacity: 3 })).toBe(exploration === 'next')
    for (const id of ids) {
      await run('DELETE FROM budgets WHERE id = ?', id)
      await run('DELETE FROM budget_windows WHERE budget_id = ?', id)
    }
    await run(`UPDATE agents SET models = '["test/model"]' WHERE account_id = ?`, asked().id)
  },
)

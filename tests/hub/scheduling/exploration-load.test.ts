import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { AccountId, ActivationId } from '../../../src/shared/ids'
import { signIn } from '../../web/open-pages'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub, hubApi, post, run } = office
const minute = 60_000

let mira: Awaited<ReturnType<typeof hub.join>>
let agents: { id: AccountId; key: string; name: string }[]
const agent = (at: number) => agents[at] as { id: AccountId; key: string; name: string }

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  agents = []
  for (let number = 0; number < 6; number++) agents.push(await office.createAgent(`agent${number}`))
})

beforeEach(async () => {
  await office.clear()
  await run('UPDATE posts SET deleted_at = 1')
  await run('DELETE FROM explorers')
  await run(`DELETE FROM settings WHERE key = 'exploration_waits'`)
  await run('UPDATE accounts SET last_activated_at = NULL')
  await run('UPDATE agents SET consecutive_failures = 0')
  for (const { id } of agents) {
    await run(
      'INSERT INTO explorers (account_id, interval_ms, updated_at) VALUES (?, ?, 0)',
      id,
      15 * minute,
    )
  }
  hub.clock.advance(48 * 60 * minute)
  await hubApi.sweep(hub.clock.now())
  hub.seen.heard.length = 0
})

const wake = (at: number, capacity = 50, explorationFloor = 10) =>
  hubApi.load({
    agentId: agent(at).id,
    activationId: office.newId<ActivationId>(),
    now: hub.clock.now(),
    capacity,
    canExplore: true,
    explorationFloor,
  })

/** A post that everybody may look at now. */
async function news(): Promise<string> {
  const id = await post(mira.key, 'What grows on Mars?')
  hub.clock.advance(6 * minute)
  return id
}

test('S1 S9: an agent without tasks is shown what is new, in one round trip', async () => {
  const id = await news()
  const answers: Awaited<ReturnType<typeof wake>>[] = []
  const trips = await office.countTrips(async () => {
    answers.push(await wake(0))
  })
  expect(trips).toBe(1)
  expect(answers[0]).toMatchObject({
    kind: 'loaded',
    task: 'exploration',
    items: [],
    thread: null,
    exploration: { candidates: [{ postId: id, title: 'A question' }], canPost: true },
  })
})

test('S1: a task in its inbox comes first', async () => {
  await news()
  await post(mira.key, `@${agent(0).name} hello`)
  expect(await wake(0)).toMatchObject({ kind: 'loaded', task: 'mention' })
})

test('S10: without candidates there is no activation, and the scheduler is notified', async () => {
  expect(await wake(0)).toEqual({ kind: 'nothing' })
  expect(hub.seen.heard).toMatchObject([{ kind: 'found_nothing', agentId: agent(0).id }])
  expect(
    await office.first(`SELECT count(*) AS n FROM activations WHERE state = 'running'`),
  ).toEqual({ n: 0 })
})

test('B3: no agent explores when nine tenths of the budget are used', async () => {
  await news()
  await office.setSpent(18_000_000)
  expect(await wake(0)).toEqual({ kind: 'nothing' })
  await office.setSpent(17_000_000)
  expect(await wake(0)).toMatchObject({ kind: 'loaded' })
})

test('S3: while tasks wait, exploration has its reserved slots and no more', async () => {
  await news()
  await post(mira.key, `@${agent(5).name} hello`)
  expect(await wake(0, 5, 2)).toMatchObject({ task: 'exploration' })
  expect(await wake(1, 5, 2)).toMatchObject({ task: 'exploration' })
  expect(await wake(2, 5, 2)).toEqual({ kind: 'nothing', isRefused: true })
  expect(hub.seen.heard.at(-1)).toMatchObject({ kind: 'refused', agentId: agent(2).id })
})

test('S3: it may have all there is while no task waits', async () => {
  await news()
  for (const at of [0, 1, 2]) expect(await wake(at, 3, 1)).toMatchObject({ kind: 'loaded' })
  expect(await wake(3, 3, 1)).toEqual({ kind: 'nothing', isRefused: true })
})

test('S3: tasks leave a slot for a refused exploration, and use it when no exploration waits', async () => {
  await news()
  const ask = async (at: number) => {
    await post(mira.key, `@${agent(at).name} hello`)
    return office.hubApi.load({
      agentId: agent(at).id,
      activationId: office.newId<ActivationId>(),
      now: hub.clock.now(),
      capacity: 3,
      canExplore: false,
      explorationFloor: 1,
    })
  }
  const running: ActivationId[] = []
  for (const at of [0, 1, 2]) {
    const answer = await ask(at)
    expect(answer).toMatchObject({ kind: 'loaded', task: 'mention' })
  }
  expect(await wake(3, 3, 1)).toEqual({ kind: 'nothing', isRefused: true })
  for (const { id } of await office.all<{ id: ActivationId }>(
    `SELECT id FROM activations WHERE state = 'running'`,
  )) {
    running.push(id)
  }
  await office.commit(agent(0).id, running[0] as ActivationId)
  // Two tasks run of three slots: the third is kept for the agent that was refused.
  expect(await ask(4)).toMatchObject({ kind: 'wait', reason: 'capacity' })
  expect(await wake(3, 3, 1)).toMatchObject({ kind: 'loaded', task: 'exploration' })
})

test('S2 S5 L7: the scheduler is notified of the outcome; a pass means that there are no more candidates', async () => {
  await news()
  const explore = async (at: number) => {
    const answer = await wake(at)
    if (answer.kind !== 'loaded') throw new Error(JSON.stringify(answer))
    const row = await office.first<{ id: ActivationId }>(
      `SELECT id FROM activations WHERE agent_id = ? AND state = 'running'`,
      agent(at).id,
    )
    return row?.id as ActivationId
  }
  await office.commit(agent(0).id, await explore(0))
  await office.commit(agent(1).id, await explore(1), { outcome: 'failed' })
  expect(hub.seen.heard).toMatchObject([
    { kind: 'finished', agentId: agent(0).id, hasFailed: false, isSatisfied: true },
    { kind: 'finished', agentId: agent(1).id, hasFailed: true, isSatisfied: false },
  ])
  hub.clock.advance(16 * minute)
  expect(await wake(0)).toEqual({ kind: 'nothing' })
  expect(await wake(1)).toEqual({ kind: 'nothing' })
  hub.clock.advance(15 * minute)
  expect(await wake(1)).toMatchObject({ kind: 'loaded' })
})

test('S5: after five failures in a row the agent does not explore, and a mention still gets one probe', async () => {
  const one = agent(0)
  const failures = () =>
    office.first('SELECT consecutive_failures AS n FROM agents WHERE account_id = ?', one.id)
  await run('UPDATE agents SET consecutive_failures = 5 WHERE account_id = ?', one.id)
  await run('UPDATE accounts SET last_activated_at = ? WHERE id = ?', hub.clock.now(), one.id)
  await news()
  hub.clock.advance(7 * 60 * minute)
  expect(await wake(0)).toEqual({ kind: 'nothing' })

  await post(mira.key, `@${one.name} are you well?`)
  const { activationId, task, admission } = await office.start(one.id)
  expect({ task, admission }).toEqual({ task: 'mention', admission: 'granted' })
  await office.commit(one.id, activationId, { outcome: 'failed' })
  expect(await failures()).toEqual({ n: 6 })
  expect(await wake(0), 'the mention is used up').toEqual({ kind: 'nothing' })

  await post(mira.key, `@${one.name} and now?`)
  const again = await office.start(one.id)
  expect(again.admission).toBe('granted')
  await office.commit(one.id, again.activationId)
  expect(await failures()).toEqual({ n: 0 })
  await news()
  hub.clock.advance(15 * minute)
  expect(await wake(0)).toMatchObject({ kind: 'loaded', task: 'exploration' })
})

test('S7: a schedule gives its task once for each due time, whatever is repeated', async () => {
  await run(
    `INSERT INTO schedules (account_id, key, cron, timezone, task, due_at)
     VALUES (?, 'k', '0 9 * * *', 'UTC', 'Say what is new.', 5000)`,
    agent(0).id,
  )
  const due = { agentId: agent(0).id, key: 'k', dueAt: 5000, nextAt: 90_000 }
  await hubApi.createScheduledTasks([due], hub.clock.now())
  await hubApi.createScheduledTasks([due], hub.clock.now())
  expect((await office.inbox(agent(0).id)).filter(({ type }) => type === 'task')).toMatchObject([
    { content: 'Say what is new.', is_task: 1 },
  ])
  expect(await office.first('SELECT due_at FROM schedules')).toEqual({ due_at: 90_000 })
  expect(await wake(0)).toMatchObject({ kind: 'loaded', task: 'scheduled' })
  await run('DELETE FROM schedules')
})

test('S7 L6: the final words of a scheduled run reach who saved the schedule, once, while it acts for them', async () => {
  const [mira, hal] = [await hub.join('mira-saves', 'human'), await hub.join('hal-saves', 'human')]
  const scout = await office.createAgent('reporter')
  await run('UPDATE accounts SET owner_id = ? WHERE id = ?', mira.id, scout.id)
  await run(
    `INSERT INTO agent_definitions (account_id, version, etag, created_by, created_at) VALUES (?, 1, 'etag', ?, 0)`,
    scout.id,
    hal.id,
  )
  const report = async (savedBy: string, dueAt: number) => {
    await run(
      `INSERT OR REPLACE INTO schedules (account_id, key, cron, timezone, task, due_at, saved_by)
       VALUES (?, 'k', '0 9 * * *', 'UTC', 'Say what is new.', ?, ?)`,
      scout.id,
      dueAt,
      savedBy,
    )
    const due = { agentId: scout.id, key: 'k', dueAt, nextAt: dueAt + 1 }
    await hubApi.createScheduledTasks([due], hub.clock.now())
    const { activationId, items } = await office.start(scout.id)
    const content = `Report ${dueAt}`
    const reply = { id: office.newId(), postId: null, parentId: null, content }
    for (let times = 0; times < 2; times++) {
      await office.commit(scout.id, activationId, { reply: reply as never })
    }
    const saver = items[0]?.savedBy
    return { saver, sent: { type: 'reply', content, activation_id: activationId } }
  }
  const reportsOf = async (id: string) =>
    await office.all(
      `SELECT type, content, activation_id FROM inbox_items WHERE account_id = ? AND from_account_id = ?`,
      id,
      scout.id,
    )
  const own = await report(mira.id, 1000)
  expect(own.saver).toBe('mira-saves')
  expect(await reportsOf(mira.id)).toEqual([own.sent])
  const stranger = await hub.join('was-an-admin', 'human')
  const other = await report(stranger.id, 2000)
  expect(other.saver, 'the run does not act for who saved the entry').toBe('hal-saves')
  expect(await reportsOf(hal.id)).toEqual([other.sent])
  expect(await reportsOf(stranger.id)).toEqual([])
  hub.clock.advance(1)
  const next = await report(mira.id, 3000)
  const page = await (await signIn(hub, mira.key)).read('/inbox')
  const groups = page.match(/<li[^>]* data-row[\s\S]*?<\/li>/g) ?? []
  expect(groups, 'the answers of one schedule stand together').toHaveLength(1)
  const words = groups[0]?.replace(/<[^>]*>/g, '')
  expect(words).toMatch(/reporter.*:words of a scheduled task.*Report 3000.*:words of.*Report 1000/)
  expect(groups[0]).toContain(`href="/activations/${next.sent.activation_id}"`)
  await run('DELETE FROM schedules')
})

test('S7: at most one unclaimed task waits per schedule', async () => {
  const { id } = agent(1)
  for (const key of ['mornings', 'evenings']) {
    await run(
      `INSERT INTO schedules (account_id, key, cron, timezone, task, due_at)
       VALUES (?, ?, '0 * * * *', 'UTC', 'Say what is new.', 1000)`,
      id,
      key,
    )
  }
  const give = (key: string, dueAt: number) =>
    hubApi.createScheduledTasks(
      [{ agentId: id, key, dueAt, nextAt: dueAt + 1000 }],
      hub.clock.now(),
    )
  const waiting = async () =>
    (await office.inbox(id)).filter(({ type, claimed_by }) => type === 'task' && !claimed_by)
  await run('UPDATE agents SET is_paused = 1 WHERE account_id = ?', id)
  for (const dueAt of [1000, 2000, 3000]) await give('mornings', dueAt)
  expect(await waiting()).toHaveLength(1)
  expect(await office.first(`SELECT due_at FROM schedules WHERE key = 'mornings'`)).toEqual({
    due_at: 4000,
  })
  hub.clock.advance(1)
  await give('evenings', 1000)
  expect(await waiting()).toHaveLength(2)

  await run('UPDATE agents SET is_paused = 0')
  const { activationId } = await office.start(id)
  await give('mornings', 4000)
  await give('mornings', 5000)
  expect(await waiting(), 'one more may wait while the last is worked on').toHaveLength(2)
  await office.commit(id, activationId)
  await run('DELETE FROM schedules')
})

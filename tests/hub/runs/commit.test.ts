import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { CommentId, PostId } from '../../../src/shared/ids'
import { createOffice, type Started, usageOf } from './create-office'

const office = createOffice()
const { hub, createAgent, start, post, comment, commit } = office
let ada: Awaited<ReturnType<typeof hub.join>>
let bob: typeof ada
let scout: typeof ada
let postId: PostId
let run: Started

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  bob = await hub.join('bob', 'human')
  scout = await createAgent('scout')
  await office.hubApi.sweep(hub.clock.now())
})
beforeEach(async () => {
  postId = await post(ada.key, '@scout what did we decide?')
  run = await start(scout.id)
})
afterEach(office.clear)

const reply = (content = 'The answer.', parentId: CommentId | null = null) => ({
  id: office.newId<CommentId>(),
  postId,
  parentId,
  content,
})
const comments = () =>
  office.all<{ id: string; content: string; depth: number; parent_id: string | null }>(
    'SELECT * FROM comments WHERE post_id = ? AND author_id = ? ORDER BY created_at, id',
    postId,
    scout.id,
  )
const spent = () => office.first('SELECT sum(spent_microusd) AS n FROM budget_windows')
const hostedItem = async () => (await office.inbox(scout.id)).at(-1)
const itemsOf = async (account: typeof ada) =>
  (await office.inbox(account.id)).filter((item) => item.post_id === postId)

test('L37: COMMIT answers, settles, consumes, counts and notifies the requester in one round trip', async () => {
  const answer = reply()
  const trips = await office.countTrips(() =>
    commit(scout.id, run.activationId, {
      reply: answer,
      usage: [usageOf(30, 3), usageOf(12, 2, 2)],
    }),
  )
  expect(trips).toBe(1)
  expect(await comments()).toMatchObject([{ id: answer.id, content: 'The answer.', depth: 0 }])
  expect(await office.activation(run.activationId)).toMatchObject({
    state: 'done',
    outcome: 'completed',
    reserved_microusd: 0,
    cost_microusd: 42,
    reply_comment_id: answer.id,
    reply_refusal: null,
  })
  expect(await hostedItem()).toMatchObject({ read_at: hub.clock.now(), refusal: null })
  expect(await spent()).toEqual({ n: 42 })
  expect(
    await office.first(
      'SELECT comment_count, agents_cost_microusd FROM posts WHERE id = ?',
      postId,
    ),
  ).toEqual({ comment_count: 1, agents_cost_microusd: 42 })
  const notices = await itemsOf(ada)
  expect(notices).toMatchObject([{ type: 'reply', comment_id: answer.id, is_task: 0 }])
  expect(notices[0]?.id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-a[0-9a-f]{3}-[0-9a-f]{12}$/)
})

test('B4: a call that a COMMIT reports twice is charged everywhere once, as it was reported first', async () => {
  await commit(scout.id, run.activationId, {
    usage: [usageOf(30, 3), usageOf(12, 2, 2), usageOf(50, 5), usageOf(7, 1, 2)],
  })
  const sumOf = async (sql: string, id?: string) =>
    (await office.first<{ n: number }>(sql, ...(id === undefined ? [] : [id])))?.n
  expect({
    calls: await sumOf('SELECT total(cost_microusd) AS n FROM usage_events'),
    run: await sumOf('SELECT cost_microusd AS n FROM activations WHERE id = ?', run.activationId),
    budgets: await sumOf('SELECT total(spent_microusd) AS n FROM budget_windows'),
    tokens: await sumOf('SELECT total(spent_tokens) AS n FROM budget_windows'),
    day: await sumOf(`SELECT total(cost_microusd) AS n FROM usage_days WHERE scope = 'hub'`),
    thread: await sumOf('SELECT agents_cost_microusd AS n FROM posts WHERE id = ?', postId),
  }).toEqual({ calls: 42, run: 42, budgets: 42, tokens: 5, day: 42, thread: 42 })
})

test('L37: the same COMMIT eight times, at once and again later: everything once, one answer', async () => {
  const request = office.composeCommit(scout.id, run.activationId, {
    reply: reply('I told @bob too.'),
    report: { id: office.newId(), title: 'scout failed', content: 'PROVIDER_ERROR' },
    outcome: 'failed',
  })
  const answers = await Promise.all(Array.from({ length: 7 }, () => office.hubApi.commit(request)))
  answers.push(await office.hubApi.commit({ ...request, now: hub.clock.now() + 60_000 }))
  for (const answer of answers) {
    expect(answer).toEqual({
      kind: 'done',
      replyId: request.reply?.id,
      replyRefusal: null,
      waiting: [],
    })
  }
  expect(await comments()).toHaveLength(1)
  expect(await spent()).toEqual({ n: 30 })
  expect(await itemsOf(ada)).toHaveLength(1)
  expect(await itemsOf(bob)).toMatchObject([{ type: 'mention' }])
  expect(
    await office.first(
      'SELECT comment_count, agents_cost_microusd FROM posts WHERE id = ?',
      postId,
    ),
  ).toEqual({ comment_count: 1, agents_cost_microusd: 30 })
  expect(await office.first('SELECT consecutive_failures AS n FROM agents')).toEqual({ n: 1 })
  await office.run('UPDATE agents SET consecutive_failures = 0')
})

test('L37: a stalled run commits after another run finished its row: nothing changes', async () => {
  await commit(scout.id, run.activationId, { outcome: 'failed', usage: [usageOf(100, 10)] })
  const before = await office.activation(run.activationId)
  const late = await commit(scout.id, run.activationId, { reply: reply('Too late') })
  expect(late).toMatchObject({ kind: 'done', replyId: null })
  expect(await comments()).toEqual([])
  expect(await spent()).toEqual({ n: 100 })
  expect(await office.activation(run.activationId)).toEqual(before)
})

test('L37: a stalled run and its successor both commit: one reply, spent once', async () => {
  const answers = await Promise.all([
    commit(scout.id, run.activationId, { reply: reply('One') }),
    commit(scout.id, run.activationId, { reply: reply('Two') }),
  ])
  expect(await comments()).toHaveLength(1)
  expect(new Set(answers.map(({ replyId }) => replyId)).size).toBe(1)
  expect(await spent()).toEqual({ n: 30 })
  expect(await itemsOf(ada)).toHaveLength(1)
})

test('L37: a commit of an unknown activation is reported as lost and changes nothing', async () => {
  const answer = await commit(scout.id, office.newId(), { reply: reply() })
  expect(answer).toMatchObject({ kind: 'lost', replyId: null })
  expect(await comments()).toEqual([])
  expect(await spent()).toEqual({ n: 0 })
  await office.clear()
})

test.each([
  ['locked', 'thread_locked', `UPDATE posts SET is_locked = 1 WHERE id = ?`],
  ['deleted', 'post_deleted', `UPDATE posts SET deleted_at = 1 WHERE id = ?`],
])(
  'L37: a thread %s meanwhile takes no reply; the refusal is recorded and notified once, the rest is committed',
  async (_, why, sql) => {
    await comment(bob.key, postId, 'a word')
    await office.run(sql, postId)
    const request = office.composeCommit(scout.id, run.activationId, { reply: reply() })
    await office.hubApi.commit(request)
    const again = await office.hubApi.commit(request)
    expect(again).toMatchObject({ kind: 'done', replyId: null, replyRefusal: why })
    expect(await comments()).toEqual([])
    expect(await office.activation(run.activationId)).toMatchObject({
      state: 'done',
      reply_refusal: why,
      cost_microusd: 30,
    })
    const mine = (await office.inbox(scout.id)).find((item) => item.claimed_by === run.activationId)
    expect(mine).toMatchObject({ refusal: why, read_at: hub.clock.now() })
    const notices = (await itemsOf(ada)).filter(({ type }) => type === 'system')
    expect(notices).toMatchObject([{ content: expect.stringContaining('could not be posted') }])
    expect(await spent()).toEqual({ n: 30 })
  },
)

test('H4: a reply hangs below what it answers, never deeper than ten', async () => {
  const chain = [await comment(ada.key, postId, 'depth 0')]
  for (let depth = 1; depth <= 10; depth++) {
    chain.push(await comment(ada.key, postId, `depth ${depth}`, chain.at(-1)))
  }
  await commit(scout.id, run.activationId, { reply: reply('deep', chain[10]) })
  expect(await comments()).toMatchObject([{ depth: 10, parent_id: chain[9] }])
  await comment(ada.key, postId, '@scout again', chain[2])
  const second = await start(scout.id)
  await commit(scout.id, second.activationId, { reply: reply('shallow', chain[2]) })
  expect((await comments())[1]).toMatchObject({ depth: 3, parent_id: chain[2] })
})

test('H14: a reply shaped like a credential is withheld, notified, recorded, and shown nowhere', async () => {
  const secret = `sk-${'a1B2'.repeat(8)}`
  const trace = {
    steps: [{ text: `line\n${secret} and more`, tools: [{ result: `"${secret}"` }] }],
  }
  const answer = await commit(scout.id, run.activationId, {
    reply: reply(`The key is ${secret}`),
    error: { code: 'X', message: `failed with ${secret}` },
    report: { id: office.newId(), title: 'scout failed', content: `because ${secret}` },
    trace: JSON.stringify(trace),
  })
  expect(answer).toMatchObject({ kind: 'done', replyRefusal: 'credential_withheld' })
  expect((await comments())[0]?.content).toContain('looks like a credential')
  expect(await hostedItem()).toMatchObject({ refusal: 'credential_withheld' })
  const stored = [
    ...(await office.all('SELECT * FROM activation_traces')),
    ...(await office.all('SELECT * FROM activations')),
    ...(await office.all('SELECT * FROM posts')),
    ...(await office.all('SELECT * FROM comments')),
    ...(await office.all('SELECT * FROM inbox_items')),
  ]
  expect(JSON.stringify(stored)).not.toContain(secret)
  expect(JSON.stringify(stored)).toContain('[withheld] and more')
})

test('L6 L35: a withheld reply addresses all requesters, whatever it contained', async () => {
  const secret = `sk-${'a1B2'.repeat(8)}`
  const said = { ...reply(`@ada the key is ${secret}`), addressed: [], requesters: ['ada', 'bob'] }
  await commit(scout.id, run.activationId, { reply: said })
  expect((await comments())[0]?.content).toMatch(/^@ada @bob The answer contained/)
})

test('L38: only what was claimed is consumed, never the thread', async () => {
  await comment(ada.key, postId, '@scout and also')
  const answer = await commit(scout.id, run.activationId, { reply: reply() })
  expect(await hostedItem()).toMatchObject({ read_at: null, claimed_by: null })
  expect(answer.waiting).toEqual([scout.id])
})

test('H11: a reply notifies the people it mentions, at most ten, and wakes the agent it mentions', async () => {
  const flock = []
  for (let i = 0; i < 12; i++) flock.push(await hub.join(`crowd-${i}`, 'human'))
  const wren = await createAgent('wren')
  const names = ['wren', 'scout', 'nobody', ...flock.map(({ name }) => name)]
  const content = `Ask ${names.map((name) => `@${name}`).join(' ')} and \`@bob\``
  await commit(scout.id, run.activationId, { reply: reply(content) })
  const notices = await Promise.all(flock.map(itemsOf))
  expect(notices.map(({ length }) => length)).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0])
  expect(await itemsOf(wren)).toMatchObject([{ type: 'mention', is_task: 1, hops: 1 }])
  expect(await itemsOf(bob)).toEqual([])
})

test('L35: a failure counts and posts its report, unlisted; a success ends the row', async () => {
  const count = async () =>
    (
      await office.first(
        'SELECT consecutive_failures AS n FROM agents WHERE account_id = ?',
        scout.id,
      )
    )?.n
  const posts = async () =>
    (await office.first(`SELECT post_count AS n FROM communities WHERE name = 'agent-errors'`))?.n
  const before = Number(await posts())
  const report = { id: office.newId<PostId>(), title: 'scout failed: X', content: 'X' }
  await commit(scout.id, run.activationId, { outcome: 'failed', report })
  expect(await count()).toBe(1)
  const listed = await hub.call('/communities/agent-errors/feed?sort=new&limit=1')
  expect(listed.body.posts).toMatchObject([{ id: report.id, author: { kind: 'system' } }])
  const feed = await hub.call('/feed?sort=new&limit=5')
  expect(feed.body.posts.map(({ id }: { id: string }) => id)).not.toContain(report.id)
  expect(await posts()).toBe(before + 1)
  for (const [outcome, n] of [
    ['failed', 2],
    ['budget_exhausted', 2],
    ['completed', 0],
  ] as const) {
    await post(ada.key, '@scout again')
    const next = await start(scout.id)
    await commit(scout.id, next.activationId, { outcome })
    expect(await count()).toBe(n)
  }
})

test('S2: a commit returns the waiting agents, longest first, without paused or running agents, three at most', async () => {
  const flock = []
  for (let i = 0; i < 6; i++) flock.push(await createAgent(`flock-${i}`))
  for (const { name } of flock) await post(ada.key, `@${name}`)
  await office.run('UPDATE agents SET is_paused = 1 WHERE account_id = ?', flock[0]?.id)
  await start(flock[1]?.id ?? scout.id)
  const { waiting } = await commit(scout.id, run.activationId)
  expect(waiting).toEqual([flock[2]?.id, flock[3]?.id, flock[4]?.id])
  await office.run(`INSERT INTO settings (key, value, updated_at) VALUES ('paused', 'true', 0)`)
  expect((await commit(scout.id, run.activationId)).waiting).toEqual([])
})

test('B11: what is spent after the last window ended is not left out of the counters', async () => {
  hub.clock.advance(400 * 86_400_000)
  await commit(scout.id, run.activationId, { usage: [usageOf(77, 7)] })
  expect(await spent()).toEqual({ n: 77 })
  await office.hubApi.sweep(hub.clock.now())
})

test('M9: the tool calls of an activation are in the audit log once', async () => {
  const audit = [1, 2].map((n) => ({
    callId: `call-${n}`,
    tool: 'hub_search',
    grant: 'hub:read',
    argumentsHash: 'x',
    ...({ decision: 'allowed', outcome: 'ok', durationMs: 4, resultBytes: 10, at: 5 } as const),
    reason: 'because',
  }))
  await commit(scout.id, run.activationId, { audit })
  await commit(scout.id, run.activationId, { audit })
  expect(
    await office.all(
      'SELECT call_id, account_id, reason FROM audit_log WHERE activation_id = ? ORDER BY call_id',
      run.activationId,
    ),
  ).toEqual([
    { call_id: 'call-1', account_id: scout.id, reason: 'because' },
    { call_id: 'call-2', account_id: scout.id, reason: 'because' },
  ])
})

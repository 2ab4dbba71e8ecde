import fc from 'fast-check'
import { afterEach, beforeAll, expect, test } from 'vitest'
import type { AccountId, ActivationId, CommentId, PostId } from '../../../src/shared/ids'
import { sampleSize } from '../../support/sample'
import { createOffice } from './create-office'

const office = createOffice()
const { hub, post, comment, start } = office
type Account = Awaited<ReturnType<typeof hub.join>>
let mira: Account
let ada: Account
let tomas: Account
let scout: Account
let heron: Account
const cancelled: string[] = []

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  ada = await hub.join('ada', 'human')
  tomas = await hub.join('tomas', 'human')
  await office.run('UPDATE accounts SET is_moderator = 1 WHERE id = ?', tomas.id)
  scout = await office.createAgent('scout')
  heron = await office.createAgent('heron')
  await office.hubApi.sweep(hub.clock.now())
  hub.seen.cancel = async (_agent, id) => {
    cancelled.push(id)
    return true
  }
})
afterEach(async () => {
  await office.clear()
  cancelled.length = 0
})

interface Withdrawn {
  agent: { name: string }
  requester: { name: string } | null
}

const waiting = async (agentId: AccountId, postId: PostId) =>
  (await office.inbox(agentId)).filter(
    (item) =>
      item.post_id === postId &&
      item.is_task === 1 &&
      item.read_at === null &&
      item.claimed_by === null,
  )
const stop = async (key: string, postId: PostId, content = 'stop', parentId?: CommentId) => {
  hub.clock.advance(1)
  const { body } = await hub.call(`/posts/${postId}/comments`, {
    key,
    body: { content, parent_id: parentId ?? null },
  })
  const { comment, withdrawn }: { comment: { id: CommentId }; withdrawn: Withdrawn[] } = body
  return {
    comment,
    withdrawn: withdrawn.map(({ agent, requester }) => ({
      agent: agent.name,
      requester: requester?.name,
    })),
  }
}
const chargedRuns = (postId: PostId) =>
  office.all('SELECT id FROM activations WHERE post_id = ?', postId)

test('C2: a stop withdraws a question that nobody has started on: no run for it starts, and nothing is charged', async () => {
  const postId = await post(mira.key, '@scout how many pelicans?')
  const { withdrawn } = await stop(mira.key, postId)
  expect(withdrawn).toEqual([{ agent: 'scout', requester: 'mira' }])
  expect(await waiting(scout.id, postId)).toEqual([])
  expect(await office.load(scout.id)).toEqual({ kind: 'nothing' })
  expect(await chargedRuns(postId)).toEqual([])
  await comment(mira.key, postId, '@scout and herons?')
  expect(await office.load(scout.id)).toMatchObject({
    kind: 'loaded',
    items: [{ type: 'mention' }],
  })
})

test.each([
  ['its name', '@scout stop'],
  ['a polite word', 'Please stop!'],
])('C2: a question is withdrawn with %s', async (_how, content) => {
  const postId = await post(mira.key, '@scout how many pelicans?')
  expect((await stop(mira.key, postId, content)).withdrawn).toHaveLength(1)
  expect(await waiting(scout.id, postId)).toEqual([])
})

test('C2: without a name a stop withdraws what its author asked of each agent, with a name of that one', async () => {
  const postId = await post(mira.key, '@scout and @heron: how many?')
  await comment(ada.key, postId, '@heron and ducks?')
  expect((await stop(mira.key, postId, '@heron stop')).withdrawn).toEqual([
    { agent: 'heron', requester: 'mira' },
  ])
  expect(await waiting(scout.id, postId)).toHaveLength(1)
  expect(await waiting(heron.id, postId)).toHaveLength(1)
  await comment(mira.key, postId, '@heron and geese?')
  expect((await stop(mira.key, postId)).withdrawn.map(({ agent }) => agent).sort()).toEqual([
    'heron',
    'scout',
  ])
  expect(await waiting(heron.id, postId)).toMatchObject([{ type: 'mention' }])
})

test('C2: nobody withdraws the question of another but a moderator; the author of the thread does not', async () => {
  const postId = await post(ada.key, 'Pelicans')
  await comment(mira.key, postId, '@scout how many?')
  expect((await stop(ada.key, postId, '@scout stop')).withdrawn).toEqual([])
  expect(await waiting(scout.id, postId)).toHaveLength(1)
  expect((await stop(tomas.key, postId, '@scout stop')).withdrawn).toEqual([
    { agent: 'scout', requester: 'mira' },
  ])
  expect(await waiting(scout.id, postId)).toEqual([])
})

test('C2: a stop in another thread, a longer text and a repeated stop withdraw nothing', async () => {
  const postId = await post(mira.key, '@scout how many pelicans?')
  const other = await post(mira.key, 'Herons')
  expect((await stop(mira.key, other)).withdrawn).toEqual([])
  expect((await stop(mira.key, postId, 'stop the count at noon')).withdrawn).toEqual([])
  expect(await waiting(scout.id, postId)).toHaveLength(1)
  expect((await stop(mira.key, postId)).withdrawn).toHaveLength(1)
  expect((await stop(mira.key, postId)).withdrawn).toEqual([])
})

test('C2: a retry of the request returns what the stop withdrew', async () => {
  const postId = await post(mira.key, '@scout how many pelicans?')
  const request = {
    key: mira.key,
    headers: { 'idempotency-key': 'stop-1' },
    body: { content: 'stop', parent_id: null },
  }
  const first = await hub.call(`/posts/${postId}/comments`, request)
  const again = await hub.call(`/posts/${postId}/comments`, request)
  expect(first.body.withdrawn).toHaveLength(1)
  expect(again.body).toEqual(first.body)
})

test('C2: the API says of a withdrawn question that it was, not that it waits or has a run', async () => {
  const postId = await post(mira.key, '@scout how many pelicans?')
  await stop(mira.key, postId)
  const { body } = await hub.call(`/agents/scout/why-quiet?post=${postId}`, { key: mira.key })
  expect(JSON.stringify(body)).toContain('withdrawn')
  const answer = await hub.call(`/answers?post_id=${postId}`, { key: mira.key })
  expect(answer.body).toMatchObject({ state: 'ended', answer: null })
})

/** What happens, in the order in which the database sees it. */
const step = fc.record({
  what: fc.constantFrom('ask', 'stop', 'load', 'commit'),
  by: fc.constantFrom('mira', 'ada', 'tomas'),
  isPaused: fc.nat({ max: 4 }).map((nth) => nth === 0),
})
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never

/** One thread, in which people ask scout and stop it. */
class Scene {
  readonly withdrawn = new Set<string>()
  readonly started = new Set<string>()
  running: { id: ActivationId; requesters: string[]; isCancelled?: true } | null = null
  readonly #postId: PostId

  constructor(postId: PostId) {
    this.#postId = postId
  }

  async take({ what, by, isPaused }: Step): Promise<void> {
    hub.clock.advance(1)
    const account = { mira, ada, tomas }[by] as Account
    if (what === 'ask') await comment(account.key, this.#postId, '@scout how many?')
    if (what === 'stop') await this.#stop(account)
    if (what === 'load') await this.load(isPaused)
    if (what === 'commit') await this.commit()
  }

  async load(isPaused = false): Promise<boolean> {
    await office.run(
      'UPDATE agents SET is_paused = ? WHERE account_id = ?',
      isPaused ? 1 : 0,
      scout.id,
    )
    const id = office.newId<ActivationId>()
    const found = await office.load(scout.id, id)
    if (found.kind !== 'loaded') return false
    this.running = { id, requesters: found.requesters.map((each) => each.id) }
    for (const item of found.items) this.started.add(item.id)
    return true
  }

  async commit(): Promise<void> {
    if (this.running) await office.commit(scout.id, this.running.id)
    this.running = null
  }

  /** What waits of the account is withdrawn, and the run that is for the account is cancelled; nothing else. */
  async #stop(account: Account): Promise<void> {
    const before = await waiting(scout.id, this.#postId)
    cancelled.length = 0
    await stop(account.key, this.#postId, '@scout stop')
    const left = new Set((await waiting(scout.id, this.#postId)).map(({ id }) => id))
    const gone = before.filter(({ id }) => !left.has(id))
    const mayStop = (requesters: string[]) => account === tomas || requesters.includes(account.id)
    expect(gone).toEqual(before.filter((item) => mayStop([fromOf(item)])))
    for (const { id } of gone) this.withdrawn.add(id)
    const { running } = this
    if (running && mayStop(running.requesters)) running.isCancelled = true
    // Any stop tells the agent again of a run that was cancelled before: the first message can be lost.
    expect(cancelled).toEqual(running?.isCancelled ? [running.id] : [])
  }
}

const fromOf = (item: object) => (item as { from_account_id: string }).from_account_id

test('C2: whatever the order of stop, LOAD and answer, no run starts for a question that was withdrawn', async () => {
  const met = { withdrawn: 0, started: 0 }
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 6, maxLength: 14 }), async (order) => {
      await office.clear()
      // no limit on requests is reached, however many orders there are
      hub.clock.advance(60_000)
      const scene = new Scene(await post(mira.key, 'Pelicans'))
      for (const each of order) await scene.take(each)
      await scene.commit()
      while (await scene.load()) await scene.commit()
      expect([...scene.withdrawn].filter((id) => scene.started.has(id))).toEqual([])
      met.withdrawn += scene.withdrawn.size
      met.started += scene.started.size
    }),
    { numRuns: sampleSize(16, 80), seed: 35 },
  )
  expect(met.withdrawn).toBeGreaterThan(3)
  expect(met.started).toBeGreaterThan(3)
})

test('C2: a stop withdraws what waits until LOAD, cancels the run from then on, and changes nothing of an answer', async () => {
  for (const moment of ['waiting', 'loaded', 'answered'] as const) {
    await office.clear()
    cancelled.length = 0
    const postId = await post(mira.key, '@scout how many pelicans?')
    const id = moment === 'waiting' ? null : (await start(scout.id)).activationId
    if (id && moment === 'answered') await office.commit(scout.id, id)
    const { withdrawn } = await stop(mira.key, postId)
    expect(withdrawn, moment).toHaveLength(moment === 'waiting' ? 1 : 0)
    expect(cancelled, moment).toEqual(moment === 'loaded' ? [id] : [])
    if (id && moment === 'loaded') await office.commit(scout.id, id)
    expect(await office.load(scout.id), moment).toEqual({ kind: 'nothing' })
    expect(await chargedRuns(postId), moment).toHaveLength(id ? 1 : 0)
  }
})

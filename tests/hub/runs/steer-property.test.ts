import fc from 'fast-check'
import { afterEach, beforeAll, expect, test } from 'vitest'
import type { AccountId, ActivationId, CommentId, PostId } from '../../../src/shared/ids'
import { sampleSize } from '../../support/sample'
import { createOffice } from './create-office'

const office = createOffice()
const { hub } = office
const writers = ['mira', 'ada', 'gus', 'tomas', 'bot'] as const
type Writer = (typeof writers)[number]
const accounts = new Map<string, { id: AccountId; key: string }>()
const of = (name: string) => {
  const account = accounts.get(name)
  if (!account) throw new Error(name)
  return account
}

beforeAll(async () => {
  for (const name of ['mira', 'ada', 'tomas'] as const)
    accounts.set(name, await hub.join(name, 'human'))
  accounts.set('bot', await hub.join('bot'))
  accounts.set('scout', await office.createAgent('scout'))
  const { body } = await hub.call('/accounts', { body: { name: 'gus' } })
  accounts.set('gus', { id: body.account.id, key: body.account.api_key })
  await office.run(`UPDATE accounts SET kind = 'human' WHERE name = 'gus'`)
  await office.run(`UPDATE accounts SET is_moderator = 1 WHERE name = 'tomas'`)
  await office.hubApi.sweep(hub.clock.now())
})
afterEach(office.clear)

/** What happens in the thread: somebody writes, or the agent does its next step. */
const action = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      by: fc.constantFrom(...writers),
      text: fc.constantFrom('And in spring?', '@scout and herons?', 'Thanks!', '@ada look'),
      isReply: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.constantFrom('steer', 'renew', 'commit', 'crash') },
)

interface Running {
  id: ActivationId
  requesters: string[]
  loaded: string[]
  /** What its model has read. */
  seen: Set<string>
}

/** The agent's side of one thread: what its runs have read and answered. */
class Agent {
  readonly answered: string[] = []
  running: Running | null = null
  answerId: CommentId | undefined
  readonly #postId: PostId

  constructor(postId: PostId) {
    this.#postId = postId
  }

  async load(): Promise<boolean> {
    const id = office.newId<ActivationId>()
    const found = await office.load(of('scout').id, id)
    if (found.kind !== 'loaded') return false
    const requesters = found.requesters.map((each) => each.id as string)
    expect(new Set(found.requesters.map(({ role }) => role)).size).toBe(1)
    if (found.requesters.some(({ role }) => role === 'guest')) expect(requesters).toHaveLength(1)
    this.running = { id, requesters, loaded: found.items.map((item) => item.id), seen: new Set() }
    return true
  }

  async join(how: 'steer' | 'renew'): Promise<void> {
    const { running } = this
    if (!running) return
    const request = { agentId: of('scout').id, activationId: running.id, now: hub.clock.now() }
    const renewed = how === 'renew' ? await office.renew(request.agentId, running.id) : null
    if (renewed) expect(renewed.kind).toBe('renewed')
    const items =
      renewed?.kind === 'renewed' ? (renewed.steering ?? []) : await office.hubApi.steer(request)
    for (const { id, from, isModeration, isUntrusted } of items) {
      running.seen.add(id)
      expect(from.kind).toBe('human')
      if (isModeration) expect([from.name, isUntrusted]).toEqual(['tomas', true])
      else expect(running.requesters).toContain(from.id)
    }
    const row = await office.first<{ requesters: string }>(
      'SELECT requesters FROM activations WHERE id = ?',
      running.id,
    )
    expect(JSON.parse(row?.requesters ?? '[]').sort()).toEqual([...running.requesters].sort())
  }

  /** @param isLost the record of the run is gone: it answers what it started with, and has read nothing more */
  async commit(isLost: boolean): Promise<void> {
    const { running } = this
    if (!running) return
    hub.clock.advance(1)
    const id = office.newId<CommentId>()
    const joined = isLost ? [] : [...running.seen]
    await office.commit(of('scout').id, running.id, {
      reply: { id, postId: this.#postId, parentId: null, content: 'It was 412.' },
      joined: joined as never,
    })
    this.answerId = id
    this.answered.push(...running.loaded, ...joined)
    this.running = null
  }
}

test('C1 C2 invariants 0 and 1: whoever writes whenever, each request is answered once, by a run of its author', async () => {
  let met = 0
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 6, maxLength: 14 }), async (actions) => {
      await office.clear()
      const postId = await office.post(of('mira').key, '@scout how many pelicans?')
      const agent = new Agent(postId)
      await agent.load()
      for (const each of actions) {
        hub.clock.advance(1)
        if (each === 'steer' || each === 'renew') await agent.join(each)
        else if (each === 'commit' || each === 'crash') {
          await agent.commit(each === 'crash')
          await agent.load()
        } else await write(each, postId, agent.answerId)
      }
      for (let rest = 0; rest < 20 && (agent.running || (await agent.load())); rest++) {
        await agent.commit(false)
      }
      const items = (await office.inbox(of('scout').id)).filter((item) => item.post_id === postId)
      const tasks = items.filter(({ is_task }) => is_task === 1)
      expect(tasks.filter(({ read_at }) => read_at === null)).toEqual([])
      for (const { id } of tasks) {
        expect(agent.answered.filter((other) => other === id)).toHaveLength(1)
      }
      met += tasks.length
      const byBot = tasks.filter(
        (item) => (item as unknown as { from_account_id: string }).from_account_id === of('bot').id,
      )
      expect(byBot.every(({ type }) => type === 'mention')).toBe(true)
    }),
    { numRuns: sampleSize(8, 25), seed: 11 },
  )
  expect(met).toBeGreaterThan(sampleSize(10, 60))
})

/** Somebody writes; an agent may be refused by a reply limit. */
async function write(
  { by, text, isReply }: { by: Writer; text: string; isReply: boolean },
  postId: PostId,
  answerId: CommentId | undefined,
): Promise<void> {
  const { status } = await hub.call(`/posts/${postId}/comments`, {
    key: of(by).key,
    body: { content: text, parent_id: isReply ? (answerId ?? null) : null },
  })
  expect(by === 'bot' ? [201, 403, 409, 429] : [201]).toContain(status)
}

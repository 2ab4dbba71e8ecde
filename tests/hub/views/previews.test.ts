import * as fc from 'fast-check'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import type { AccountId } from '../../../src/shared/ids'
import { adminKey, readCost } from '../create-test-hub'
import { createOffice } from '../runs/create-office'

const office = createOffice()
const { hub } = office

interface Agent {
  agent: { name: string }
  consequence: string
  reason: string | null
  model: string
  tools: string[]
  reserved_microusd: number
  most_microusd: number
}

const preview = async (key: string | null, body: Record<string, unknown>) => {
  const answer = await hub.call('/posts/preview', { key, body })
  return { ...answer, agents: (answer.body.agents ?? []) as Agent[] }
}

type Account = Awaited<ReturnType<typeof hub.join>>
let people: Record<'guest' | 'member' | 'admin', Account>
let bot: Account
let agents: Account[]

beforeAll(async () => {
  await office.hubApi.sweep(hub.clock.now())
  people = {
    guest: await hub.join('gus', 'human'),
    member: await hub.join('mira', 'human'),
    admin: await hub.join('anna', 'human'),
  }
  for (const [role, { name }] of Object.entries(people)) {
    await hub.call(`/accounts/${name}/role`, { method: 'PUT', key: adminKey, body: { role } })
  }
  bot = await hub.join('bot')
  agents = [await office.createAgent('scout'), await office.createAgent('archivist')]
})

beforeEach(async () => {
  await office.clear()
  await office.run(`DELETE FROM budgets WHERE scope <> 'hub' AND scope <> 'guests'`)
  await office.run('UPDATE agents SET is_paused = 0, answers_mentions = 1, answers_replies = 1')
})

test('C5: a preview says what a post does in one round trip, and writes nothing', async () => {
  const count = async () =>
    (
      await office.first<{ n: number }>(
        'SELECT (SELECT count(*) FROM posts) + (SELECT count(*) FROM inbox_items) AS n',
      )
    )?.n
  const before = await count()
  // The first request with a key records its use.
  await preview(people.member.key, { community: 'general', content: 'Plums' })
  const { status, headers, body } = await preview(people.member.key, {
    community: 'general',
    title: 'Plums',
    content: '@scout and @bot: which? `@archivist`',
  })
  expect(status).toBe(200)
  expect(readCost(headers).roundTrips).toBe(1)
  expect(await count()).toBe(before)
  expect(hub.seen.woken).toEqual([])
  expect(body).toEqual({
    success: true,
    refusal: null,
    notified: [expect.objectContaining({ name: 'bot', kind: 'agent' })],
    agents: [
      {
        agent: expect.objectContaining({ name: 'scout', kind: 'agent' }),
        requester: expect.objectContaining({ name: 'mira', kind: 'human' }),
        cause: 'mention',
        consequence: 'starts',
        reason: null,
        model: 'offline/extractive',
        needs_approval: [],
        reserved_microusd: 100,
        most_microusd: 20_000_000,
        tokens_max: null,
        tools: expect.arrayContaining(['hub_search']),
        accounts: [],
        paid_by: [{ scope: 'hub', period: expect.any(String), name: null }],
      },
    ],
  })
})

test('C5: a preview says why a text would not be posted', async () => {
  const { key } = people.member
  const post = { community: 'general', content: '@scout hi' }
  const postId = await office.post(key, 'Plums')
  await office.run('UPDATE posts SET is_locked = 1 WHERE id = ?', postId)
  expect((await preview(key, { post_id: postId, content: '@scout' })).body.refusal).toContain(
    'locked',
  )
  expect((await preview(key, { community: 'agent-errors', content: 'x' })).body.refusal).toContain(
    'Only the hub',
  )
  const secret = `ghp_${'a1B2'.repeat(9)}`
  expect((await preview(key, { ...post, content: secret })).body.refusal).toContain('token')
  expect((await preview(key, post)).body.refusal).toBe(null)
  expect((await preview(key, { community: 'no-such', content: 'x' })).status).toBe(404)
  expect((await preview(key, { post_id: 'none', content: 'x' })).status).toBe(404)
  expect((await preview(key, { content: 'x' })).status).toBe(400)
})

/** Ends what an agent runs and what waits for it, so that the next one is compared alone. */
const settle = (id: AccountId) =>
  office.run(
    `UPDATE activations SET state = 'done', reserved_microusd = 0, reserved_tokens = 0 WHERE agent_id = ?`,
    id,
  )

const allHolds = ['none', 'paused', 'disabled', 'muted', 'provider', 'hub paused'] as const

const scenes = fc.record({
  author: fc.constantFrom('guest', 'member', 'admin', 'bot'),
  place: fc.constantFrom('post', 'thread', 'under agent'),
  names: fc.subarray(['scout', 'archivist', 'mira', 'nobody']),
  hold: fc.constantFrom(...allHolds),
  answersMentions: fc.boolean(),
  answersReplies: fc.boolean(),
  isBusy: fc.boolean(),
  budget: fc.constantFrom('none', 'requester', 'agent', 'hub', 'guests', 'reserved'),
  agentComments: fc.integer({ min: 0, max: 3 }),
})
type Scene = typeof scenes extends fc.Arbitrary<infer Value> ? Value : never

const calm: Scene = {
  author: 'member',
  place: 'post',
  names: ['scout'],
  budget: 'none',
  agentComments: 0,
  hold: 'none',
  answersMentions: true,
  answersReplies: true,
  isBusy: false,
}
/** A scene for each consequence, which the random ones may leave out. */
const consequenceScenes: Scene[] = [
  calm,
  { ...calm, answersMentions: false },
  ...allHolds.map((hold) => ({ ...calm, hold })),
  { ...calm, budget: 'hub' },
]

const findAgent = (name: string): Account => {
  const found = agents.find((each) => each.name === name)
  if (!found) throw new Error(`no agent ${name}`)
  return found
}

const authorOf = ({ author }: Scene): Account =>
  author === 'bot' ? bot : people[author as keyof typeof people]

/** A hub where nothing runs, and nothing is limited but what guests spend. */
async function startAgain() {
  await office.clear()
  hub.clock.advance(3_600_000)
  await office.hubApi.sweep(hub.clock.now())
  await office.run(`DELETE FROM budgets WHERE scope NOT IN ('hub', 'guests')`)
  await office.run(`UPDATE budgets SET limit_microusd = 2000000 WHERE scope = 'guests'`)
  await office.run(`DELETE FROM bans WHERE id = 'mute'`)
  await office.run('DELETE FROM outage_waits')
  await office.run('UPDATE accounts SET disabled_at = NULL')
  await office.run(
    'UPDATE agents SET is_paused = 0, answers_mentions = 1, answers_replies = 1, call_want_microusd = 100',
  )
}

/** A thread with a comment of scout, and as many of archivist. */
async function createThread({ agentComments }: Scene) {
  const postId = await office.post(people.member.key, 'Plums')
  const write = async (authorId: AccountId) => {
    const id = office.newId<string>()
    await office.run(
      `INSERT INTO comments (id, post_id, author_id, content, created_at) VALUES (?, ?, ?, 'Yes.', ?)`,
      id,
      postId,
      authorId,
      hub.clock.now(),
    )
    return id
  }
  const parentId = await write(findAgent('scout').id)
  for (let n = 0; n < agentComments; n++) await write(findAgent('archivist').id)
  return { postId, parentId }
}

const limit = (scope: string, name?: string) =>
  hub.call('/budgets', {
    key: adminKey,
    body: { scope, period: 'day', limit_microusd: 5, ...(name && { name }) },
  })

/** What holds the runs of an agent back, for its account `?1`. */
const holds: Record<string, string> = {
  paused: 'UPDATE agents SET is_paused = 1 WHERE account_id = ?1',
  disabled: 'UPDATE accounts SET disabled_at = 1 WHERE id = ?1',
  muted: `INSERT INTO bans (id, account_id, kind, reason, created_by, created_at)
    VALUES ('mute', ?1, 'mute', '', ?1, 0)`,
  provider: `INSERT INTO outage_waits (agent_id, activation_id, address, since) VALUES (?1, 'none', 'a', 0)`,
  'hub paused': `INSERT OR REPLACE INTO settings (key, value, updated_at) SELECT 'paused', 'true', 0 WHERE ?1 <> ''`,
}

const shortages: Record<string, (scene: Scene) => Promise<unknown>> = {
  none: async () => {},
  requester: (scene) => limit('requester', authorOf(scene).name),
  agent: () => limit('agent', 'archivist'),
  hub: () => office.setHubLimit(5),
  guests: () => office.run(`UPDATE budgets SET limit_microusd = 5 WHERE scope = 'guests'`),
  reserved: async () => {
    await office.setHubLimit(150)
    await office.run(`UPDATE agents SET call_want_microusd = 145`)
  },
}

async function setUp(scene: Scene) {
  await startAgain()
  const { postId, parentId } = await createThread(scene)
  await office.run(
    'UPDATE agents SET answers_mentions = ?, answers_replies = ? WHERE account_id = ?',
    ...[scene.answersMentions, scene.answersReplies].map(Number),
    findAgent('scout').id,
  )
  await shortages[scene.budget]?.(scene)
  if (scene.isBusy || scene.budget === 'reserved') {
    await office.post(people.member.key, '@archivist first')
    await office.start(findAgent('archivist').id)
  }
  const hold = holds[scene.hold]
  if (hold) await office.run(hold, findAgent('scout').id)
  const content = `${scene.names.map((name) => `@${name}`).join(' ')} which?`
  const parent = scene.place === 'under agent' ? { parent_id: parentId } : {}
  return scene.place === 'post'
    ? { path: '/posts', place: { community: 'general' }, text: { title: 'Plums', content } }
    : {
        path: `/posts/${postId}/comments`,
        place: { post_id: postId },
        text: { content, ...parent },
      }
}

/** Compares the run that an agent starts with the promise. */
async function compareRun(each: Agent, author: Account) {
  const { id } = findAgent(each.agent.name)
  const answer = await office.load(id, undefined, 10)
  if (each.consequence === 'waits') {
    expect(['wait', 'paused']).toContain(answer.kind)
    return
  }
  if (answer.kind !== 'loaded') throw new Error(`not loaded: ${JSON.stringify(answer)}`)
  expect(answer.admission).toBe(each.consequence === 'starts' ? 'granted' : 'budget_exhausted')
  expect(answer.reservation.microusd).toBe(each.reserved_microusd)
  expect(answer.reservation.microusd).toBeLessThanOrEqual(each.most_microusd)
  expect(answer.model).toBe(each.model)
  expect(answer.requesters.map(({ name }) => name)).toEqual([author.name])
  const usable = hub.seen.tools
    .evaluatePolicy({ ...answer.policy, requireApproval: [], rateLimits: [] })
    .flatMap(({ isAllowed, tool }) => (isAllowed ? [tool.name] : []))
  expect(each.tools).toEqual(usable)
  await settle(id)
}

test('C5: what is promised is what happens: who wakes, with which tools, for how much, or why not', {
  timeout: 300_000,
}, async () => {
  const consequences = new Set<string>()
  await fc.assert(
    fc.asyncProperty(scenes, async (scene) => {
      const author = authorOf(scene)
      const { path, place, text } = await setUp(scene)
      const promised = await preview(author.key, { ...place, ...text })
      expect(promised.status).toBe(200)
      hub.seen.woken.length = 0
      const isPost = 'community' in place
      const body = isPost ? { ...place, ...text } : text
      const posted = await hub.call(path, { key: author.key, body })
      expect(posted.status === 201).toBe(promised.body.refusal === null)
      if (posted.status !== 201) return
      const willWake = promised.agents.filter(({ consequence }) => consequence !== 'not_woken')
      expect(new Set(hub.seen.woken)).toEqual(
        new Set(willWake.map(({ agent }) => findAgent(agent.name).id)),
      )
      const notWoken = JSON.stringify(posted.body.not_woken)
      for (const { consequence, reason } of promised.agents) {
        consequences.add(consequence)
        if (reason?.startsWith('Reply limit')) expect(notWoken).toContain(reason)
      }
      for (const each of willWake) await compareRun(each, author)
    }),
    { numRuns: 40, examples: consequenceScenes.map((scene): [Scene] => [scene]) },
  )
  expect([...consequences].sort()).toEqual(['not_woken', 'refuses', 'starts', 'waits'])
})

import { beforeAll, expect, it } from 'vitest'
import { adminKey } from '../hub/create-test-hub'
import { createExploringHub } from '../support/exploring-hub'
import { type Question, questions, toRecord, writtenBefore } from '../support/small-archive'

const day = createExploringHub()
const { hub } = day
const minute = 60_000
const hour = 60 * minute

/** Four agents share the interest seed vault, so they could pile on; no post matches the baker's. */
const interests: Record<string, string[]> = {
  gardener: ['seed vault'],
  keeper: ['seed vault'],
  warden: ['seed vault'],
  botanist: ['seed vault', 'barley'],
  pilot: ['harbour', 'tide'],
  potter: ['kiln', 'glaze'],
  baker: ['sourdough'],
}
const wanted = (agent: string, text: string) =>
  (interests[agent] ?? []).some((word) => text.toLowerCase().includes(word))

interface Asked extends Question {
  id: string
  at: number
}
const asked: Asked[] = []
let begin = 0

const textOf = (id: string) => {
  const question = asked.find((one) => one.id === id)
  return `${question?.title} ${question?.content}`
}
interface Said {
  postId: string
  agent: string
  content: string
  at: number
  source: string
}
let said: Said[] = []

/** Asks a question: half come with an archive import, half from a user of the hub. */
async function ask(question: Question, number: number, mira: string): Promise<void> {
  const at = hub.clock.now()
  if (number % 2 === 0) {
    const record = toRecord({ ...question, at }, 100 + number)
    await hub.call('/import', { key: adminKey, body: [record] })
    const [post] = await day.all<{ id: string }>(
      'SELECT id FROM posts WHERE is_untrusted = 1 ORDER BY seq DESC LIMIT 1',
    )
    asked.push({ ...question, id: post?.id ?? '', at })
    return
  }
  const body = { community: 'general', title: question.title, content: question.content }
  const answer = await hub.call('/posts', { key: mira, body })
  asked.push({ ...question, id: answer.body.post.id, at })
}

beforeAll(async () => {
  const mira = await hub.join('mira', 'human')
  const { status } = await hub.call('/import', {
    key: adminKey,
    body: writtenBefore(hub.clock.now()),
  })
  expect(status).toBe(200)
  for (const [name, words] of Object.entries(interests)) {
    await day.explore(name, `{ keywords: [${words.join(', ')}] }`)
  }
  begin = hub.clock.now()
  // One every fifty minutes from seven in the morning.
  const mixed = questions.map((_, at) => questions[(at * 5) % questions.length] as Question)
  const events = mixed.map((question, number) => ({
    at: begin + 7 * hour + number * 50 * minute,
    happen: () => ask(question, number, mira.key),
  }))
  await day.pass(24 * hour, events)
  said = await day.all<Said>(
    `SELECT c.post_id AS postId, a.name AS agent, c.content, c.created_at AS at, s.title AS source
     FROM comments c JOIN accounts a ON a.id = c.author_id JOIN agents g ON g.account_id = a.id
     LEFT JOIN posts s ON instr(c.content, '](/p/' || s.id || ')') > 0 ORDER BY c.created_at`,
  )
})

it('S9: over a day agents find the posts of their interests, and only those', ({ task }) => {
  Object.assign(task.meta, {
    day: {
      begin,
      turns: day.turns,
      agents: Object.keys(interests),
      posts: asked.map(({ at }) => at),
    },
  })
  for (const { agent, shown } of day.turns) {
    for (const id of shown) expect(wanted(agent, textOf(id)), `${agent}: ${textOf(id)}`).toBe(true)
  }
  for (const agent of Object.keys(interests)) {
    const seen = new Set(
      day.turns.filter((turn) => turn.agent === agent).flatMap(({ shown }) => shown),
    )
    for (const post of asked.filter(
      ({ id, at }) => wanted(agent, textOf(id)) && at < begin + 23 * hour,
    )) {
      expect(seen.has(post.id), `${agent} saw ${post.content}`).toBe(true)
    }
  }
})

it('S9: every question with an answer on the hub gets it, from an agent with that interest', () => {
  for (const { id, answer, content, subject } of asked) {
    const answers = said.filter(({ postId }) => postId === id)
    if (answer === null || subject === 'else') expect(answers, content).toEqual([])
    else
      expect(
        answers.map(({ source }) => source),
        content,
      ).toContain(answer)
    for (const { agent, source } of answers) {
      expect(wanted(agent, textOf(id))).toBe(true)
      expect(source).toBe(answer)
    }
  }
})

it('S9 L7: with nothing to add agents pass: no repeated answers, and no answers without a source', () => {
  const passes = day.turns.filter(({ answered }) => answered === null)
  expect(passes.length).toBeGreaterThan(10)
  for (const { id } of asked) {
    const sources = said.filter(({ postId }) => postId === id).map(({ source }) => source)
    expect(new Set(sources).size).toBe(sources.length)
  }
  expect(said.filter(({ content }) => /banana/i.test(content))).toEqual([])
})

it('S9 H11: no agent answers twice, none pile on, and people get the first chance', () => {
  const pairs = said.map(({ postId, agent }) => `${postId} ${agent}`)
  expect(new Set(pairs).size).toBe(pairs.length)
  for (const { id, at } of asked) {
    const answers = said.filter(({ postId }) => postId === id)
    expect(answers.length).toBeLessThanOrEqual(3)
    for (const answer of answers) expect(answer.at - at).toBeGreaterThanOrEqual(5 * minute)
  }
})

it('S9 S10: an agent without candidates makes no model call', () => {
  expect(day.turns.filter(({ agent }) => agent === 'baker')).toEqual([])
  expect(day.turns.every(({ shown }) => shown.length > 0)).toBe(true)
})

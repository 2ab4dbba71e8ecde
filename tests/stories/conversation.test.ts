import { env } from 'cloudflare:workers'
import { beforeAll, expect, it } from 'vitest'
import { call, createAccount, listComments, post, waitForValue } from '../support/cast'
import { createAgent, type TestAgent } from '../support/create-agent'

let mira: Awaited<ReturnType<typeof createAccount>>
let tomas: typeof mira
let bot: typeof mira

beforeAll(async () => {
  mira = await createAccount('mira')
  tomas = await createAccount('tomas')
  bot = await createAccount('bot', 'agent')
})

const search = { name: 'hub_search', arguments: { query: 'pelicans' } }
/** Slow enough to write meanwhile. */
const slowly = { latencyMs: 1_500 }

const say = async (by: typeof mira, postId: string, content: string, parentId?: string) => {
  const { status, body } = await call<{ comment: { id: string } }>(
    'POST',
    `/api/v1/posts/${postId}/comments`,
    { key: by.key, body: { content, parent_id: parentId ?? null } },
  )
  expect(status).toBe(201)
  return body.comment.id
}
const answersOf = async (postId: string, agent: string) =>
  (await listComments(postId)).filter(({ author }) => author === agent)
const waitForAnswer = (postId: string, agent: string, nth: number) =>
  waitForValue(async () => (await answersOf(postId, agent))[nth - 1], `answer ${nth} of ${agent}`)
const isCalled = (agent: TestAgent, times: number) =>
  waitForValue(async () => (await agent.requests()).length >= times, `call ${times}`)
const promptOf = async (agent: TestAgent, nth: number) =>
  JSON.stringify((await agent.requests())[nth - 1]?.body)
const isQuiet = (postId: string) =>
  waitForValue(async () => {
    const row = await env.DB.prepare(
      `SELECT (SELECT count(*) FROM activations WHERE post_id = ?1 AND state <> 'done')
         + (SELECT count(*) FROM inbox_items WHERE post_id = ?1 AND is_task = 1 AND read_at IS NULL) AS n`,
    )
      .bind(postId)
      .first<{ n: number }>()
    return row?.n === 0
  }, 'the end of all runs')

it('C1: a person asks, and talks on without the name; another person does too; a bot is not answered', async () => {
  const agent = await createAgent('gull', [
    { text: 'The count was 412.' },
    { text: 'The year before it was 380.' },
    { text: 'Of herons 25.' },
  ])
  const postId = await post(mira.key, 'Census', '@gull how many pelicans?')
  const first = await waitForAnswer(postId, 'gull', 1)
  await say(mira, postId, 'And in the year before?')
  expect((await waitForAnswer(postId, 'gull', 2)).content).toContain('@mira The year before')
  expect(await promptOf(agent, 2)).toContain('did not name you: this is a follow-up')
  await say(tomas, postId, 'And herons?', first.id)
  expect((await waitForAnswer(postId, 'gull', 3)).content).toContain('@tomas Of herons 25.')
  await say(bot, postId, 'I have an opinion on this.', first.id)
  await say(mira, postId, 'Thank you!')
  await isQuiet(postId)
  expect(await agent.requests()).toHaveLength(3)
  const page = await call<{ text: string }>('GET', `/p/${postId}`)
  expect(page.body.text).toContain('gull follows this thread')
})

it('C2: what the requester writes while the agent works is in the next call, and one answer is for all of it', async () => {
  const agent = await createAgent('tern', [
    { calls: [search], ...slowly },
    { text: 'It was 12 in all.', ...slowly },
    { text: 'On the lagoon, in spring: 7.' },
  ])
  const postId = await post(mira.key, 'Census', '@tern how many pelicans?')
  await isCalled(agent, 1)
  await say(mira, postId, 'Only on the lagoon.')
  await say(tomas, postId, 'Count the ducks!')
  await isCalled(agent, 2)
  const second = await promptOf(agent, 2)
  expect(second).toContain('Only on the lagoon.')
  expect(second).not.toContain('Count the ducks!')
  await say(mira, postId, 'And only in spring.')
  const answer = await waitForAnswer(postId, 'tern', 1)
  expect(answer.content).toBe('@mira On the lagoon, in spring: 7.')
  await isQuiet(postId)
  expect(await answersOf(postId, 'tern')).toHaveLength(1)
  expect(await agent.requests()).toHaveLength(3)
  const run = await call<{ trace: { notes: { text: string }[] } }>(
    'GET',
    `/api/v1/activations/${answer.activation_id}`,
    { key: mira.key },
  )
  expect(run.body.trace.notes.map(({ text }) => text)).toEqual([
    'A comment by @mira joined the run.',
    'A comment by @mira joined the run.',
  ])
})

it('C2: a stop in the thread ends the run, and what the requester added before is not answered later', async () => {
  const agent = await createAgent('skua', [{ text: 'Never posted.', latencyMs: 20_000 }])
  const postId = await post(mira.key, 'Census', '@skua how many pelicans?')
  await isCalled(agent, 1)
  await say(mira, postId, 'And herons.')
  await say(mira, postId, 'stop')
  expect((await waitForAnswer(postId, 'skua', 1)).content).toContain('asked to stop')
  await isQuiet(postId)
  await say(mira, postId, 'How far did you get?')
  await isQuiet(postId)
  expect(await agent.requests()).toHaveLength(1)
})

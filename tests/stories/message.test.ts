import { env } from 'cloudflare:workers'
import { expect, it } from 'vitest'
import {
  adminKey,
  call,
  createAccount,
  post,
  pushDefinition,
  scoutFiles,
  waitForValue,
} from '../support/cast'

interface Conversation {
  conversation: { id: string; unread_count: number }
  messages: { from: { name: string }; content: string; activation_id: string | null }[]
}

const write = (key: string, to: string, message: string) =>
  call<{ conversation: { id: string } }>('POST', '/api/v1/conversations', {
    key,
    body: { to, content: message },
  })
const read = async (key: string, id: string) =>
  (await call<Conversation>('GET', `/api/v1/conversations/${id}/messages`, { key })).body

const mira = await createAccount('mira')
const tomas = await createAccount('tomas')
await pushDefinition('scout', scoutFiles())
await post(mira.key, 'Pelican census', 'The spring census counted 412 pelicans on the lagoon.')

/** Writes to scout and waits for the answer. */
async function ask(key: string, message: string) {
  const asked = await write(key, 'scout', message)
  expect(asked.status).toBe(201)
  const { id } = asked.body.conversation
  const before = (await read(key, id)).messages.length
  const answered = await waitForValue(async () => {
    const now = await read(key, id)
    return now.messages.length > before && now.messages.at(-1)?.from.name === 'scout' && now
  }, 'the answer')
  return { id, answer: answered.messages.at(-1) }
}

it('H10: an agent answers a direct message in its conversation and nowhere else', async () => {
  const { id, answer } = await ask(mira.key, 'How many pelicans did the census count?')
  expect(answer?.content).toContain('412 pelicans')
  const activation = await env.DB.prepare(
    'SELECT task, state, outcome, post_id FROM activations WHERE id = ?',
  )
    .bind(answer?.activation_id)
    .first()
  expect(activation).toEqual({ task: 'dm', state: 'done', outcome: 'completed', post_id: null })
  expect((await env.DB.prepare('SELECT 1 FROM comments').all()).results).toEqual([])
  const item = await env.DB.prepare(
    `SELECT type, content FROM inbox_items WHERE account_id = ? AND conversation_id = ?`,
  )
    .bind(mira.id, id)
    .all()
  expect(item.results).toHaveLength(1)
})

it('M9: the sender sees the run as far as the answer, and no one else sees it; an admin opens it first', async () => {
  const { answer } = await ask(mira.key, 'And pelicans again, please: how many?')
  const path = `/api/v1/activations/${answer?.activation_id}`
  const seen = async (key: string) => JSON.stringify((await call('GET', path, { key })).body)
  expect(await seen(adminKey)).not.toContain('And pelicans again')
  const opening = { activation_id: answer?.activation_id, reason: 'The count is disputed.' }
  const opened = await call('POST', '/api/v1/openings', { key: adminKey, body: opening })
  expect(opened.status).toBe(201)
  expect(await seen(adminKey)).toContain('And pelicans again')
  expect(await seen(mira.key)).toContain('412 pelicans')
  for (const words of ['And pelicans again', '412 pelicans', 'mira']) {
    expect(await seen(tomas.key)).not.toContain(words)
  }
  const page = await call<{ text: string }>('GET', `/activations/${answer?.activation_id}`, {
    key: tomas.key,
  })
  expect(page.body.text).not.toContain('mira')
})

it('H10: an answer to a user who has blocked the agent is not delivered', async () => {
  const { id } = await ask(tomas.key, 'How many pelicans are there?')
  const done = () =>
    env.DB.prepare(
      `SELECT count(*) AS n FROM activations WHERE state = 'done' AND task = 'dm'`,
    ).first<number>('n')
  const before = (await done()) ?? 0
  await env.DB.batch([env.DB.prepare('UPDATE agents SET is_paused = 1')])
  await write(tomas.key, 'scout', 'And how many herons?')
  expect((await call('PUT', `/api/v1/conversations/${id}/block`, { key: tomas.key })).status).toBe(
    200,
  )
  await env.DB.prepare('UPDATE agents SET is_paused = 0').run()
  await call('POST', '/api/v1/agents/scout/activate', { key: adminKey, body: { task: 'Hello.' } })
  await waitForValue(async () => ((await done()) ?? 0) > before, 'the end of the activation')
  expect((await read(tomas.key, id)).messages.at(-1)?.content).toBe('And how many herons?')
})

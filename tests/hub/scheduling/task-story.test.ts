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
} from '../../support/cast'

it('L2: an admin gives a task by hand, and the answer comes to their inbox and nowhere else', async () => {
  const mira = await createAccount('mira')
  await pushDefinition('scout', scoutFiles())
  await post(mira.key, 'Pelican census', 'The spring census counted 412 pelicans on the lagoon.')
  const given = await call<{ item: { id: string } }>('POST', '/api/v1/agents/scout/activate', {
    key: adminKey,
    body: { task: 'How many pelicans did the census count?', model: 'offline' },
  })
  expect(given.status).toBe(202)
  const answer = await waitForValue(
    () =>
      env.DB.prepare(
        `SELECT i.content, i.activation_id FROM inbox_items i JOIN accounts a ON a.id = i.account_id
         WHERE a.role = 'admin' AND i.type = 'reply'`,
      ).first<{ content: string; activation_id: string }>(),
    'the answer',
  )
  expect(answer.content).toContain('412 pelicans')
  const activation = await env.DB.prepare(
    'SELECT task, state, outcome, model FROM activations WHERE id = ?',
  )
    .bind(answer.activation_id)
    .first()
  expect(activation).toEqual({
    task: 'manual',
    state: 'done',
    outcome: 'completed',
    model: 'offline/extractive',
  })
  const comments = await env.DB.prepare('SELECT * FROM comments').all()
  expect(comments.results).toEqual([])
  const item = await env.DB.prepare('SELECT read_at, claimed_by FROM inbox_items WHERE id = ?')
    .bind(given.body.item.id)
    .first<{ read_at: number | null; claimed_by: string }>()
  expect(item?.claimed_by).toBe(answer.activation_id)
  expect(item?.read_at).not.toBeNull()
})

it('L27: a model of an unknown provider is refused by the definition of the agent itself', async () => {
  const { status, body } = await call('POST', '/api/v1/agents/scout/activate', {
    key: adminKey,
    body: { task: 'x', model: 'nope/x' },
  })
  expect(status).toBe(400)
  expect(JSON.stringify(body)).toContain('nope')
})

import { env } from 'cloudflare:workers'
import { beforeAll, expect, it } from 'vitest'
import { call, createAccount, listComments, post, waitForValue } from '../../support/cast'
import { createAgent } from '../../support/create-agent'

let mira: Awaited<ReturnType<typeof createAccount>>

beforeAll(async () => {
  mira = await createAccount('mira')
})

/** Whether all activity has ended: no task waits and no activation runs. */
const calm = () =>
  waitForValue(async () => {
    const row = await env.DB.prepare(
      `SELECT (SELECT count(*) FROM inbox_items WHERE is_task = 1 AND read_at IS NULL) +
         (SELECT count(*) FROM activations WHERE state <> 'done') AS open`,
    ).first<{ open: number }>()
    return row?.open === 0
  }, 'the end of all work')

const authorsOf = async (postId: string) => (await listComments(postId)).map(({ author }) => author)

it('H11: two agents whose every answer mentions the other stop by themselves, and a person resets the reply limit', async () => {
  const ping = await createAgent('ping', [{ text: 'I wonder what @pong thinks.' }])
  const pong = await createAgent('pong', [{ text: 'I wonder what @ping thinks.' }])
  const asked = await post(mira.key, 'A question', '@ping what is it?')
  await waitForValue(async () => (await listComments(asked)).length >= 3, 'their talk')
  await calm()
  expect(await authorsOf(asked)).toEqual(['ping', 'pong', 'ping'])
  // reaching the reply limit cost no model call
  expect((await ping.requests()).length + (await pong.requests()).length).toBe(3)
  const refusals = await env.DB.prepare(
    'SELECT refusal FROM inbox_items WHERE refusal IS NOT NULL',
  ).all()
  expect(refusals.results).toEqual([{ refusal: 'reply_limit_post' }])

  await call('POST', `/api/v1/posts/${asked}/comments`, {
    key: mira.key,
    body: { content: '@pong go on' },
  })
  await waitForValue(async () => (await listComments(asked)).length >= 7, 'their second talk')
  await calm()
  expect(await authorsOf(asked)).toEqual(['ping', 'pong', 'ping', 'mira', 'pong', 'ping', 'pong'])
})

it('H11: ten agents that are mentioned at once post at most three replies', async () => {
  const names = Array.from({ length: 10 }, (_, n) => `crowd-${n}`)
  for (const name of names) await createAgent(name, [{ text: 'So do I.' }])
  const herald = await createAgent('herald', [
    { text: `Hear this: ${names.map((n) => `@${n}`).join(' ')}` },
  ])
  const asked = await post(mira.key, 'News', '@herald tell everybody')
  await waitForValue(async () => (await listComments(asked)).length >= 3, 'the crowd')
  await calm()
  const authors = await authorsOf(asked)
  expect(authors).toHaveLength(3)
  expect(authors[0]).toBe(herald.name)
})

import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { call, createAccount, post } from '../support/cast'
import { createAgent, waitForActivation } from '../support/create-agent'

let mira: Awaited<ReturnType<typeof createAccount>>
beforeAll(async () => {
  mira = await createAccount('mira')
})

const search = { calls: [{ name: 'hub_search', arguments: { query: 'plums' } }] }

/** Asks an agent, and returns what its run posted and could not do. */
async function ask(name: string) {
  const postId = await post(mira.key, 'Plums', `@${name} which plums?`)
  const { outcome } = await waitForActivation(postId)
  const { results } = await env.DB.prepare('SELECT content FROM comments WHERE post_id = ?')
    .bind(postId)
    .all<{ content: string }>()
  const row = await env.DB.prepare('SELECT not_granted FROM activations WHERE post_id = ?')
    .bind(postId)
    .first<{ not_granted: string }>()
  const page = await call<{ text: string }>('GET', `/p/${postId}`)
  return { outcome, texts: results.map(({ content }) => content), row, html: page.body.text }
}

test('C9: a run that used up its iterations says so in the thread, once', async () => {
  await createAgent('walker', [search], { behavior: 'behavior: { max_iterations: 2 }' })
  const { outcome, texts } = await ask('walker')
  expect(outcome).toBe('max_iterations')
  expect(texts).toEqual([expect.stringContaining('my iteration limit')])
})

test('C9: a run that used up its tokens says so in the thread, once', async () => {
  await createAgent('eater', [{ ...search, usage: { input: 5_000, output: 5_000 } }], {
    behavior: 'behavior: { max_tokens: 9000 }',
  })
  const { outcome, texts } = await ask('eater')
  expect(outcome).toBe('max_tokens')
  expect(texts).toEqual([expect.stringContaining('tokens')])
})

test('C9: an answer says which model wrote it, and which requested grants it did not have', async () => {
  await createAgent('helper', [{ text: 'Mirabelles.' }], { grants: ['hub:read', 'github:*'] })
  const { outcome, row, html } = await ask('helper')
  expect(outcome).toBe('completed')
  expect(JSON.parse(row?.not_granted ?? '')).toEqual(['github:*'])
  expect(html).toMatch(/<div class="prov">.*gpt-5-mini.*could not: github:\* \(not granted\)/s)
})

test('C9: a budget that is used up is said in the thread, once', async () => {
  await createAgent('poor', [{ text: 'Mirabelles.' }])
  await env.DB.prepare("UPDATE budgets SET limit_microusd = 0 WHERE scope = 'hub'").run()
  const { outcome, texts } = await ask('poor')
  expect(outcome).toBe('budget_exhausted')
  expect(texts).toEqual([expect.stringContaining('budget of the hub is used up')])
})

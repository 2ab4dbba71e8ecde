import { expect, test } from 'vitest'
import { adminKey } from '../create-test-hub'
import { createDialectHub } from './create-dialect-hub'

const dialect = createDialectHub()
const base = '/compat/api/v1'
const send = (path: string, body?: object, method?: string, key = adminKey) =>
  dialect.send(base + path, { key, ...(body && { body }), ...(method && { method }) })
const create = async (path: string, body: object) =>
  (await dialect.hub.call(path, { key: adminKey, body })).body

test('H3: communities and accounts that were names stay names', async () => {
  const bob = await dialect.join('bob-n')
  const { post } = await create('/posts', { community: 'general', title: 'One', content: 'one' })
  const subscribed = await send('/submolts/general/subscribe', undefined, 'POST', bob.key)
  expect(subscribed.body.community).toBe('general')
  const pinned = await send(`/posts/${post.id}/pin`, {})
  expect([pinned.status, pinned.body.action.community]).toEqual([200, 'general'])
  const ban = { account: 'bob-n', kind: 'mute', reason: 'Shouting.' }
  const banned = await send('/submolts/general/bans', ban)
  expect([banned.status, banned.body.action.community]).toEqual([201, 'general'])
  const { bans } = (await send('/submolts/general/bans')).body
  expect(bans).toMatchObject([{ community: 'general', account: { name: 'bob-n' } }])
  const log = (await send('/submolts/general/moderation')).body
  expect(log.actions.map((action: { community: string }) => action.community)).toEqual([
    'general',
    'general',
  ])
  const lifted = await send(`/submolts/general/bans/${bans[0].id}`, { reason: 'Enough.' }, 'DELETE')
  expect([lifted.status, lifted.body.action.community]).toEqual([200, 'general'])
  await create('/accounts/bob-n/bans', { kind: 'mute', reason: 'Shouting.' })
  const access = (await send('/agents/bob-n/access')).body
  expect(access.bans).toMatchObject([{ kind: 'mute', by: 'admin' }])
  const draft = { community: 'general', title: 'Two', content: '@bob-n?' }
  expect((await send('/posts/preview', draft)).body.notified).toEqual(['bob-n'])
  await create('/budgets', {
    scope: 'community',
    name: 'general',
    period: 'day',
    limit_microusd: 1_000_000,
  })
  await create('/budgets', { scope: 'hub', period: 'month', limit_microusd: 1_000_000 })
  const { budgets } = (await send('/system/budget-health')).body
  expect(budgets.map((each: { community: string | null }) => each.community).sort()).toEqual(
    expect.arrayContaining(['general', null]),
  )
})

test('H3: conversations and requests have pages by page, offset and limit', async () => {
  // members write to each other without a request, agents do not
  const ann = await dialect.join('ann-n', 'human')
  const others = await Promise.all(['ben-n', 'cat-n', 'dan-n'].map((name) => dialect.join(name)))
  for (const { key } of others) {
    dialect.hub.clock.advance(1_000)
    const request = { to: 'ann-n', message: 'Hello' }
    expect((await send('/agents/dm/request', request, 'POST', key)).status).toBe(201)
  }
  const read = async (list: string, query: string) => {
    const { body } = await send(`/agents/dm/${list}?${query}`, undefined, 'GET', ann.key)
    return body[list].items.map(
      (each: { with_agent?: object; from?: object }) =>
        Object.assign({ name: '' }, each.with_agent ?? each.from).name,
    )
  }
  expect(await read('requests', 'limit=2')).toEqual(['dan-n', 'cat-n'])
  expect(await read('requests', 'limit=2&page=2')).toEqual(['ben-n'])
  for (const { conversation_id: id } of (
    await send('/agents/dm/requests', undefined, 'GET', ann.key)
  ).body.requests.items) {
    await send(`/agents/dm/requests/${id}/approve`, {}, 'POST', ann.key)
  }
  expect(await read('conversations', 'limit=1&page=2')).toEqual(['cat-n'])
  expect(await read('conversations', 'limit=2&offset=1')).toEqual(['cat-n', 'ben-n'])
  const none = await send('/agents/dm/conversations?page=0', undefined, 'GET', ann.key)
  expect(none.status).toBe(400)
})

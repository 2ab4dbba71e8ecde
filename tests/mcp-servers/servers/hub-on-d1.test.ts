import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { createHubApi } from '../../../src/hub/api/hub-api'
import type { ToolCaller } from '../../../src/mcp-servers/contract/tools'
import { createGateway } from '../../../src/mcp-servers/gateway/create-gateway'
import { servers } from '../../../src/mcp-servers/servers'
import type { ActivationId, PostId } from '../../../src/shared/ids'
import { createTestHub } from '../../hub/create-test-hub'
import { fakeMemory } from '../../support/fake-memory'
import { testFileStores } from '../../support/file-stores'

const hub = createTestHub()
const gateway = createGateway({
  ...testFileStores,
  hub: createHubApi(hub.context),
  memory: fakeMemory,
  clock: hub.clock,
  servers,
})
const finch = await hub.join('finch')

async function write(title: string, content: string): Promise<PostId> {
  const { body } = await hub.call('/posts', {
    key: finch.key,
    body: { community: 'general', title, content },
  })
  return body.post.id
}

const callAs = (caller: ToolCaller, callId: string, tool: string, args: unknown) =>
  gateway.call(
    caller,
    { callId, tool, arguments: JSON.stringify(args) },
    new AbortController().signal,
  )

const atWork = (postId: PostId | null): ToolCaller => ({
  accountId: finch.id,
  name: 'finch',
  kind: 'agent',
  activationId: '00000000-0000-7000-8000-00000000a001' as ActivationId,
  postId,
})

test('M1: a repeated call of one activation comments once, another call again', async () => {
  const postId = await write('Repeats', 'Say it once.')
  const caller = atWork(null)
  const args = { post_id: postId, content: 'Once.' }
  const first = await callAs(caller, 'call-1', 'hub_create_comment', args)
  const again = await callAs(caller, 'call-1', 'hub_create_comment', args)
  expect(first.isError, first.text).toBe(false)
  expect(again.text).toBe(first.text)
  // a person between them, or a reply limit is reached
  const mira = await hub.join('mira', 'human')
  await hub.call(`/posts/${postId}/comments`, { key: mira.key, body: { content: 'Once more?' } })
  expect((await callAs(caller, 'call-2', 'hub_create_comment', args)).text).not.toBe(first.text)
  const { results } = await env.DB.prepare(
    'SELECT 1 FROM comments WHERE post_id = ? AND author_id = ?',
  )
    .bind(postId, finch.id)
    .all()
  expect(results).toHaveLength(2)
})

test('M1: a repeated call of one activation posts once', async () => {
  const args = { community: 'general', title: 'Only one of these' }
  const first = await callAs(atWork(null), 'call-3', 'hub_create_post', args)
  const again = await callAs(atWork(null), 'call-3', 'hub_create_post', args)
  expect(first.isError, first.text).toBe(false)
  expect(again.text).toBe(first.text)
})

test('hub_search leaves out the thread that asks', async () => {
  const asking = await write('About the zephyr', 'Where did the zephyr go?')
  const older = await write('Log', 'The zephyr went into the north shed.')
  const idsFor = async (postId: PostId | null) => {
    const result = await callAs(atWork(postId), 'call-4', 'hub_search', { query: 'zephyr' })
    return JSON.parse(result.text).results.map((hit: { post_id: string }) => hit.post_id)
  }
  expect((await idsFor(null)).sort()).toEqual([asking, older].sort())
  expect(await idsFor(asking)).toEqual([older])
})

test('hub_search is safe on any input', async () => {
  for (const query of [
    '"',
    'a AND',
    'NEAR(',
    '*',
    '^x',
    "'; DROP TABLE posts;--",
    '\u2068',
    '🦜',
    'title:',
  ]) {
    const result = await callAs(atWork(null), 'call-5', 'hub_search', { query })
    expect(result.isError, `${query}: ${result.text}`).toBe(false)
    expect(JSON.parse(result.text)).toHaveProperty('results')
  }
})

test('M9: a call of a hosted agent leaves its audit to the commit', async () => {
  await callAs(atWork(null), 'call-6', 'hub_get_feed', {})
  const { results } = await env.DB.prepare('SELECT 1 FROM audit_log').all()
  expect(results).toEqual([])
})

test('M1: hub_vote votes once, and not on its own words', async () => {
  const own = await write('Mine', 'My own words.')
  const nora = await hub.join('nora', 'human')
  const { body } = await hub.call('/posts', {
    key: nora.key,
    body: { community: 'general', title: 'Vote on me' },
  })
  const say = async (args: object) => (await callAs(atWork(null), 'vote', 'hub_vote', args)).text
  expect(await say({ post_id: own, value: 'up' })).toMatch(
    /^Error: You can't vote on your own post/,
  )
  expect(await say({ value: 'up' })).toMatch(/Must have either post_id or comment_id/)
  const voted = { action: 'upvoted', author: 'nora', score: 1 }
  for (const callId of ['vote-1', 'vote-1', 'vote-2']) {
    const args = { post_id: body.post.id, value: 'up' }
    const { text } = await callAs(atWork(null), callId, 'hub_vote', args)
    expect(JSON.parse(text)).toEqual(voted)
  }
})

test('H9: hub_discover finds what others said lately and it has not answered', async () => {
  const nils = await hub.join('nils', 'human')
  const { body } = await hub.call('/posts', {
    key: nils.key,
    body: { community: 'general', title: 'A question about quokkas' },
  })
  await write('My own quokkas', 'They are mine.')
  const find = async () => {
    const args = { keywords: ['quokkas'], communities: ['m/general'], max_age_hours: 1 }
    const { text } = await callAs(atWork(null), 'discover', 'hub_discover', args)
    return JSON.parse(text).posts.map(({ title }: { title: string }) => title)
  }
  expect((await find())[0]).toBe('A question about quokkas')
  expect(await find()).not.toContain('My own quokkas')
  const answer = { post_id: body.post.id, content: 'In Australia.' }
  await callAs(atWork(null), 'answer', 'hub_create_comment', answer)
  expect(await find()).not.toContain('A question about quokkas')
})

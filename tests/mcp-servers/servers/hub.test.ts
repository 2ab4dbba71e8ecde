import { describe, expect, test } from 'vitest'
import type { ToolCaller } from '../../../src/mcp-servers/contract/tools'
import type { PostId } from '../../../src/shared/ids'
import { aHit, aThread, scoutAtWork } from '../../support/fake-hub-api'
import { setUpTools as setUp } from '../../support/set-up-tools'

describe('hub_search', () => {
  test('looks for any word, in posts and comments, outside the thread that asks', async () => {
    const { answer, asked } = setUp()
    const found = await answer('hub_search', { query: ' keys ' })
    expect(found).toEqual({
      results: [
        {
          type: 'comment',
          id: 'comment-1',
          post_id: 'post-1',
          title: aHit.title,
          snippet: 'in the gateway, never with an agent',
          author: 'ada',
          community: 'general',
          score: 4.2,
          url: '/p/post-1',
        },
      ],
    })
    expect(asked('search')[0]?.args[1]).toEqual({
      text: 'keys',
      types: ['post', 'comment'],
      exceptPostId: 'post-asking',
      match: 'any',
      limit: 8,
    })
  })

  test('takes a type, a community and a limit', async () => {
    const { answer, asked } = setUp()
    const nowhere: ToolCaller = { ...scoutAtWork, postId: null }
    const args = { query: 'q', type: 'post', community: 'm/general', limit: 20 }
    await answer('hub_search', args, nowhere)
    expect(asked('search')[0]?.args[1]).toEqual({
      text: 'q',
      types: ['post'],
      community: 'general',
      match: 'any',
      limit: 20,
    })
  })

  test('takes a whole paragraph and searches by its beginning', async () => {
    const { answer, asked } = setUp()
    await answer('hub_search', { query: 'word '.repeat(400) })
    expect(asked('search')[0]?.args[1]).toMatchObject({ text: 'word '.repeat(100) })
  })

  test.each([
    {},
    { query: '' },
    { query: 'q', limit: 21 },
    { query: 'q', limit: 0 },
    { query: 'q', type: 'account' },
  ])('refuses %j', async (args) => {
    const { call } = setUp()
    expect((await call('hub_search', args)).text).toMatch(/: (query|limit|type): /)
  })
})

describe('hub_get_thread', () => {
  test('gives the post and its comments with times in ISO', async () => {
    const { answer, asked } = setUp()
    const thread = await answer('hub_get_thread', { post_id: 'post-1' })
    expect(thread).toEqual({
      post: {
        id: 'post-1',
        title: 'Where do we keep the keys',
        content: 'In the gateway.',
        author: 'ada',
        author_kind: 'human',
        community: 'general',
        url: '/p/post-1',
        created_at: '2026-01-02T03:04:05.000Z',
      },
      comments: [
        {
          id: 'comment-1',
          parent_id: null,
          author: 'scout',
          author_kind: 'agent',
          content: 'Agreed.',
          created_at: '2026-01-02T03:04:05.000Z',
        },
      ],
      comment_count: 1,
    })
    expect(asked('readThread')[0]?.args[2]).toBe(50)
  })

  test('takes the link of a search result for the id', async () => {
    const { answer } = setUp()
    for (const id of ['/p/post-1', 'https://hub.example/p/post-1#comment-1', ' post-1 '])
      expect((await answer('hub_get_thread', { post_id: id })).post.id).toBe('post-1')
  })

  test('says that there is no such post', async () => {
    const { call } = setUp()
    const result = await call('hub_get_thread', { post_id: 'nope' })
    expect(result).toMatchObject({
      text: 'Error: There is no such post. Search for it.',
      isError: true,
    })
  })

  test('stays whole JSON for the longest thread, with the newest comments', async () => {
    const { answer, hubApi } = setUp()
    const long = aThread.comments.flatMap((comment) =>
      Array.from({ length: 50 }, (_, index) => ({
        ...comment,
        content: `${index} ${'é\u0001'.repeat(5_000)}`,
      })),
    )
    hubApi.readThread = async () => ({
      post: { ...aThread.post, content: 'é'.repeat(40_000), commentCount: 900 },
      comments: long,
    })
    const thread = await answer('hub_get_thread', { post_id: 'post-1' })
    expect(thread.comments.length).toBeGreaterThan(2)
    expect(thread.comments.at(-1).content).toMatch(/^49 é/)
    expect(thread.comment_count).toBe(900)
  })
})

test('hub_create_comment writes once for an activation, and a caller from outside has no such key', async () => {
  const { answer, asked } = setUp()
  const args = { post_id: '/p/post-1', content: ' Noted. ' }
  expect(await answer('hub_create_comment', args)).toEqual({
    id: 'comment-2',
    post_id: 'post-1',
    url: '/p/post-1',
    not_woken: [],
  })
  await answer('hub_create_comment', args, { ...scoutAtWork, activationId: null })
  const [inside, outside] = asked('createComment')
  expect(inside?.args).toEqual([
    {
      accountId: 'account-scout',
      name: 'scout',
      kind: 'agent',
      activationId: 'activation-1',
      postId: 'post-asking',
      idempotencyKey: 'activation-1:call-1',
    },
    { postId: 'post-1' as PostId, parentId: null, content: 'Noted.' },
  ])
  expect(outside?.args[0]).toMatchObject({ idempotencyKey: null })
})

test('hub_ask mentions whom it asks, unless the question does so itself', async () => {
  const { answer, asked } = setUp({ requested: null })
  const outside: ToolCaller = { ...scoutAtWork, kind: 'human', activationId: null, postId: null }
  const ask = { agent: 'Scout', community: 'general', wait_seconds: 0 }
  const kept = ['@scout, which keys?', 'Does @Scout know `them`?']
  const other = ['Ask @scout2 too', 'me@scout.example?', 'What is `@scout`?', '> @scout\n\nTrue?']
  for (const question of [...kept, ...other]) {
    await answer('hub_ask', { ...ask, question }, outside)
  }
  expect(asked('createPost').map(({ args }) => args[1])).toMatchObject(
    [
      ...kept,
      // A quote begins a line of its own.
      ...other.map((each) => `@scout${each.startsWith('>') ? '\n\n' : ' '}${each}`),
    ].map((content) => ({ content })),
  )
})

test('hub_create_post takes only links that a browser may open', async () => {
  const { answer, call, asked } = setUp()
  const post = { community: 'm/general', title: 'T', content: 'C' }
  expect(await answer('hub_create_post', post)).toEqual({
    id: 'post-2',
    url: '/p/post-2',
    not_woken: [],
  })
  await answer('hub_create_post', { ...post, url: 'https://example.org/' })
  expect(asked('createPost').map(({ args }) => args[1])).toEqual([
    { community: 'general', title: 'T', content: 'C' },
    { community: 'general', title: 'T', content: 'C', url: 'https://example.org/' },
  ])
  expect((await call('hub_create_post', { ...post, url: 'javascript:alert(1)' })).text).toContain(
    'url: ',
  )
})

test('hub_budget_status tells dollars, and what is left after open reservations', async () => {
  const { answer } = setUp()
  expect((await answer('hub_budget_status', {})).budgets).toEqual([
    {
      scope: 'hub',
      period: 'month',
      limit_usd: 20,
      spent_usd: 1.5,
      reserved_usd: 0.5,
      left_usd: 18,
      limit_tokens: null,
      spent_tokens: 900,
      left_tokens: null,
      ends_at: '2026-01-02T03:04:05.000Z',
    },
  ])
})

test('hub_get_feed, hub_get_notifications and hub_get_profile say what is there', async () => {
  const { answer, asked } = setUp()
  const { posts } = await answer('hub_get_feed', { sort: 'new', community: 'general' })
  expect(posts[0]).toMatchObject({
    id: 'post-1',
    excerpt: 'In the gateway.',
    author: 'ada',
    url: '/p/post-1',
  })
  expect(asked('readFeed')[0]?.args[1]).toEqual({ sort: 'new', community: 'general', limit: 10 })
  const { notifications } = await answer('hub_get_notifications', {})
  expect(notifications[0]).toMatchObject({ type: 'mention', from: 'ada', read: false })
  expect(await answer('hub_get_profile', { name: '@ada' })).toMatchObject({
    name: 'ada',
    kind: 'human',
    karma: 7,
  })
  expect(asked('readProfile')[0]?.args[1]).toBe('ada')
})

import { env } from 'cloudflare:workers'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { createConversationApi } from '../../../src/hub/api/hub-api'
import { readSearchTerms } from '../../../src/hub/search/terms'
import { createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
let ada: Awaited<ReturnType<typeof hub.join>>
let postId: string

beforeAll(async () => {
  ada = await hub.join('ada', 'human')
  const answer = await hub.call('/posts', {
    key: ada.key,
    body: {
      community: 'general',
      title: 'Bees in winter',
      content: 'A hive keeps warm by shivering together.',
    },
  })
  postId = answer.body.post.id
  await hub.call('/posts', {
    key: ada.key,
    body: {
      community: 'agent-learnings',
      title: 'Ants',
      content: 'Bees are mentioned here, once, far from the title.',
    },
  })
  await hub.call(`/posts/${postId}/comments`, {
    key: ada.key,
    body: { content: 'Mine survived the frost; bees are tough.' },
  })
  await hub.call('/communities', {
    key: ada.key,
    body: { name: 'beekeeping', description: 'All about bees' },
  })
  await hub.join('bee-bot')
})

const search = async (query: string) => (await hub.call(`/search?${query}`)).body

test('H8: a word in a title ranks before one in the text; snippets mark the matches', async () => {
  const { results } = await search('q=bees&type=posts')
  expect(results.map(({ title }: { title: string }) => title)).toEqual(['Bees in winter', 'Ants'])
  expect(results[1].snippet).toContain('\u2068Bees\u2069')
  expect(results[0].score).toBeGreaterThan(results[1].score)
  expect(results[0]).toMatchObject({
    type: 'post',
    post_id: postId,
    community: { name: 'general' },
    author: { name: 'ada', kind: 'human' },
  })
})

test('H8: comments, accounts and communities are found, and can be filtered by type', async () => {
  const { results } = await search('q=bees')
  expect(new Set(results.map(({ type }: { type: string }) => type))).toEqual(
    new Set(['post', 'comment', 'community', 'account']),
  )
  expect(results.find(({ type }: { type: string }) => type === 'community')).toMatchObject({
    title: 'beekeeping',
  })
  const comments = await search('q=frost&type=comments')
  expect(comments.results).toMatchObject([
    { type: 'comment', post_id: postId, title: 'Bees in winter' },
  ])
  expect((await search('q=bee-bot&type=accounts')).results).toMatchObject([
    { author: { name: 'bee-bot' } },
  ])
})

test('H8: filters by community and author; words are stemmed', async () => {
  expect((await search('q=bee&community=agent-learnings')).results).toHaveLength(1)
  expect((await search('q=bees&author=nobody')).results).toEqual([])
  expect((await search('q=shiver&author=ADA')).results).toHaveLength(1)
})

test('H8: a text that holds the words by which filters find documents passes none of them', async () => {
  const seqOf = (table: string, name: string) =>
    env.DB.prepare(`SELECT seq FROM ${table} WHERE name = ?`).bind(name).first<number>('seq')
  const tag = String.fromCodePoint(5853)
  const tags = [
    `u${await seqOf('accounts', 'ada')}`,
    `c${await seqOf('communities', 'beekeeping')}`,
  ]
  const forger = await hub.join('forger', 'human')
  const words = [...tags, 'k0', 'k1', 'k2', 'k3'].map((each) => tag + each).join(' ')
  const content = `A quokka. ${words}`
  const { body } = await hub.call('/posts', {
    key: forger.key,
    body: { community: 'general', title: 'Forged', content },
  })
  const found = async (filter: string) =>
    (await search(`q=quokka${filter}`)).results.map(({ id }: { id: string }) => id)
  expect(await found('')).toEqual([body.post.id])
  expect(await found('&type=posts&community=general&author=forger')).toEqual([body.post.id])
  for (const filter of ['author=ada', 'community=beekeeping', 'type=comments', 'type=accounts']) {
    expect(await found(`&${filter}`), filter).toEqual([])
  }
})

test('H8: all words must occur for people, any for agents; the requesting thread can be excluded', async () => {
  expect((await search('q=hive+unicorn')).results).toEqual([])
  const door = createConversationApi(hub.context)
  const actor = {
    accountId: ada.id,
    name: 'ada',
    kind: 'human',
    activationId: null,
    idempotencyKey: null,
    postId: null,
  } as const
  const any = await door.search(actor, { text: 'hive unicorn', match: 'any', limit: 5 })
  expect(any).toMatchObject([{ type: 'post', id: postId, postId }])
  const except = await door.search(actor, {
    text: 'bees',
    match: 'any',
    limit: 5,
    exceptPostId: any[0]?.postId as never,
  })
  expect(except.map(({ title }) => title).sort()).toEqual(['Ants', 'bee-bot', 'beekeeping'])
})

test('H8: pages of results follow each other', async () => {
  const first = await search('q=bees&limit=1')
  const second = await search(`q=bees&limit=1&cursor=${first.next_cursor}`)
  expect(first.has_more).toBe(true)
  expect(second.results[0].id).not.toBe(first.results[0].id)
})

test('H8: a deleted post and its comments are not found', async () => {
  const { body } = await hub.call('/posts', {
    key: ada.key,
    body: { community: 'general', title: 'Zeppelin' },
  })
  await hub.call(`/posts/${body.post.id}/comments`, {
    key: ada.key,
    body: { content: 'zeppelins' },
  })
  expect((await search('q=zeppelin')).results).toHaveLength(2)
  await hub.call(`/posts/${body.post.id}`, { method: 'DELETE', key: ada.key })
  expect((await search('q=zeppelin')).results).toEqual([])
})

test('H8: an edited post is found by its new text only', async () => {
  const { body } = await hub.call('/posts', {
    key: ada.key,
    body: { community: 'general', title: 'Marzipan' },
  })
  await hub.call(`/posts/${body.post.id}`, {
    method: 'PATCH',
    key: ada.key,
    body: { title: 'Nougat' },
  })
  expect((await search('q=marzipan')).results).toEqual([])
  expect((await search('q=nougat')).results).toHaveLength(1)
})

test('H7: a page of results costs one round trip, the viewer included', async () => {
  await hub.call('/feed', { key: ada.key })
  const { headers } = await hub.call('/search?q=bees', { key: ada.key })
  expect(readCost(headers).roundTrips).toBe(1)
})

test('H8: no input causes a server error', async () => {
  const nasty = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 80 }),
    fc
      .array(
        fc.constantFrom(
          '"',
          "'",
          '*',
          'AND',
          'OR',
          'NOT',
          'NEAR(',
          ')',
          '^',
          ':',
          '-',
          '{',
          '}',
          'bees',
          'title:',
          '+',
          '\0',
          '́',
          ' ',
        ),
        { maxLength: 30 },
      )
      .map((all) => all.join(' ')),
  )
  await fc.assert(
    fc.asyncProperty(nasty, async (text) => {
      const { status } = await hub.call(`/search?q=${encodeURIComponent(text.toWellFormed())}`)
      expect([200, 400]).toContain(status)
    }),
    { numRuns: 150 },
  )
})

test('H8: a search has at most 32 words, each quoted', () => {
  const many = Array.from({ length: 90 }, (_, i) => `w${i}`).join(' ')
  expect(readSearchTerms(many, 'any')?.words).toHaveLength(32)
  expect(readSearchTerms('"Bees" NOT', 'all')?.words).toEqual([
    { phrase: '"bees"', terms: ['bee'] },
    { phrase: '"not"', terms: ['not'] },
  ])
  expect(readSearchTerms('?! "" *', 'all')).toBeNull()
})

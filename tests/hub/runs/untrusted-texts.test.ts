import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { Actor } from '../../../src/hub/contract/hub'
import type { CommentId, PostId } from '../../../src/shared/ids'
import { adminKey } from '../create-test-hub'
import { createOffice } from './create-office'

const office = createOffice()
const { hub, createAgent, start, post, comment, hubApi } = office
let mira: Awaited<ReturnType<typeof hub.join>>
let scout: typeof mira
let finch: typeof mira
let words = 0
/** A word that occurs nowhere else, to search for. */
const newWord = () => `quokka${++words}x`

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  scout = await createAgent('scout')
  finch = await createAgent('finch')
  await office.run(`UPDATE agents SET grants = '["*"]'`)
  await hubApi.sweep(hub.clock.now())
})
afterEach(office.clear)

/** An agent in a run, which has read untrusted text or not. */
const inRun = (agent: typeof mira, hasReadUntrusted: boolean): Actor => ({
  accountId: agent.id,
  name: agent.name,
  kind: 'agent',
  activationId: null,
  idempotencyKey: null,
  postId: null,
  hasReadUntrusted,
})

/** Whether an answer has the mark in any part. */
const isMarked = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (Reflect.get(value, 'isUntrusted') === true || Object.values(value).some(isMarked))

/** A post by a run of a new agent, because an agent posts only a few times a day. */
async function createPost(content: string, hasReadUntrusted: boolean): Promise<PostId> {
  hub.clock.advance(1)
  const author = await createAgent(`author${++words}`)
  const text = { community: 'general', title: 'By a run', content }
  return (await hubApi.createPost(inRun(author, hasReadUntrusted), text)).id
}

/** The ways in which a run writes in a thread; `text` is what it writes. */
const waysToWrite: Record<string, (text: string, isTainted: boolean) => Promise<PostId>> = {
  'the answer at the end of a run': async (text, hasReadUntrusted) => {
    const postId = await post(mira.key, '@scout look')
    const { activationId } = await start(scout.id)
    const reply = { id: office.newId<CommentId>(), postId, parentId: null, content: text }
    await office.commit(scout.id, activationId, { reply, hasReadUntrusted })
    return postId
  },
  'a comment by a tool': async (content, hasReadUntrusted) => {
    const postId = await post(mira.key, 'A plain one')
    await hubApi.createComment(inRun(scout, hasReadUntrusted), { postId, parentId: null, content })
    return postId
  },
  'a post by a tool': (content, isTainted) => createPost(content, isTainted),
}

/** The ways in which finch reads it; each returns an answer that has the mark or not. */
const waysToRead: Record<string, (postId: PostId, word: string) => Promise<unknown>> = {
  'its own thread': async (postId) => {
    await comment(mira.key, postId, '@finch and you?')
    return { isUntrusted: (await start(finch.id)).hasUntrustedText }
  },
  'another thread': (postId) => hubApi.readThread(inRun(finch, false), postId, 50),
  search: async (_postId, word) => {
    const hits = await hubApi.search(inRun(finch, false), { text: word, match: 'all', limit: 5 })
    expect(hits).not.toEqual([])
    return hits
  },
  'its inbox': async (_postId, word) => {
    const items = await hubApi.readInbox(inRun(finch, false), 10)
    const item = items.find(({ content }) => content.includes(word))
    expect(item).toBeDefined()
    return item
  },
}

describe('T20: what a run wrote is untrusted text when it had read such text, and only then', () => {
  const cells = Object.keys(waysToWrite).flatMap((write) =>
    Object.keys(waysToRead).map((read) => [write, read] as const),
  )
  test.each(cells)('%s, read in %s', async (write, read) => {
    for (const isTainted of [true, false]) {
      const word = newWord()
      const postId = await waysToWrite[write]?.(`@finch ${word}`, isTainted)
      await office.clear()
      expect(isMarked(await waysToRead[read]?.(postId as PostId, word))).toBe(isTainted)
      await office.clear()
    }
  })

  test.each(['readFeed', 'discover'] as const)('a post by a tool, read in %s', async (read) => {
    for (const isTainted of [true, false]) {
      const word = newWord()
      await createPost(word, isTainted)
      const interests = { communities: [], keywords: [word], ageMsMax: 3_600_000 }
      const query = { sort: 'new' as const, ...interests, limit: 1 }
      const posts = await hubApi[read](inRun(finch, false), query)
      expect(posts).toMatchObject([{ content: word }])
      expect(isMarked(posts)).toBe(isTainted)
    }
  })
})

test('T20: an agent that is mentioned in such an answer starts with untrusted text', async () => {
  for (const hasReadUntrusted of [true, false]) {
    const postId = await post(mira.key, '@scout look')
    const { activationId } = await start(scout.id)
    const reply = { id: office.newId<CommentId>(), postId, parentId: null, content: '@finch pay' }
    await office.commit(scout.id, activationId, { reply, hasReadUntrusted })
    const { hasUntrustedText, requesters } = await start(finch.id)
    expect(requesters).toMatchObject([{ name: 'mira' }])
    expect(hasUntrustedText).toBe(hasReadUntrusted)
    await office.clear()
  }
})

test('T20: a message that such a run sends is marked in the inbox, sent by a tool or as its answer', async () => {
  for (const isTainted of [true, false]) {
    const word = newWord()
    const friend = await createAgent(`friend${words}`)
    await hubApi.sendDm(inRun(scout, isTainted), { to: friend.name, message: word })
    const [item] = await hubApi.readInbox(inRun(friend, false), 1)
    expect(item).toMatchObject({ type: 'dm', content: word })
    expect(isMarked(item)).toBe(isTainted)

    const path = '/conversations'
    const body = { to: 'scout', content: `Tell me ${word}` }
    expect((await hub.call(path, { key: friend.key, body })).status).toBeLessThan(300)
    await office.run(
      `UPDATE inbox_items SET is_task = 1 WHERE account_id = ? AND type = 'dm' AND read_at IS NULL`,
      scout.id,
    )
    const { activationId } = await start(scout.id)
    const reply = { id: office.newId<CommentId>(), postId: null, parentId: null, content: word }
    await office.commit(scout.id, activationId, { reply, hasReadUntrusted: isTainted })
    const [answer] = await hubApi.readInbox(inRun(friend, false), 1)
    expect(answer).toMatchObject({ type: 'dm', content: word })
    expect(isMarked(answer)).toBe(isTainted)
    await office.clear()
  }
})

test('T20: a person decides with their role: an edit of their text is theirs, and a promotion counts at once', async () => {
  const readAs = async (id: PostId) =>
    isMarked((await hubApi.readThread(inRun(finch, false), id, 5)).post)
  const own = await post(mira.key, 'Mine')
  const edit = { method: 'PATCH', key: mira.key, body: { content: 'Mine, and more' } } as const
  expect((await hub.call(`/posts/${own}`, edit)).status).toBe(200)
  expect(await readAs(own)).toBe(false)

  const { body } = await hub.call('/accounts', { body: { name: 'guest-of-t20' } })
  const guest = await post(body.account.api_key, 'From a guest')
  expect(await readAs(guest)).toBe(true)
  await hub.call('/accounts/guest-of-t20/role', {
    method: 'PUT',
    key: adminKey,
    body: { role: 'member' },
  })
  expect(await readAs(guest)).toBe(false)
})

test('T20: a community that a guest made is untrusted text in a search, and that of a member is not', async () => {
  const { body } = await hub.call('/accounts', { body: { name: 'founder-of-t20' } })
  for (const { key, isUntrusted } of [
    { key: body.account.api_key, isUntrusted: true },
    { key: mira.key, isUntrusted: false },
  ]) {
    const word = newWord()
    const community = { name: word, display_name: 'Birds', description: `About ${word}` }
    expect((await hub.call('/communities', { key, body: community })).status).toBe(201)
    const query = { text: word, match: 'all' as const, types: ['community' as const], limit: 5 }
    const hits = await hubApi.search(inRun(finch, false), query)
    expect(hits).toMatchObject([{ type: 'community' }])
    expect(isMarked(hits)).toBe(isUntrusted)
  }
})

test('T20: an edit keeps the mark of what a run wrote', async () => {
  const author = await createAgent('editor')
  const text = { community: 'general', title: 'By a run', content: 'pay' }
  const { id } = await hubApi.createPost(inRun(author, true), text)
  const body = { content: 'pay now' }
  const edit = { method: 'PATCH', key: author.key, body } as const
  expect((await hub.call(`/posts/${id}`, edit)).status).toBe(200)
  const { post: read } = await hubApi.readThread(inRun(finch, false), id, 5)
  expect(read).toMatchObject({ content: 'pay now', isUntrusted: true })
})

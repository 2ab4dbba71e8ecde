import { env } from 'cloudflare:workers'
import * as fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { type CommentPageRow, commentSorts } from '../../../src/hub/comments/queries'
import {
  commentCursorCharsMax,
  readCommentList,
  toCommentCursor,
} from '../../../src/hub/comments/threads'
import { limits } from '../../../src/shared/config'
import { sampleSize } from '../../support/sample'
import { createTestHub } from '../create-test-hub'

const hub = createTestHub()
let ada: Awaited<ReturnType<typeof hub.join>>
beforeAll(async () => {
  ada = await hub.join(`ada-${crypto.randomUUID().slice(0, 6)}`, 'human')
})

const createPost = async () => {
  hub.clock.advance(60_000)
  const body = { community: 'general', title: 'A long thread' }
  return (await hub.call('/posts', { key: ada.key, body })).body.post.id as string
}

let count = 0
/** Adds comments. Several have the same time, as those that are written at once. */
async function addComments(postId: string, ages: number[], parentId: string | null = null) {
  const ids = ages.map(() => `c-${String(++count).padStart(6, '0')}`)
  await env.DB.batch(
    ids.map((id, index) =>
      env.DB.prepare(
        'INSERT INTO comments (id, post_id, author_id, content, parent_id, depth, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
      ).bind(id, postId, ada.id, id, parentId, parentId ? 1 : 0, 1_000_000 + (ages[index] ?? 0)),
    ),
  )
  return ids
}

const vote = (id: string, upvotes: number, downvotes: number) =>
  env.DB.prepare('UPDATE comments SET upvotes = ?, downvotes = ? WHERE id = ?').bind(
    upvotes,
    downvotes,
    id,
  )

interface Branch {
  id: string
  replies: Branch[]
}
const listIds = (branches: Branch[]): string[] =>
  branches.flatMap(({ id, replies }) => [id, ...listIds(replies)])

/** Reads all pages of a thread; `between` runs after each. */
async function readAll(
  postId: string,
  query: Record<string, string>,
  between: () => Promise<unknown> = async () => {},
): Promise<string[]> {
  const seen: string[] = []
  let cursor: string | null = null
  do {
    const parameters = new URLSearchParams({ ...query, ...(cursor && { cursor }) })
    const { status, body } = await hub.call(`/posts/${postId}/comments?${parameters}`)
    expect([status, body.has_more]).toEqual([200, body.next_cursor !== null])
    seen.push(...listIds(body.comments))
    cursor = body.next_cursor
    if (seen.length > 200) throw new Error('The list does not end.')
    hub.clock.advance(1_000)
    await between()
  } while (cursor !== null)
  return seen
}

const change = fc.record({
  votes: fc.array(
    fc.tuple(fc.nat(30), fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 9 })),
    { maxLength: 6 },
  ),
  /** Ages of new comments; they can be older than what was shown, as those of an import. */
  added: fc.array(fc.integer({ min: -5, max: 40 }), { maxLength: 2 }),
})

describe.each(commentSorts)('comments in the order %s', (sort) => {
  test('lists: with votes and comments in between, none is lost or shown twice', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.nat(20), { minLength: 1, maxLength: 18 }),
        fc.integer({ min: 1, max: 7 }),
        fc.array(change, { minLength: 1, maxLength: 6 }),
        async (ages, limit, changes) => {
          const postId = await createPost()
          const ids = await addComments(postId, ages)
          let page = 0
          const seen = await readAll(postId, { sort, limit: String(limit) }, async () => {
            const { votes = [], added = [] } = changes[page++] ?? {}
            const changed = votes.map(([at, up, down]) =>
              vote(ids[at % ids.length] ?? '', up, down),
            )
            if (changed.length > 0) await env.DB.batch(changed)
            if (added.length > 0) await addComments(postId, added)
          })
          expect(new Set(seen).size).toBe(seen.length)
          expect(seen).toEqual(expect.arrayContaining(ids))
        },
      ),
      { numRuns: sampleSize(6, 25) },
    )
  })

  test('lists: without votes in between, the pages are the list', async () => {
    const postId = await createPost()
    const ids = await addComments(postId, [3, 1, 1, 2, 9, 4, 4, 4, 7, 0, 5])
    await env.DB.batch(ids.map((id, index) => vote(id, (index * 7) % 5, (index * 3) % 4)))
    const whole = await readAll(postId, { sort, limit: '100' })
    expect(whole).toHaveLength(ids.length)
    for (const limit of ['1', '2', '3', '5', '11']) {
      expect(await readAll(postId, { sort, limit })).toEqual(whole)
    }
    for (const offset of [0, 1, 4, 10, 11, 50]) {
      const rest = await readAll(postId, { sort, limit: '100', offset: String(offset) })
      expect(rest).toEqual(whole.slice(offset))
    }
  })

  test('lists: a page has the ancestors of its comments, and no reply is lost', async () => {
    const postId = await createPost()
    const roots = await addComments(postId, [1, 2, 3, 4])
    const replies: string[] = []
    for (const root of roots) replies.push(...(await addComments(postId, [5, 6, 7], root)))
    const next = () => env.DB.batch(replies.map((id, at) => vote(id, (count + at) % 3, at % 2)))
    const seen = await readAll(postId, { sort, limit: '3' }, next)
    expect(new Set(seen)).toEqual(new Set([...roots, ...replies]))
  })
})

test('lists: votes of people move comments, and the next page has those that fell back', async () => {
  const postId = await createPost()
  const ids = await addComments(postId, [1, 2, 3, 4])
  const [first, second, third, fourth] = ids
  const read = (cursor = '') =>
    hub.call(`/posts/${postId}/comments?limit=2&cursor=${encodeURIComponent(cursor)}`)
  const top = await read()
  expect(listIds(top.body.comments)).toEqual([first, second])
  const bob = await hub.join(`bob-${crypto.randomUUID().slice(0, 6)}`, 'human')
  for (const id of [third, fourth]) {
    hub.clock.advance(1_000)
    expect(
      (await hub.call(`/comments/${id}/vote`, { method: 'PUT', key: bob.key, body: { value: 1 } }))
        .status,
    ).toBe(200)
  }
  expect(listIds((await read(top.body.next_cursor)).body.comments)).toEqual([third, fourth])
})

describe('the cursor of a list by votes', () => {
  const row = (numbers: number[]) =>
    ({ hasMore: true, numbers, position: 1 }) as unknown as CommentPageRow

  test('lists: it has exactly the comments of the pages before', async () => {
    const pages = fc.array(fc.uniqueArray(fc.integer({ min: 1, max: 200 }), { minLength: 1 }))
    await fc.assert(
      fc.property(pages, (all) => {
        let list = readCommentList('a', 'best', undefined)
        for (const numbers of all) {
          const cursor = toCommentCursor('a', list, [row(numbers)])
          list = readCommentList('a', 'best', cursor ?? '')
        }
        const seen = 'seen' in list ? list.seen : ''
        const marked = [...seen].flatMap((bit, index) => (bit === '1' ? [index + 1] : []))
        expect(marked).toEqual([...new Set(all.flat())].sort((a, b) => a - b))
      }),
    )
  })

  test('lists: it is never longer than what the list takes', () => {
    const numbers = Array.from({ length: limits.page.votedCommentsMax }, (_, index) => index + 1)
    const list = readCommentList('a', 'best', undefined)
    const cursor = toCommentCursor('a', list, [row(numbers)])
    expect(cursor?.length).toBeLessThanOrEqual(commentCursorCharsMax)
  })
})

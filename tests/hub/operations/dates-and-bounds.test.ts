import { env } from 'cloudflare:workers'
import { describe, expect, test } from 'vitest'
import { importLimits } from '../../../src/shared/config'
import { createTestHub } from '../create-test-hub'
import { comment, createImporter, reasonsOf } from './import-thread'

const hub = createTestHub()
const { send, importThread } = createImporter(hub)

describe('dates', () => {
  const at = '2026-01-01T00:00:00.000Z'
  test.each<[string, unknown, string | null, string | null]>([
    ['ISO', '2025-06-01T10:00:00Z', '2025-06-01T10:00:00.000Z', null],
    ['ISO with an offset', '2025-06-01T10:00:00+02:00', '2025-06-01T08:00:00.000Z', null],
    ['an offset without a colon', '2025-06-01T10:00:00+0200', '2025-06-01T08:00:00.000Z', null],
    ['SQL', '2025-06-01 10:00:00', '2025-06-01T10:00:00.000Z', null],
    ['RFC 5322', 'Sun, 01 Jun 2025 10:00:00 GMT', '2025-06-01T10:00:00.000Z', null],
    ['seconds', 1_748_772_000, '2025-06-01T10:00:00.000Z', null],
    ['seconds with a fraction', 1_748_772_000.25, '2025-06-01T10:00:00.250Z', null],
    ['milliseconds', 1_748_772_000_000, '2025-06-01T10:00:00.000Z', null],
    ['seconds as text', '1748772000', '2025-06-01T10:00:00.000Z', null],
    ['the future', '2099-01-01T00:00:00Z', null, 'is in the future'],
    ['a date beyond dates', '+275760-09-14T00:00:00Z', null, 'cannot be read'],
    ['microseconds', 1_748_772_000_000_000, null, 'is in the future'],
    ['more than a date holds', 1e300, null, 'cannot be read'],
    ['zeros', '0000-00-00T00:00:00.000Z', null, 'cannot be read'],
    ['the year 1', '0001-01-01T00:00:00Z', null, 'cannot be read'],
    ['before 1970', '1969-07-20T20:17:00Z', null, 'cannot be read'],
    ['no such day', '2025-13-45', null, 'cannot be read'],
    ['words', 'yesterday 5', null, 'cannot be read'],
    ['nothing', '', null, null],
  ])('H19: %s', async (_name, created_at, expected, why) => {
    const now = new Date(hub.clock.now()).toISOString()
    const { title, body } = await importThread([comment(1, null, { created_at })], { created_at })
    const rows = await env.DB.prepare(
      `SELECT created_at AS at FROM posts WHERE title = ?1
       UNION ALL SELECT c.created_at FROM comments c JOIN posts p ON p.id = c.post_id WHERE p.title = ?1`,
    )
      .bind(title)
      .all<{ at: number }>()
    for (const { at } of rows.results) {
      expect(new Date(at).toISOString() >= (expected ?? now)).toBe(true)
      if (expected) expect(new Date(at).toISOString()).toBe(expected)
      expect(at).toBeLessThanOrEqual(hub.clock.now())
    }
    const changes = reasonsOf(body.changed)
    expect(changes).toEqual(why ? [expect.stringContaining(why), expect.stringContaining(why)] : [])
  })

  test('H19: records without a usable date are found again later', async () => {
    const record = (n: number, created_at: unknown) => ({
      post: { title: `Undated ${n}`, content: 'x', created_at },
      comments: [{ content: 'undated', created_at, author: null }],
    })
    const records = [
      record(1, undefined),
      record(2, '2099-01-01'),
      record(3, 'soon'),
      record(4, at),
    ]
    expect((await send(records)).body.imported).toMatchObject({ posts: 4, comments: 4 })
    hub.clock.advance(3_600_000)
    expect((await send(records)).body).toMatchObject({
      imported: { posts: 0, comments: 0 },
      unchanged: 4,
      skipped: [],
    })
  })
})

test('H19: what is shortened, left out or replaced is in the report', async () => {
  const odd = {
    title: `${'t'.repeat(299)}🪶`,
    content: 'a\uD800b\0c',
    upvotes: 9e15,
    downvotes: -5,
    url: 'javascript:alert(1)',
    submolt: { name: '日本語', display_name: 'd'.repeat(150) },
    author: { id: 1, name: 'Ünï Cödé', karma: -1e300, description: 'x'.repeat(2_000) },
  }
  const long = comment(1, null, { content: 'x'.repeat(importLimits.textCharsMax + 1) })
  const record = {
    post: { id: 'odd', ...odd },
    comments: [long, comment(2, null, { content: ' ' })],
  }
  const { body } = await send([record])
  expect(body.imported).toEqual({ posts: 1, comments: 1, accounts: 1, communities: 0 })
  expect(reasonsOf(body.skipped)).toEqual([expect.stringContaining('2: Comment: It is empty')])
  const words = [
    'upvotes',
    'downvotes',
    'name of the community',
    'points of the author',
    'description of the author',
    'title was shortened',
    'characters that are not text',
    'javascript:',
    'm/general',
    'text was shortened',
    '@uni-code',
  ]
  const changes = reasonsOf(body.changed).join('\n')
  for (const each of words) expect(changes).toContain(each)
  expect(body.changed).toHaveLength(words.length)
  const stored = await env.DB.prepare(
    "SELECT title, content, url, upvotes, downvotes FROM posts WHERE content LIKE 'a%b%c'",
  ).first()
  expect(stored).toEqual({
    title: 't'.repeat(299),
    content: 'a\uFFFDb\uFFFDc',
    url: null,
    upvotes: 1_000_000_000,
    downvotes: 0,
  })
  expect((await send([record])).body).toMatchObject({ imported: { posts: 0 }, unchanged: 1 })
})

describe('bounds', () => {
  test('H19: a list without end ends the report, and is counted', async () => {
    const many = Array.from({ length: importLimits.reportEntriesMax + 20 }, () => null)
    const { body } = await send(many)
    expect([body.skipped.length, body.not_listed]).toEqual([importLimits.reportEntriesMax, 20])
  })

  test('H19: a thread of thousands of comments is written in several batches, and again not at all', async () => {
    const comments = Array.from({ length: 1_800 }, (_, at) =>
      comment(at + 1, at % 7 === 0 ? null : at),
    )
    const { title, body } = await importThread(comments)
    expect(body).toMatchObject({
      imported: { posts: 1, comments: 1_800 },
      changed: [],
      unchanged: 0,
    })
    const again = await send([{ post: { id: title, title, author: 'ann' }, comments }])
    expect(again.body).toMatchObject({ imported: { comments: 0 }, unchanged: 1 })
  })

  test('H19: a chain of parents and nested replies without end need no stack', async () => {
    const chain = Array.from({ length: 5_000 }, (_, at) => comment(at + 1, at + 2))
    const { body } = await importThread(chain)
    expect(body).toMatchObject({ imported: { comments: 5_000 }, changed: [{ id: '5000' }] })
    let nested: object = comment(1)
    for (let at = 2; at < 995; at++) nested = { ...comment(at), replies: [nested] }
    const text = JSON.stringify(nested).replace('"id":1,', '"id":12345678901234567890,')
    const deep = await send(`[{"post":{"id":"deep","title":"Deep"},"comments":[${text}]}]`)
    expect(deep.body.imported.comments).toBe(994)
  })

  test('H19: comments beyond those of a request are left out with the reason', async () => {
    const { commentsMax } = importLimits
    Reflect.set(importLimits, 'commentsMax', 5)
    try {
      const { body } = await importThread(Array.from({ length: 9 }, (_, at) => comment(at + 1)))
      expect(body.imported.comments).toBe(5)
      expect(body.skipped).toHaveLength(1)
    } finally {
      Reflect.set(importLimits, 'commentsMax', commentsMax)
    }
  })
})

import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, it, test } from 'vitest'
import { countOwnUnread } from '../../../src/hub/inbox/queries'
import { guardComment, guardPost } from '../../../src/hub/moderation/reply-limit-queries'
import { recordExplorationRefusal } from '../../../src/hub/runs/claim-queries'
import { requestReader } from '../../../src/hub/viewers/reader'
import { boardStatements } from '../../../src/hub/views/board-queries'
import type { Statement } from '../../../src/shared/db/statement'
import type { AccountId, ActivationId, CommunityId, PostId } from '../../../src/shared/ids'
import { createTestHub, readCost } from '../create-test-hub'

const now = Date.UTC(2026, 0, 1)
const agentId = 'agent' as AccountId
const activationId = 'activation' as ActivationId
const writing = { agentId, activationId, now }

async function explain(statement: Statement<unknown>): Promise<string[]> {
  const { sql, params } = statement.compile()
  const { results } = await env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`)
    .bind(...params)
    .all<{ detail: string }>()
  return results.map(({ detail }) => detail)
}

describe('statements that run for every post or agent read no whole table', () => {
  test.each([
    ['guardPost', guardPost(writing)],
    [
      'guardComment',
      guardComment(writing, { postId: 'post' as PostId, communityId: 'c' as CommunityId }),
    ],
    ['recordExplorationRefusal', recordExplorationRefusal({ ...writing, capacity: 10, floor: 2 })],
    [
      'agents of the scheduler',
      boardStatements(
        { state: 'all', name: '', after: null, limit: 50 },
        now,
        requestReader(null, now),
      ).agents,
    ],
  ])('%s counts the posts of one author by index', async (_name, statement) => {
    const plan = await explain(statement)
    expect(
      plan.filter((step) => /^SCAN (posts|comments|inbox_items|activations)\b/.test(step)),
    ).toEqual([])
    expect(plan).toContainEqual(
      expect.stringMatching(
        /SEARCH posts USING (COVERING )?INDEX posts_by \(author_id=\? AND created_at>\?\)/,
      ),
    )
  })

  test('unread items are counted by the index of unread items', async () => {
    expect(await explain(countOwnUnread(null, now))).toContainEqual(
      expect.stringMatching(/SEARCH i USING INDEX inbox_unread \(account_id=\?\)/),
    )
  })
})

describe('daily limits', () => {
  const hub = createTestHub()
  let scout: Awaited<ReturnType<typeof hub.join>>
  const post = () =>
    hub.call('/posts', { key: scout.key, body: { community: 'general', title: 'Found' } })

  beforeAll(async () => {
    scout = await hub.join('scout')
    await hub.host(scout.id)
    await env.DB.prepare(
      'UPDATE agents SET daily_posts_max = 2, interval_ms = 0 WHERE account_id = ?',
    )
      .bind(scout.id)
      .run()
  })

  it('D6: count deleted posts, and start again at midnight UTC', async () => {
    const first = await post()
    const url = `/posts/${first.body.post.id}`
    expect((await hub.call(url, { method: 'DELETE', key: scout.key })).status).toBe(200)
    expect((await post()).status).toBe(201)
    expect((await post()).body.code).toBe('REPLY_LIMIT')
    hub.clock.advance(24 * 60 * 60_000)
    expect((await post()).status).toBe(201)
  })
})

test('a post reads as much with 500 unread items in the inbox of its author as with none', async () => {
  const hub = createTestHub()
  const ada = await hub.join('ada', 'human')
  const measure = async () => {
    const answer = await hub.call('/posts', {
      key: ada.key,
      body: { community: 'general', title: 'Found' },
    })
    expect(answer.status).toBe(201)
    return readCost(answer.headers).rowsRead
  }
  const before = await measure()
  await env.DB.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
     INSERT INTO inbox_items (id, account_id, type, created_at) SELECT 'unread-' || i, ?, 'system', i FROM n`,
  )
    .bind(ada.id)
    .run()
  expect(await measure()).toBeLessThanOrEqual(before + 5)
})

import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { countQueue } from '../../../src/hub/moderation/queue-queries'
import { run } from '../../../src/shared/db/batch'
import { sha256 } from '../../../src/shared/sha256'
import { createTestHub } from '../create-test-hub'
import { makeModerator } from './make-moderator'

const hub = createTestHub()
const insert = (sql: string, ...values: unknown[]) =>
  env.DB.prepare(sql)
    .bind(...values)
    .run()

test('T11: the count of what waits for a moderator reads only what is in their communities', async () => {
  const mo = await hub.join('mo', 'human')
  const ada = await hub.join('ada', 'human')
  await makeModerator(mo.id, 'general')
  const { post } = (
    await hub.call('/posts', { key: ada.key, body: { community: 'general', title: 'Plums' } })
  ).body
  const ria = await hub.join('ria', 'human')
  await hub.call(`/posts/${post.id}/report`, { key: ria.key, body: { reason: 'Spam' } })
  const credential = {
    hash: await sha256(mo.key),
    isSession: false,
    isAdminKey: false,
    adminKeyHash: '',
  }
  const count = async () => {
    const { db } = hub.context()
    const answer = await run(db, countQueue(credential, hub.clock.now()))
    return { answer, rowsRead: db.cost.rowsRead }
  }
  const before = await count()
  expect(before.answer).toBe(1)
  await insert(
    `INSERT INTO communities (id, name, display_name, created_at) VALUES ('elsewhere', 'elsewhere', 'Elsewhere', 0)`,
  )
  const ids = JSON.stringify(Array.from({ length: 1_000 }, (_, at) => at))
  await insert(
    `INSERT INTO content_reports (id, account_id, community_id, post_id, comment_id, reason, created_at)
     SELECT 'r' || value, ?2, 'elsewhere', ?3, 'c' || value, 'Spam', value FROM json_each(?1)`,
    ids,
    ria.id,
    post.id,
  )
  const { results } = await env.DB.prepare('SELECT count(*) AS n FROM content_reports').all()
  expect(results).toEqual([{ n: 1_001 }])
  await insert(
    `INSERT INTO moderation_actions (id, community_id, kind, account_id, moderator_id, reason, created_at)
     SELECT 'x' || value, 'elsewhere', 'mute', ?2, ?3, 'Spam', value FROM json_each(?1)`,
    ids,
    ria.id,
    ada.id,
  )
  await insert(
    `INSERT INTO appeals (action_id, community_id, text, created_at)
     SELECT 'x' || value, 'elsewhere', 'No', value FROM json_each(?1)`,
    ids,
  )
  const after = await count()
  expect(after.answer).toBe(1)
  expect(after.rowsRead).toBeLessThanOrEqual(before.rowsRead + 5)
})

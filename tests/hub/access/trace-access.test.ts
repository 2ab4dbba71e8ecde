import { env } from 'cloudflare:workers'
import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { beforeAll, expect, test } from 'vitest'
import { findTraceAccess, isClosedToAdmin, isRunShown } from '../../../src/hub/rules/traces'
import {
  hasTraceAccessSql,
  isClosedSql,
  isRunShownSql,
  traceAccessColumns,
} from '../../../src/hub/rules/traces-sql'
import { activations } from '../../../src/hub/schema/activations'
import type { Reader } from '../../../src/hub/viewers/reader'
import { run as runStatement } from '../../../src/shared/db/batch'
import { createDb } from '../../../src/shared/db/db'
import { flag } from '../../../src/shared/db/fields'
import { manySql } from '../../../src/shared/db/statement'
import { adminKey, createTestHub } from '../create-test-hub'

/*
 * Who may see a run is decided twice: for one run in TypeScript, and for lists in SQL. Here both decide
 * about every run that can be, for every kind of viewer.
 */

const hub = createTestHub()
const x = alias(activations, 'x')
type Account = Awaited<ReturnType<typeof hub.join>>
let people: Record<'mira' | 'anna' | 'otto', Account>

const run = (statement: string, ...values: unknown[]) =>
  env.DB.prepare(statement)
    .bind(...values)
    .run()

beforeAll(async () => {
  people = {
    mira: await hub.join('mira', 'human'),
    anna: await hub.join('anna', 'human'),
    otto: await hub.join('otto', 'human'),
  }
  for (const [name, role] of [
    ['mira', 'member'],
    ['anna', 'admin'],
    ['otto', 'member'],
  ])
    await hub.call(`/accounts/${name}/role`, { method: 'PUT', key: adminKey, body: { role } })
  const { mira, anna, otto } = people
  await run(
    `INSERT INTO communities (id, name, display_name, visibility, created_at)
     VALUES ('open', 'open', '', 'public', 0), ('own', 'own', '', 'private', 0), ('closed', 'closed', '', 'private', 0)`,
  )
  for (const { id } of [mira, anna])
    await run(
      `INSERT INTO community_members (community_id, account_id, created_at) VALUES ('own', ?, 0)`,
      id,
    )
  await run(
    `INSERT INTO posts (id, community_id, author_id, title, content, hot_rank, created_at, deleted_at)
     VALUES ('kept', 'open', ?1, 't', '', 0, 0, NULL), ('gone', 'open', ?1, 't', '', 0, 0, 1)`,
    otto.id,
  )
  for (const agent of [mira, anna, otto])
    for (const [version, author] of [null, mira.id, anna.id, otto.id].entries())
      await run(
        `INSERT INTO agent_definitions (account_id, version, etag, created_by, created_at)
         VALUES (?1, ?2, 'e', ?3, 0)`,
        agent.id,
        version,
        author,
      )
  await insertRuns()
})

/** Every run that can be: of each agent, task, community, post, definition, account and list of requesters. */
async function insertRuns(): Promise<void> {
  const { mira, anna, otto } = people
  const ids = [mira.id, anna.id, otto.id]
  const requesters = [[], [mira.id], [anna.id], [otto.id], [otto.id, mira.id], [otto.id, anna.id]]
  await run(
    `INSERT INTO activations (id, agent_id, class, task, state, admission, post_id, model, definition_version,
       started_at, deadline_at, community_id, requesters, uses_own_account)
     SELECT 'run-' || row_number() OVER (), a.value, iif(t.value = 'exploration', 'exploration', 'inbox'), t.value,
       'done', 'granted', p.value, 'test/model', v.value, 0, 0, c.value, r.value, o.value
     FROM json_each(?1) a, json_each('["mention","dm","manual","exploration"]') t, json_each('["kept","gone"]') p,
       json_each('[0,1,2,3]') v, json_each('[null,"open","own","closed"]') c, json_each(?2) r, json_each('[0,1]') o`,
    JSON.stringify(ids),
    JSON.stringify(requesters),
  )
  await run(
    `INSERT INTO inbox_items (id, account_id, type, task, from_account_id, content, created_at, is_task, claimed_by, read_at)
     SELECT 'item-' || x.id || f.value, x.agent_id, iif(x.task = 'dm', 'dm', iif(x.task = 'manual', 'task', 'mention')),
       iif(x.task = 'manual', 'manual', NULL), f.value, '', 0, 1, x.id, 1
     FROM activations x, json_each(x.requesters) f`,
  )
}

const viewers = [
  ['nobody', null, false],
  ['a member', 'mira', false],
  ['an admin', 'anna', false],
  ['an admin who opened what is private', 'anna', true],
] as const

test.each(viewers)(
  'P3: lists and pages agree on every run for %s',
  async (_who, name, hasOpened) => {
    const viewer = name && { id: people[name].id, isAdmin: name === 'anna' }
    const now = hub.clock.now()
    await run('DELETE FROM admin_openings')
    for (const owner of hasOpened ? ['closed', people.otto.id, people.mira.id] : [])
      await run(
        `INSERT INTO admin_openings (id, account_id, owner_id, reason, created_at, expires_at)
       VALUES (?1, ?2, ?1, '', 0, ?3)`,
        owner,
        people.anna.id,
        now + 1_000,
      )
    const reader = JSON.stringify(
      viewer ? { account: viewer.id, is_request: 1, now } : {},
    ) as Reader
    const rows = await runStatement(
      createDb(env.DB),
      manySql(
        {
          id: x.id,
          agentId: x.agentId,
          task: x.task,
          communityId: x.communityId,
          requesters: x.requesters,
          ...traceAccessColumns(sql`${reader}`),
          inLists: flag(isRunShownSql(sql`${reader}`)),
          hasAccess: flag(hasTraceAccessSql(sql`${reader}`)),
          isClosed: flag(isClosedSql(sql`${reader}`)),
        },
        sql`FROM ${activations} ${x} ORDER BY ${x.id}`,
      ),
    )
    expect(rows).toHaveLength(3 * 4 * 2 * 4 * 4 * 6 * 2)
    const differing = rows.filter(
      (each) =>
        isRunShown(viewer, each) !== each.inLists ||
        (findTraceAccess(viewer, each) !== 'none') !== each.hasAccess,
    )
    expect(differing.slice(0, 3)).toEqual([])
    const seen = rows.filter(({ hasAccess }) => hasAccess).length
    if (viewer) expect([0, rows.length]).not.toContain(seen)
    else expect(seen).toBe(0)
    if (!viewer?.isAdmin) return
    const closed = rows.filter(
      (each) => each.agentId !== viewer.id && isClosedToAdmin(viewer, each) !== each.isClosed,
    )
    expect(closed.slice(0, 3)).toEqual([])
  },
)

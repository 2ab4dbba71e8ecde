import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { sharedTable } from '../../shared/db/compile-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { adminOpenings, communities, communityMembers, subscriptions } from '../schema/communities'
import { posts } from '../schema/posts'
import { replayLanes } from '../schema/replays'
import { requestAccountSql } from '../viewers/queries'
import { isPostShownSql, isRunGoneSql } from './shown-sql'

const a = alias(accounts, 'reader_account')
const k = alias(communities, 'closed')
const m = alias(communityMembers, 'listed')
const p = alias(posts, 'read_post')
const place = alias(communities, 'place')
const s = alias(subscriptions, 'subscribed')
const x = alias(activations, 'reader_run')
const lane = alias(replayLanes, 'reader_lane')

/** The run of a reader: of a lane of a replay the one that is replayed. */
const runOfReaderSql = (reader: SQLWrapper): SQL => sql`coalesce(
  (SELECT ${lane.activationId} FROM ${replayLanes} ${lane} WHERE ${lane.id} = ${reader} ->> 'activation'),
  ${reader} ->> 'activation')`

/** Communities that not everybody reads. The index is named: a hub without such a community reads no row. */
const closedSql = sql`${communities} ${k} INDEXED BY communities_not_public WHERE ${k.visibility} <> 'public'`

/** Whether everybody reads every community: then nothing else is looked up, not even once for a row. */
const isAllPublicSql = sql`NOT EXISTS (SELECT 1 FROM ${closedSql})`

const isListedSql = (community: SQLWrapper, account: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM ${communityMembers} ${m} WHERE ${m.communityId} = ${community} AND ${m.accountId} = ${account})`

/** Whether an account reads the community `closed`: one of its members, or any member of the hub if it is for these. */
const readsClosedSql = (account: { id: SQLWrapper; role: SQLWrapper }): SQL =>
  sql`((${k.visibility} = 'members' AND coalesce(${account.role} IN ('member', 'admin'), 0)) OR ${isListedSql(k.id, account.id)})`

/**
 * The accounts of a reader, all of whom have to read, for FROM: `id`, `role`. A run without a requester adds nobody. A lane
 * of a replay has the requesters of the run and whoever asked for the replay.
 */
export const readersSql = (reader: SQLWrapper): SQL =>
  sharedTable(
    'readers',
    'id, role',
    reader,
    () => sql`SELECT id, role FROM ${requestAccountSql(reader)}
  UNION ALL SELECT ${a.id}, ${a.role} FROM ${accounts} ${a} WHERE ${a.id} = ${reader} ->> 'account'
  UNION ALL SELECT ${a.id}, ${a.role} FROM ${activations} ${x}
    CROSS JOIN json_each(iif(${x.requesters} = '[]', '[null]', ${x.requesters})) n LEFT JOIN ${accounts} ${a} ON ${a.id} = n.value
    WHERE ${x.id} = ${runOfReaderSql(reader)}
  UNION ALL SELECT ${a.id}, ${a.role} FROM ${replayLanes} ${lane} CROSS JOIN json_each(${lane.requesters}) n
    LEFT JOIN ${accounts} ${a} ON ${a.id} = n.value
    WHERE ${lane.id} = ${reader} ->> 'activation'`,
  )

/**
 * Whether a run may read the community `closed`: all who read the run's answer have to read it too. So a
 * run reads the community of its own thread, and those for members in a thread without guests, or when it
 * answers a message or a task given by hand.
 */
const isForAudienceSql = (
  reader: SQLWrapper,
): SQL => sql`(${reader} ->> 'activation' IS NULL OR EXISTS (
  SELECT 1 FROM ${activations} ${x} LEFT JOIN ${communities} ${place} ON ${place.id} = ${x.communityId}
  WHERE ${x.id} = ${runOfReaderSql(reader)} AND (${x.communityId} = ${k.id}
    OR (${k.visibility} = 'members' AND iif(${x.postId} IS NULL, ${x.task} IN ('dm', 'manual'),
      coalesce(${place.visibility} <> 'public', 0) AND NOT EXISTS (
        SELECT 1 FROM ${communityMembers} ${m} JOIN ${accounts} ${a} ON ${a.id} = ${m.accountId}
        WHERE ${m.communityId} = ${x.communityId} AND ${a.role} = 'guest'))))))`

/** The communities that a reader does not read, for FROM: `id`. */
const unreadableSql = (reader: SQLWrapper): SQL =>
  sharedTable(
    'unreadable',
    'id',
    reader,
    () => sql`SELECT ${k.id} FROM ${closedSql} AND NOT (${isForAudienceSql(reader)}
    AND coalesce((SELECT min(${readsClosedSql({ id: sql`r.id`, role: sql`r.role` })}) FROM ${readersSql(reader)} r), 0))`,
  )

/** The ids of the communities that a reader does not read, as a JSON list. */
export const listUnreadableSql = (reader: SQLWrapper): SQL<string> =>
  sql`(SELECT json_group_array(id) FROM (SELECT id FROM ${unreadableSql(reader)} ORDER BY id))`

/**
 * Whether a reader reads a community's posts. Every query that returns posts or comments, or counts them,
 * for somebody has this condition; `tests/hub/access/readable.test.ts` checks it.
 *
 * @param community the id of a community; of an outer join put the condition in its ON clause
 * @param reader a `Reader`
 */
export const canReadSql = (community: SQLWrapper, reader: SQLWrapper): SQL =>
  sql`/* readable */ (${isAllPublicSql} OR ${community} NOT IN (SELECT id FROM ${unreadableSql(reader)}))`

/** Whether a post may be shown to the reader: its words are, and the reader reads its community. */
export const isPostReadableSql = (
  post: Readonly<Record<'communityId' | 'deletedAt', SQLWrapper>>,
  reader: SQLWrapper,
): SQL => sql`(${isPostShownSql(post)} AND ${canReadSql(post.communityId, reader)})`

/** Whether a reader reads a post, where its row is not at hand; true without a post. */
export const canReadPostSql = (post: SQLWrapper, reader: SQLWrapper): SQL =>
  sql`(${isAllPublicSql} OR ${post} IS NULL OR EXISTS (
    SELECT 1 FROM ${posts} ${p} WHERE ${p.id} = ${post} AND ${canReadSql(p.communityId, reader)}))`

/**
 * Whether one account reads a community: for those that a post or comment addresses.
 *
 * @param account its `id` and `role`
 */
export const canAccountReadSql = (
  community: SQLWrapper,
  account: { id: SQLWrapper; role: SQLWrapper },
): SQL =>
  sql`NOT EXISTS (SELECT 1 FROM ${closedSql} AND ${k.id} = ${community} AND NOT ${readsClosedSql(account)})`

/** Whether everybody reads a community. */
export const isPublicSql = (community: SQLWrapper): SQL =>
  sql`/* readable */ (${isAllPublicSql} OR ${community} NOT IN (SELECT ${k.id} FROM ${closedSql}))`

/** Whether the reader of a request is an admin, who sees that a private community exists. */
const isAdminReaderSql = (reader: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM ${readersSql(reader)} r WHERE r.role = 'admin'
    AND coalesce(${reader} ->> 'hash', ${reader} ->> 'is_request') IS NOT NULL)`

/** Whether a reader may know of a community: who reads it, and admins, who see its name and no text. */
export const isShownSql = (community: SQLWrapper, reader: SQLWrapper): SQL =>
  sql`(${canReadSql(community, reader)} OR ${isAdminReaderSql(reader)})`

/** What the reader of a request is to a community. */
interface ReaderPlace {
  /** Null for none. */
  role: 'member' | 'moderator' | null
  isSubscribed: 0 | 1
}

/** What the reader of a request is to a community; null for nobody. */
export const readerPlaceSql = (
  community: SQLWrapper,
  reader: SQLWrapper,
): SQL<ReaderPlace | null> =>
  sql`(SELECT json_object(
    'role', (SELECT ${m.role} FROM ${communityMembers} ${m}
      WHERE ${m.accountId} = r.id AND ${m.communityId} = ${community}),
    'isSubscribed', EXISTS (SELECT 1 FROM ${subscriptions} ${s}
      WHERE ${s.accountId} = r.id AND ${s.communityId} = ${community}))
    FROM ${readersSql(reader)} r LIMIT 1)`.mapWith((json) => JSON.parse(json) as ReaderPlace)

const o = alias(adminOpenings, 'opened')

/** `FROM` the openings by the reader of a request, an admin, that still hold. */
const fromOpeningsSql = (owners: SQL, reader: SQLWrapper): SQL => sql`
  FROM ${adminOpenings} ${o} WHERE ${o.ownerId} IN ${owners}
    AND ${o.expiresAt} > ${reader} ->> 'now'
    AND ${o.accountId} IN (SELECT r.id FROM ${readersSql(reader)} r WHERE r.role = 'admin')`

/**
 * Whether the reader of a request is an admin who opened what is private to one of the owners, and it still
 * holds. Without an opening nothing else is looked up.
 *
 * @param owners a list of ids, as behind IN
 */
export const isOpenedSql = (owners: SQL, reader: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 ${fromOpeningsSql(owners, reader)})`

/** When the last of these openings ends; null without one. */
export const selectOpenedUntilSql = (owners: SQL, reader: SQLWrapper): SQL<number | null> =>
  sql`(SELECT max(${o.expiresAt}) ${fromOpeningsSql(owners, reader)})`

type Run = Record<'id' | 'task' | 'usesOwnAccount' | 'postId' | 'replyCommentId', SQLWrapper>

/**
 * Whether a run is private to its requesters: it answers a direct message or a task given by hand, used their account,
 * or holds words that were deleted or removed.
 */
export const isPrivateRunSql = (run: Run): SQL =>
  sql`(${run.task} IN ('dm', 'manual') OR ${run.usesOwnAccount} = 1 OR ${isRunGoneSql(run)})`

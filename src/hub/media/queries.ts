import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { media as limits } from '../../shared/config'
import type { RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { insertRow, insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import { mediaPath } from '../../shared/paths'
import type { SeenImage } from '../contract/hub'
import { unfiltered } from '../database/unfiltered-sql'
import { mayModerateSql } from '../rules/moderator-sql'
import { canReadSql, readersSql } from '../rules/readable-sql'
import { hasPageSql, isCommentShownSql, isPostShownSql } from '../rules/shown-sql'
import { accessGuard, accounts } from '../schema/accounts'
import { communities } from '../schema/communities'
import { conversationMembers, directMessages } from '../schema/dms'
import { media, mediaUses } from '../schema/media'
import { comments, posts } from '../schema/posts'
import { accountOfReaderSql } from '../viewers/queries'
import type { Reader } from '../viewers/reader'

const m = alias(media, 'm')
const u = alias(mediaUses, 'u')
const p = alias(posts, 'p')
const n = alias(comments, 'n')
const d = alias(directMessages, 'd')
const cm = alias(conversationMembers, 'cm')
const a = alias(accounts, 'a')
const c = alias(communities, 'c')
const o = alias(mediaUses, 'other')
const e = alias(media, 'original')
// Names of their own, beside those of any text.
const shows = alias(mediaUses, 'shows')
const shown = alias(media, 'shown')
const reduces = alias(mediaUses, 'reduces')
const reduced = alias(media, 'reduced')

type NewMedia = Omit<typeof media.$inferSelect, 'isUsed' | 'deletedAt'>

const preparedInsert = prepare((row: Params<NewMedia>) =>
  write(insertRow(media, row, ['isUsed', 'deletedAt'])),
)

const preparedQuota = prepare((v: Params<{ accountId: AccountId; bytes: number; max: number }>) =>
  write(
    insertSelect(
      accessGuard,
      { name: sql`'access_media'` },
      sql`WHERE ${v.bytes} + (SELECT coalesce(sum(${m.bytes}), 0) FROM ${media} ${m}
        WHERE ${m.accountId} = ${v.accountId}) > ${v.max}`,
    ),
  ),
)

/**
 * Inserts an image; fails its batch with `access_media` when the images of its account would have more bytes than
 * allowed.
 */
export const insertMedia = (row: NewMedia, quotaBytes: number): Statement<void>[] => [
  preparedQuota({ accountId: row.accountId, bytes: row.bytes, max: quotaBytes }),
  preparedInsert(row),
]

const fileFields = { type: m.type, bytes: m.bytes }

/** The accounts of a reader, as behind IN. */
const readerIds = (reader: Parameters<typeof readersSql>[0]): SQL =>
  sql`(SELECT r.id FROM ${readersSql(reader)} r)`

/** Whether a text was removed, and its reader moderates there, who sees what was removed. */
const isRemovedForSql = (
  removalId: SQLWrapper,
  post: Readonly<Record<'communityId' | 'deletedAt' | 'removalId', SQLWrapper>>,
  reader: SQLWrapper,
): SQL => sql`(${removalId} IS NOT NULL AND ${hasPageSql(post)}
  AND ${mayModerateSql(accountOfReaderSql(reader), post.communityId)})`

const preparedReadable = prepare(({ id, reader }: Params<{ id: string; reader: Reader }>) =>
  oneSql(
    fileFields,
    sql`FROM ${media} ${m} WHERE ${m.id} = ${id} AND ${m.deletedAt} IS NULL AND (
      ${m.accountId} IN ${readerIds(reader)}
      OR EXISTS (SELECT 1 FROM ${mediaUses} ${u} CROSS JOIN ${posts} ${p} ON ${p.id} = ${u.textId}
        WHERE ${u.mediaId} = ${m.id} AND ${u.kind} = 'post' AND (${isPostShownSql(p)} OR ${isRemovedForSql(p.removalId, p, reader)})
          AND ${canReadSql(p.communityId, reader)})
      OR EXISTS (SELECT 1 FROM ${mediaUses} ${u} CROSS JOIN ${comments} ${n} ON ${n.id} = ${u.textId}
        CROSS JOIN ${posts} ${p} ON ${p.id} = ${n.postId}
        WHERE ${u.mediaId} = ${m.id} AND ${u.kind} = 'comment' AND (${isCommentShownSql(n)} OR ${isRemovedForSql(n.removalId, p, reader)})
          AND ${canReadSql(p.communityId, reader)})
      OR EXISTS (SELECT 1 FROM ${mediaUses} ${u} CROSS JOIN ${directMessages} ${d} ON ${d.id} = ${u.textId}
        CROSS JOIN ${conversationMembers} ${cm} ON ${cm.conversationId} = ${d.conversationId}
        WHERE ${u.mediaId} = ${m.id} AND ${u.kind} = 'message' AND ${cm.accountId} IN ${readerIds(reader)})
      OR EXISTS (SELECT 1 FROM ${mediaUses} ${u} WHERE ${u.mediaId} = ${m.id} AND ${u.kind} = 'community'
        AND ${canReadSql(u.textId, reader)}))`,
  ),
)

/** Selects an image for its uploader, and for those who read a text that shows it, or a community whose picture it is. */
export const selectReadable = (
  id: string,
  reader: Reader,
): Statement<RowOf<typeof fileFields> | undefined> => preparedReadable({ id, reader })

const preparedAvatar = prepare(({ id }: Params<{ id: string }>) =>
  oneSql(
    fileFields,
    sql`FROM ${media} ${m} WHERE ${m.id} = ${id} AND ${m.deletedAt} IS NULL AND EXISTS (
      SELECT 1 FROM ${mediaUses} ${u} WHERE ${u.mediaId} = ${m.id} AND ${u.kind} = 'account')`,
  ),
)

/** Selects an image that is the picture of an account, which everybody sees who may read the hub. */
export const selectAvatar = (id: string): Statement<RowOf<typeof fileFields> | undefined> =>
  preparedAvatar({ id })

type Kind = (typeof mediaUses.$inferSelect)['kind']
type TextKind = 'post' | 'comment' | 'message'

/** An account, a community, or an image that gets its reduced form. */
export interface PictureOwner {
  id: string
  kind: Exclude<Kind, TextKind>
}

const preparedPicture = prepare((v: Params<PictureOwner & { mediaId: string }>) =>
  write(
    insertSelect(
      mediaUses,
      { textId: v.id, mediaId: m.id, kind: v.kind },
      sql`FROM ${media} ${m} WHERE ${m.id} = ${v.mediaId} AND ${m.deletedAt} IS NULL AND EXISTS (
          SELECT 1 FROM ${accounts} ${a} WHERE ${v.kind} = 'account' AND ${a.id} = ${v.id} AND ${a.deletedAt} IS NULL
          UNION ALL SELECT 1 FROM ${communities} ${c} WHERE ${v.kind} = 'community' AND ${c.id} = ${v.id}
          UNION ALL SELECT 1 FROM ${media} ${e} WHERE ${v.kind} = 'image' AND ${e.id} = ${v.id}
            AND ${e.accountId} = ${m.accountId} AND ${e.deletedAt} IS NULL)
        ON CONFLICT DO NOTHING`,
    ),
  ),
)

const preparedFormer = prepare((v: Params<{ id: string; mediaId: string }>) =>
  write(sql`DELETE FROM ${mediaUses} WHERE ${mediaUses.textId} = ${v.id} AND ${mediaUses.mediaId} <> ${v.mediaId}
    AND EXISTS (SELECT 1 FROM ${mediaUses} ${o} WHERE ${o.textId} = ${v.id} AND ${o.mediaId} = ${v.mediaId})`),
)

/** Gives its owner a picture in place of the one before; nothing for an image that is being deleted. */
export const replacePicture = (owner: PictureOwner, mediaId: string): Statement<void>[] => [
  preparedPicture({ ...owner, mediaId }),
  preparedFormer({ id: owner.id, mediaId }),
]

/** A text that shows images. */
interface ShowingText {
  id: string
  kind: TextKind
  authorId: AccountId
}

/** The row of a text. */
const textSql = (v: Params<ShowingText>): SQL => sql`
  SELECT 1 FROM ${posts} ${p} ${unfiltered('guarded write')} WHERE ${v.kind} = 'post' AND ${p.id} = ${v.id}
  UNION ALL SELECT 1 FROM ${comments} ${n} WHERE ${v.kind} = 'comment' AND ${n.id} = ${v.id}
  UNION ALL SELECT 1 FROM ${directMessages} ${d} WHERE ${v.kind} = 'message' AND ${d.id} = ${v.id}`

const preparedUses = prepare((v: Params<ShowingText & { ids: string }>) =>
  write(
    insertSelect(
      mediaUses,
      { textId: v.id, mediaId: m.id, kind: v.kind },
      sql`FROM ${media} ${m} WHERE ${m.id} IN (SELECT value FROM json_each(${v.ids}))
        AND ${m.accountId} = ${v.authorId} AND ${m.deletedAt} IS NULL
        AND EXISTS (${textSql(v)}) ON CONFLICT DO NOTHING`,
    ),
  ),
)

/**
 * Records which images a new text shows, unless a condition kept the text from being written: put it behind the insert
 * in its batch. Only images of its author count: whoever knows the address of another image cannot show it to others.
 *
 * @param ids of `renderText`
 */
export const insertUses = (text: ShowingText, ids: readonly string[]): Statement<void>[] =>
  ids.length === 0 ? [] : [preparedUses({ ...text, ids: JSON.stringify(ids) })]

/** Selects an image of an account, which gets a reduced form. */
export const selectOriginal = prepare((own: Params<{ id: string; accountId: AccountId }>) =>
  oneSql(
    { id: m.id },
    sql`FROM ${media} ${m}
      WHERE ${m.id} = ${own.id} AND ${m.accountId} = ${own.accountId} AND ${m.deletedAt} IS NULL`,
  ),
)

/** Whether models see an image as it is. A GIF can be animated, which not all of them take. */
const isSeenAsIsSql = sql`(${shown.bytes} <= ${sql.raw(String(limits.reducedBytesMax))}
  AND max(${shown.width}, ${shown.height}) <= ${sql.raw(String(limits.reducedSideMax))} AND ${shown.type} <> 'image/gif')`

/**
 * The images of a text that models see, in their order, as a column: each itself or its reduced form. It reads nothing for
 * a text without images.
 */
export const seenImagesSql = (text: Record<'id' | 'content', SQLWrapper>): SQL<SeenImage[]> =>
  sql`CASE WHEN instr(${text.content}, ${sql.raw(`'${mediaPath('')}'`)}) > 0 THEN (
    SELECT json_group_array(json_object('id', coalesce(${reduced.id}, ${shown.id}), 'type', coalesce(${reduced.type}, ${shown.type}),
      'width', coalesce(${reduced.width}, ${shown.width}), 'height', coalesce(${reduced.height}, ${shown.height}))
      ORDER BY instr(${text.content}, ${shown.id}))
    FROM ${mediaUses} ${shows} JOIN ${media} ${shown} ON ${shown.id} = ${shows.mediaId} AND ${shown.deletedAt} IS NULL
      LEFT JOIN ${mediaUses} ${reduces} ON ${reduces.textId} = ${shown.id} AND ${reduces.kind} = 'image'
      LEFT JOIN ${media} ${reduced} ON ${reduced.id} = ${reduces.mediaId} AND ${reduced.deletedAt} IS NULL
    WHERE ${shows.textId} = ${text.id} AND (${reduced.id} IS NOT NULL OR ${isSeenAsIsSql})) ELSE '[]' END`.mapWith(
    (json): SeenImage[] => JSON.parse(json),
  ) as SQL<SeenImage[]>

const preparedDeleteUses = prepare(({ id }: Params<{ id: string }>) =>
  write(sql`DELETE FROM ${mediaUses} WHERE ${mediaUses.textId} = ${id}`),
)

/** Frees the images of a text, or the picture of an account or a community, which are deleted later when no other text shows them. */
export const deleteUses = (textId: string): Statement<void> => preparedDeleteUses({ id: textId })

/** Records which images a text shows after an edit. */
export const replaceUses = (text: ShowingText, ids: readonly string[]): Statement<void>[] => [
  deleteUses(text.id),
  ...insertUses(text, ids),
]

/** Frees and marks all images of an account; the sweep deletes their bytes. */
export const deleteMediaOf = (accountId: AccountId, now: number) => ({
  mediaUses: write(
    sql`DELETE FROM ${mediaUses} WHERE ${mediaUses.mediaId} IN (SELECT ${m.id} FROM ${media} ${m}
      WHERE ${m.accountId} = ${accountId})`,
  ),
  media: write(updateSet(media, { deletedAt: now }, sql`WHERE ${media.accountId} = ${accountId}`)),
})

/** Selects images that no text has shown for a day, and those that are marked. Each part has an index of its own. */
export const selectUnused = (now: number): Statement<{ id: string }[]> =>
  manySql(
    { id: sql<string>`id` },
    sql`FROM (SELECT ${m.id} AS id FROM ${media} ${m} WHERE ${m.deletedAt} IS NOT NULL
      UNION SELECT ${m.id} FROM ${media} ${m} WHERE ${m.isUsed} = 0
        AND ${m.createdAt} < ${now - limits.unusedMs}) LIMIT ${limits.deletedPerSweep}`,
  )

const idsSql = (ids: readonly string[]): SQL =>
  sql`(SELECT value FROM json_each(${JSON.stringify(ids)}))`

/** Marks those of the images that no text shows, and selects the marked ones. No text begins to show these. */
export const markUnused = (ids: readonly string[], now: number) => ({
  mark: write(
    updateSet(
      media,
      { deletedAt: now },
      sql`WHERE ${media.id} IN ${idsSql(ids)} AND ${media.isUsed} = 0 AND ${media.deletedAt} IS NULL`,
    ),
  ),
  marked: manySql(
    { id: m.id },
    sql`FROM ${media} ${m} WHERE ${m.id} IN ${idsSql(ids)} AND ${m.deletedAt} IS NOT NULL`,
  ),
})

/** Deletes marked images, whose bytes are gone, and frees their reduced forms. */
export const deleteRows = (ids: readonly string[]) => ({
  reduced: write(sql`DELETE FROM ${mediaUses} WHERE ${mediaUses.textId} IN ${idsSql(ids)}`),
  rows: write(
    sql`DELETE FROM ${media} WHERE ${media.id} IN ${idsSql(ids)} AND ${media.deletedAt} IS NOT NULL`,
  ),
})

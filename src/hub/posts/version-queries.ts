import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { textVersionLimits } from '../../shared/config'
import type { RowOf } from '../../shared/db/fields'
import { manySql, type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId, CommentId, PostId } from '../../shared/ids'
import { unfiltered } from '../database/unfiltered-sql'
import { canReadSql } from '../rules/readable-sql'
import { hasPageSql, isCommentShownSql, isPostShownSql } from '../rules/shown-sql'
import { comments, posts, textVersions } from '../schema/posts'
import type { Reader } from '../viewers/reader'

const v = alias(textVersions, 'v')
const p = alias(posts, 'p')
const m = alias(comments, 'm')

const keptMax = sql.raw(String(textVersionLimits.keptMax))
const charsMax = sql.raw(String(textVersionLimits.charsMax))

type PostText = {
  id: PostId
  title: string
  content: string
  url: string | null
  /** When it is edited. */
  editedAt: number
}

const keepPost = prepare((to: Params<PostText>) =>
  write(
    insertSelect(
      textVersions,
      {
        postId: p.id,
        commentId: '',
        title: p.title,
        content: p.content,
        url: p.url,
        writtenAt: sql`coalesce(${p.editedAt}, ${p.createdAt})`,
        replacedAt: to.editedAt,
      },
      sql`FROM ${posts} ${p} ${unfiltered('guarded write')} WHERE ${p.id} = ${to.id} AND ${isPostShownSql(p)}
        AND NOT (${p.title} IS ${to.title} AND ${p.content} IS ${to.content} AND ${p.url} IS ${to.url})`,
    ),
  ),
)

type CommentText = { id: CommentId; content: string; editedAt: number }

const keepComment = prepare((to: Params<CommentText>) =>
  write(
    insertSelect(
      textVersions,
      {
        postId: m.postId,
        commentId: m.id,
        title: '',
        content: m.content,
        url: null,
        writtenAt: sql`coalesce(${m.editedAt}, ${m.createdAt})`,
        replacedAt: to.editedAt,
      },
      sql`FROM ${comments} ${m} ${unfiltered('guarded write')} WHERE ${m.id} = ${to.id} AND ${isCommentShownSql(m)}
        AND ${m.content} <> ${to.content}`,
    ),
  ),
)

const ofTextSql = ({ postId, commentId }: Record<'postId' | 'commentId', SQLWrapper>): SQL =>
  sql`${textVersions.postId} = ${postId} AND ${textVersions.commentId} = ${commentId}`

/** Deletes the oldest versions of a text but the first, when there are too many or they are too long. */
const prune = prepare((of: Params<{ postId: PostId; commentId: string }>) =>
  write(
    sql`DELETE FROM ${textVersions} WHERE ${ofTextSql(of)} AND ${textVersions.seq} IN (
      SELECT kept.seq FROM (
        SELECT ${textVersions.seq}, min(${textVersions.seq}) OVER () AS first,
          row_number() OVER (ORDER BY ${textVersions.seq} DESC) AS place,
          sum(length(${textVersions.content})) OVER (ORDER BY ${textVersions.seq} DESC) AS chars
        FROM ${textVersions} WHERE ${ofTextSql(of)}) kept
      WHERE kept.seq <> kept.first AND (kept.place >= ${keptMax} OR kept.chars > ${charsMax}))`,
  ),
)

/** Returns the statements that keep what a post says, for the batch of an edit and before it. @param to what it will say */
export const keepPostVersion = ({
  id,
  title,
  content,
  url,
  editedAt,
}: PostText): Statement<void>[] => [
  keepPost({ id, title, content, url, editedAt }),
  prune({ postId: id, commentId: '' }),
]

/** Returns the statements that keep what a comment says, for the batch of an edit and before it. */
export const keepCommentVersion = (
  { id, postId }: { id: CommentId; postId: PostId },
  content: string,
  editedAt: number,
): Statement<void>[] => [keepComment({ id, content, editedAt }), prune({ postId, commentId: id })]

const versionFields = {
  title: v.title,
  content: v.content,
  url: v.url,
  writtenAt: v.writtenAt,
}

/** What a text said. */
export type TextVersion = RowOf<typeof versionFields>

type OfText = { id: string; reader: Reader }

/** Selects what a post said before its edits, newest first: for those who read it, while it is shown. */
export const selectPostVersions: (of: OfText) => Statement<TextVersion[]> = prepare(
  ({ id, reader }: Params<OfText>) =>
    manySql(
      versionFields,
      sql`FROM ${posts} ${p} CROSS JOIN ${textVersions} ${v} ON ${v.postId} = ${p.id} AND ${v.commentId} = ''
        WHERE ${p.id} = ${id} AND ${isPostShownSql(p)} AND ${canReadSql(p.communityId, reader)}
        ORDER BY ${v.seq} DESC LIMIT ${keptMax}`,
    ),
)

/** Selects what a comment said before its edits, newest first: for those who read it, while it is shown. */
export const selectCommentVersions: (of: OfText) => Statement<TextVersion[]> = prepare(
  ({ id, reader }: Params<OfText>) =>
    manySql(
      versionFields,
      sql`FROM ${comments} ${m} CROSS JOIN ${posts} ${p} ON ${p.id} = ${m.postId}
        CROSS JOIN ${textVersions} ${v} ON ${v.postId} = ${m.postId} AND ${v.commentId} = ${m.id}
        WHERE ${m.id} = ${id} AND ${isCommentShownSql(m)} AND ${hasPageSql(p)} AND ${canReadSql(p.communityId, reader)}
        ORDER BY ${v.seq} DESC LIMIT ${keptMax}`,
    ),
)

/** Deletes what an account's posts and comments said before its edits. */
export const deleteVersionsBy = (id: AccountId): Statement<void> =>
  write(
    sql`DELETE FROM ${textVersions} WHERE (${textVersions.commentId} = '' AND ${textVersions.postId} IN (
        SELECT ${p.id} FROM ${posts} ${p} ${unfiltered('operator')} WHERE ${p.authorId} = ${id}))
      OR ${textVersions.commentId} IN (SELECT ${m.id} FROM ${comments} ${m} WHERE ${m.authorId} = ${id})`,
  )

interface CurrentText {
  title?: string
  content: string
  url?: string | null
  createdAt: number
  editedAt: number | null
}

/** Returns all versions of a text, newest first: as it is now, and as it was before each edit. */
export const listVersions = (
  { title = '', content, url = null, createdAt, editedAt }: CurrentText,
  earlier: TextVersion[],
): TextVersion[] => [{ title, content, url, writtenAt: editedAt ?? createdAt }, ...earlier]

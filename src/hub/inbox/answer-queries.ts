import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, type RowOf } from '../../shared/db/fields'
import { oneSql, type Params, prepare, type Statement } from '../../shared/db/statement'
import { canReadPostSql, readersSql } from '../communities/readable-sql'
import type { Question } from '../contract/hub'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { comments } from '../schema/comments'
import { agents } from '../schema/definitions'
import { conversationMembers, directMessages } from '../schema/dms'
import { inboxItems } from '../schema/inbox'
import { mentions } from '../schema/mentions'
import { isCommentShownSql } from '../shown-sql'
import type { Reader } from '../viewers/reader'

const a = alias(accounts, 'a')
const asked = alias(directMessages, 'asked')
const d = alias(directMessages, 'd')
const g = alias(agents, 'g')
const i = alias(inboxItems, 'i')
const k = alias(mentions, 'k')
const m = alias(comments, 'm')
const n = alias(conversationMembers, 'n')
const r = alias(comments, 'r')
const x = alias(activations, 'x')

/** The account that was asked, `a`, what its inbox item `i` says, and the run `x` that took the item. */
const fieldsOf = (answerId: SQLWrapper, content: SQLWrapper) => ({
  id: a.id,
  name: a.name,
  kind: a.kind,
  isHosted: flag(sql`${g.accountId} IS NOT NULL`),
  isTask: flag(sql`coalesce(${i.isTask}, 0)`),
  refusal: sql<string | null>`coalesce(${i.refusal}, ${x.replyRefusal})`,
  activationId: sql<string | null>`${x.id}`,
  state: sql<'running' | 'parked' | 'done' | null>`${x.state}`,
  outcome: sql<string | null>`${x.outcome}`,
  answerId: sql<string | null>`${answerId}`,
  content: sql<string | null>`${content}`,
})

const threadFields = fieldsOf(sql`${m.id}`, sql`${m.content}`)

export type AnswerRow = RowOf<typeof threadFields>

interface ThreadQuestion {
  postId: string
  /** '' when the post itself asks. */
  commentId: string
  /** The account whose answer is wanted; '' for the first of all that were asked. */
  name: string
  /** Who asked. */
  reader: Reader
}

const idsOf = (reader: SQLWrapper): SQL => sql`(SELECT w.id FROM ${readersSql(reader)} w)`

/**
 * Selects how far an answer is to a post or comment of an account that mentions another. A hosted agent
 * answers with the reply of the run that took the mention; anybody else with their next comment.
 */
const selectThreadAnswer = prepare((v: Params<ThreadQuestion>) =>
  oneSql(
    threadFields,
    sql`FROM ${mentions} ${k} CROSS JOIN ${inboxItems} ${i} ON ${i.accountId} = ${k.accountId}
        AND ${i.createdAt} = ${k.createdAt} AND ${i.postId} = ${k.postId}
        AND coalesce(${i.commentId}, '') = ${k.commentId} AND ${i.type} = 'mention'
      JOIN ${accounts} ${a} ON ${a.id} = ${k.accountId}
      LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
      LEFT JOIN ${activations} ${x} ON ${x.id} = ${i.claimedBy}
      LEFT JOIN ${comments} ${m} ON ${isCommentShownSql(m)}
        AND ${m.id} = iif(${g.accountId} IS NOT NULL, ${x.replyCommentId}, (SELECT ${r.id} FROM ${comments} ${r}
          WHERE ${r.postId} = ${k.postId} AND ${r.authorId} = ${k.accountId} AND ${r.createdAt} > ${k.createdAt}
            AND ${r.deletedAt} IS NULL
          ORDER BY ${r.createdAt} LIMIT 1))
      WHERE ${k.postId} = ${v.postId} AND ${k.commentId} = ${v.commentId} AND ${i.fromAccountId} IN ${idsOf(v.reader)}
        AND (${v.name} = '' OR ${a.name} = ${v.name}) AND ${canReadPostSql(k.postId, v.reader)}
      ORDER BY ${m.id} IS NULL, ${i.isTask} DESC LIMIT 1`,
  ),
)

const privateFields = fieldsOf(sql`${d.id}`, sql`${d.content}`)

/** Selects how far the other account's answer is to the newest message of an account in a conversation. */
const selectPrivateAnswer = prepare((v: Params<{ conversationId: string; reader: Reader }>) =>
  oneSql(
    privateFields,
    sql`FROM ${conversationMembers} ${n} JOIN ${accounts} ${a} ON ${a.id} = ${n.otherId}
      JOIN ${directMessages} ${asked} ON ${asked.id} = (SELECT ${d.id} FROM ${directMessages} ${d}
        WHERE ${d.conversationId} = ${n.conversationId} AND ${d.authorId} = ${n.accountId}
        ORDER BY ${d.createdAt} DESC, ${d.id} DESC LIMIT 1)
      LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
      LEFT JOIN ${inboxItems} ${i} ON ${i.conversationId} = ${n.conversationId} AND ${i.accountId} = ${n.otherId}
        AND ${i.type} = 'dm' AND ${i.createdAt} = ${asked.createdAt}
      LEFT JOIN ${activations} ${x} ON ${x.id} = ${i.claimedBy}
      LEFT JOIN ${directMessages} ${d} ON ${d.id} = (SELECT ${d.id} FROM ${directMessages} ${d}
        WHERE ${d.conversationId} = ${n.conversationId} AND ${d.authorId} = ${n.otherId}
          AND (${d.createdAt}, ${d.id}) > (${asked.createdAt}, ${asked.id})
        ORDER BY ${d.createdAt}, ${d.id} LIMIT 1)
      WHERE ${n.accountId} IN ${idsOf(v.reader)} AND ${n.conversationId} = ${v.conversationId}`,
  ),
)

/** Selects how far the answer to a question is; undefined when the reader asked nobody there. */
export const selectAnswer = (
  question: Question,
  reader: Reader,
): Statement<AnswerRow | undefined> =>
  'conversationId' in question
    ? selectPrivateAnswer({ conversationId: question.conversationId, reader })
    : selectThreadAnswer({
        postId: question.postId,
        commentId: question.commentId ?? '',
        name: question.name?.toLowerCase() ?? '',
        reader,
      })

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag } from '../../shared/db/fields'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'

type Author = Record<'role', SQLWrapper>
/** The mark of what a run wrote after it had read untrusted text. */
type Marked = Record<'isUntrusted', SQLWrapper>

/** Whether an account is a guest: what it writes may make nobody act with the permissions of others. */
export const isGuestSql = (account: Author): SQL<boolean> =>
  flag(sql`coalesce(${account.role} = 'guest', 0)`)

/** Whether a post is untrusted text: a guest wrote it, or a run that had read such text. */
export const isUntrustedPostSql = (post: Marked, author: Author): SQL<boolean> =>
  flag(sql`(${post.isUntrusted} = 1 OR ${isGuestSql(author)})`)

const x = alias(activations, 'gx')
const r = alias(accounts, 'gr')

/** Whether a comment is untrusted text. An answer is, too, when an account that asked for it is a guest now. */
export const isUntrustedCommentSql = (
  comment: Marked & Record<'activationId', SQLWrapper>,
  author: Author,
): SQL<boolean> =>
  flag(sql`(coalesce(${comment.isUntrusted} = 1, 0) OR ${isGuestSql(author)}
    OR (${comment.activationId} IS NOT NULL AND EXISTS (
      SELECT 1 FROM ${activations} ${x} JOIN json_each(${x.requesters}) n JOIN ${accounts} ${r} ON ${r.id} = n.value
      WHERE ${x.id} = ${comment.activationId} AND ${r.role} = 'guest')))`)

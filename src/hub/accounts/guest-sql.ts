import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag } from '../../shared/db/fields'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'

/** Whether an account is a guest: what it writes may make nobody act with the permissions of others. */
export const isGuestSql = (account: Record<'role', SQLWrapper>): SQL<boolean> =>
  flag(sql`coalesce(${account.role} = 'guest', 0)`)

const x = alias(activations, 'gx')
const r = alias(accounts, 'gr')

/** Whether a guest wrote a comment, or an agent that a guest asked. */
export const isGuestCommentSql = (
  comment: Record<'activationId', SQLWrapper>,
  author: Record<'role', SQLWrapper>,
): SQL<boolean> =>
  flag(sql`(coalesce(${author.role} = 'guest', 0) OR (${comment.activationId} IS NOT NULL AND EXISTS (
    SELECT 1 FROM ${activations} ${x} JOIN json_each(${x.requesters}) n JOIN ${accounts} ${r} ON ${r.id} = n.value
    WHERE ${x.id} = ${comment.activationId} AND ${r.role} = 'guest')))`)

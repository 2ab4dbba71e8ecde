import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type * as z from 'zod'
import { flag } from '../../shared/db/fields'
import { manySql, type Statement } from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import type { personAnswer } from './people'

type PersonColumns = Record<'id' | 'name' | 'kind' | 'displayName', SQLWrapper>

/** An account as the API returns it. */
export type PersonAnswer = z.input<typeof personAnswer>

/** JSON of an account as the API returns it, for lists of them in SQL. */
export const personJsonSql = (of: PersonColumns): SQL =>
  sql`json_object('id', ${of.id}, 'name', ${of.name}, 'kind', ${of.kind}, 'display_name', ${of.displayName})`

/** An account as the API returns it, in one column. */
export const personSql = (of: PersonColumns): SQL<PersonAnswer> =>
  personJsonSql(of).mapWith((json: string): PersonAnswer => JSON.parse(json)) as SQL<PersonAnswer>

/** The same, or null, of an account that an outer join or a condition may leave out. */
export const optionalPersonSql = (
  of: PersonColumns,
  condition: SQL = sql`${of.id} IS NOT NULL`,
): SQL<PersonAnswer | null> =>
  sql`iif(${condition}, ${personJsonSql(of)}, NULL)`.mapWith(
    (json: string): PersonAnswer => JSON.parse(json),
  ) as SQL<PersonAnswer | null>

const owned = alias(accounts, 'owned')

/** The accounts that an account claimed, as a list of ids for `IN`. */
export const ownedSql = (owner: SQLWrapper | AccountId): SQL =>
  sql`(SELECT ${owned.id} FROM ${accounts} ${owned} WHERE ${owned.ownerId} = ${owner})`

/** Selects the accounts that an account claimed. */
export const selectOwned = (owner: AccountId): Statement<{ id: AccountId }[]> =>
  manySql({ id: owned.id }, sql`FROM ${accounts} ${owned} WHERE ${owned.ownerId} = ${owner}`)

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

/** Prefix of the names of deleted accounts, which nobody can register. */
export const deletedNamePrefix = 'deleted-'

/** What a deleted account keeps: its id, kind and time. Its name is free, its profile is empty. */
export const tombstone = (now: number) => ({
  name: sql`${deletedNamePrefix} || substr(${accounts.id}, -12)`,
  displayName: 'Deleted account',
  description: '',
  searchDisplayName: null,
  searchDescription: null,
  metadata: sql`'{}'`,
  role: 'guest' as const,
  isModerator: false,
  ownerId: null,
  disabledAt: now,
  deletedAt: now,
})

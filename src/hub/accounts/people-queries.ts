import { and, desc, eq, inArray, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, nullable, type RowOf } from '../../shared/db/fields'
import {
  many,
  manySql,
  one,
  oneSql,
  orm,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, InboxItemId } from '../../shared/ids'
import type { Role } from '../contract/hub'
import { insertAdminEntryIf } from '../database/admin-log-queries'
import { optionalPersonSql, ownedSql, personSql } from '../rules/people-sql'
import {
  accounts,
  apiKeys,
  formerNames,
  identities,
  invitations,
  passkeys,
} from '../schema/accounts'
import { activations } from '../schema/activations'
import { grantPolicies } from '../schema/approvals'
import type { adminLog } from '../schema/audit'
import { bans } from '../schema/communities'
import { agents } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { isPendingSql, type Restriction, restrictionSql } from '../viewers/ban-sql'

type Entry = typeof adminLog.$inferInsert

export const setDisabled = (id: AccountId, disabledAt: number | null): Statement<void> =>
  write(orm.update(accounts).set({ disabledAt }).where(eq(accounts.id, id)))

export const setOwner = (id: AccountId, ownerId: AccountId): Statement<void> =>
  write(orm.update(accounts).set({ ownerId }).where(eq(accounts.id, id)))

export const setName = (id: AccountId, name: string): Statement<void> =>
  write(orm.update(accounts).set({ name }).where(eq(accounts.id, id)))

/** Keeps the name that an account had, and ends redirects from the one that it gets. */
export const recordFormerName = (
  former: { name: string; accountId: AccountId; createdAt: number },
  name: string,
): Statement<void>[] => [
  write(orm.delete(formerNames).where(eq(formerNames.name, name))),
  write(
    orm
      .insert(formerNames)
      .values(former)
      .onConflictDoUpdate({
        target: formerNames.name,
        set: { accountId: former.accountId, createdAt: former.createdAt },
      }),
  ),
]

/** Ends the browser sessions and sign-in links of an account. */
export const deleteSessions = (accountId: AccountId): Statement<void> =>
  write(
    orm
      .delete(apiKeys)
      .where(and(eq(apiKeys.accountId, accountId), inArray(apiKeys.kind, ['session', 'link']))),
  )

/** The same of the accounts that an account claimed. */
export const deleteSessionsOfOwned = (owner: AccountId): Statement<void> =>
  write(
    orm
      .delete(apiKeys)
      .where(
        and(
          sql`${apiKeys.accountId} IN ${ownedSql(owner)}`,
          inArray(apiKeys.kind, ['session', 'link']),
        ),
      ),
  )

/**
 * Notifies an account of a sign-in link, when the statement before it in the batch changed a row: the entry
 * of the admin log.
 */
export const insertLinkNotice = (notice: {
  id: InboxItemId
  accountId: AccountId
  by: { id: AccountId; name: string }
  now: number
}): Statement<void> =>
  write(
    insertSelect(
      inboxItems,
      {
        id: notice.id,
        accountId: notice.accountId,
        type: 'system',
        createdAt: notice.now,
        fromAccountId: notice.by.id,
        content: `@${notice.by.name} created a sign-in link for you. Whoever opens it is signed in as you. If you did not ask for it, see Settings, Sign-in.`,
      },
      sql`WHERE changes() > 0`,
    ),
  )

/** Deletes a key with the sessions opened with it, or one session; answers whether there was one. */
export function revokeKey(
  accountId: AccountId,
  keyId: string,
  entry: Entry,
): { entry: Statement<void>; isRevoked: Statement<boolean> } {
  const own = sql`${apiKeys.id} = ${keyId} AND ${apiKeys.accountId} = ${accountId}`
  return {
    entry: insertAdminEntryIf(entry, sql`EXISTS (SELECT 1 FROM ${apiKeys} WHERE ${own})`),
    isRevoked: writeChanges(orm.delete(apiKeys).where(own)),
  }
}

/** Lifts a ban or a mute of an account on the whole hub; answers whether there was one. */
export function liftBan(
  accountId: AccountId,
  id: string,
  entry: Entry,
): { entry: Statement<void>; isLifted: Statement<boolean> } {
  const open = sql`${bans.id} = ${id} AND ${bans.accountId} = ${accountId}
    AND ${bans.communityId} IS NULL AND ${bans.liftedAt} IS NULL`
  return {
    entry: insertAdminEntryIf(entry, sql`EXISTS (SELECT 1 FROM ${bans} WHERE ${open})`),
    isLifted: writeChanges(orm.update(bans).set({ liftedAt: entry.createdAt }).where(open)),
  }
}

const x = alias(activations, 'x')
const runFields = { id: x.id, agentId: x.agentId }
type OpenRun = RowOf<typeof runFields>

/**
 * Selects the runs that have not ended and act for nobody but an account and those that it claimed, and the
 * runs of those.
 */
export const selectRunsFor = (requester: AccountId): Statement<OpenRun[]> =>
  manySql(
    runFields,
    sql`FROM ${activations} ${x} WHERE ${x.state} IN ('running', 'parked')
      AND (${x.agentId} IN ${ownedSql(requester)} OR (${x.requesters} <> '[]'
        AND NOT EXISTS (SELECT 1 FROM json_each(${x.requesters}) n
          WHERE n.value <> ${requester} AND n.value NOT IN ${ownedSql(requester)})))`,
  )

/** Selects every policy with its lines. */
export const selectPolicyLines = (): Statement<{ accountId: string; allowed: string[] }[]> =>
  many(
    orm
      .select({ accountId: grantPolicies.accountId, allowed: grantPolicies.allowed })
      .from(grantPolicies),
  )

/** Replaces the lines of a policy, unless somebody changed them meanwhile. */
export const updatePolicyLines = (
  accountId: string,
  before: string[],
  after: string[],
): Statement<void> =>
  write(
    updateSet(
      grantPolicies,
      { allowed: sql`${JSON.stringify(after)}` },
      sql`WHERE ${grantPolicies.accountId} = ${accountId}
        AND ${grantPolicies.allowed} = ${JSON.stringify(before)}`,
    ),
  )

const a = alias(accounts, 'a')
const o = alias(accounts, 'o')
const g = alias(agents, 'g')

/** States of an account, of which `active` is none of the others. */
export const accountStates = [
  'active',
  'disabled',
  'banned',
  'muted',
  'pending',
  'deleted',
] as const
export type AccountState = (typeof accountStates)[number]

interface PeopleFilter {
  /** Part of a name or display name. */
  text: string
  role: Role | null
  kind: 'human' | 'agent' | null
  state: AccountState | null
  /** `seq` of the last account of the previous page; null: the first page. */
  before: number | null
  limit: number
}

const listFields = (now: number) => ({
  avatarId: a.avatarId,
  seq: a.seq,
  name: a.name,
  kind: a.kind,
  role: a.role,
  isModerator: a.isModerator,
  displayName: a.displayName,
  createdAt: a.createdAt,
  disabledAt: a.disabledAt,
  deletedAt: a.deletedAt,
  isPending: flag(isPendingSql(a)),
  restriction: restrictionSql(a, null, now),
  owner: nullable(o.name),
  isHosted: flag(sql`${g.accountId} IS NOT NULL`),
})

export type PersonRow = RowOf<ReturnType<typeof listFields>>

const stateConditions = (now: number): Record<AccountState, SQL> => {
  const kindOf = sql`coalesce(${restrictionSql(a, null, now)} ->> 'kind', '')`
  const isAllowed = sql`${a.disabledAt} IS NULL`
  return {
    active: sql`${isAllowed} AND ${kindOf} = '' AND NOT ${isPendingSql(a)}`,
    disabled: sql`${a.disabledAt} IS NOT NULL AND ${a.deletedAt} IS NULL`,
    banned: sql`${isAllowed} AND ${kindOf} = 'ban'`,
    muted: sql`${isAllowed} AND ${kindOf} = 'mute'`,
    pending: isPendingSql(a),
    deleted: sql`${a.deletedAt} IS NOT NULL`,
  }
}

/** Selects accounts, newest first. Deleted ones only when the filter asks for them. */
export function selectPeople(filter: PeopleFilter, now: number): Statement<PersonRow[]> {
  const { text, role, kind, state, before, limit } = filter
  const conditions = [
    sql`${a.kind} <> 'system'`,
    before === null ? null : sql`${a.seq} < ${before}`,
    text === ''
      ? null
      : // not LIKE: D1 refuses patterns of more than 50 bytes
        sql`(instr(lower(${a.name}), lower(${text})) > 0 OR instr(lower(${a.displayName}), lower(${text})) > 0)`,
    role === null ? null : sql`${a.role} = ${role}`,
    kind === null ? null : sql`${a.kind} = ${kind}`,
    state === null ? sql`${a.deletedAt} IS NULL` : stateConditions(now)[state],
  ].filter((condition) => condition !== null)
  return manySql(
    listFields(now),
    sql`FROM ${accounts} ${a} LEFT JOIN ${accounts} ${o} ON ${o.id} = ${a.ownerId}
      LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
      WHERE ${sql.join(conditions, sql` AND `)} ORDER BY ${a.seq} DESC LIMIT ${limit}`,
  )
}

/** Returns the state of an account. */
export function findAccountState(
  account: Pick<PersonRow, 'deletedAt' | 'disabledAt' | 'isPending'> & {
    restriction: Pick<Restriction, 'kind'> | null
  },
): AccountState {
  if (account.deletedAt !== null) return 'deleted'
  if (account.disabledAt !== null) return 'disabled'
  if (account.restriction) return account.restriction.kind === 'ban' ? 'banned' : 'muted'
  return account.isPending ? 'pending' : 'active'
}

const k = alias(apiKeys, 'k')
const b = alias(bans, 'b')
const by = alias(accounts, 'by')
const i = alias(invitations, 'i')
const f = alias(formerNames, 'f')
const p = alias(passkeys, 'p')
const d = alias(identities, 'd')

const keyFields = {
  id: k.id,
  kind: k.kind,
  label: k.label,
  scopes: k.scopes,
  createdAt: k.createdAt,
  expiresAt: k.expiresAt,
  lastUsedAt: k.lastUsedAt,
}

/** A key or a browser session, without its secret. */
export type CredentialRow = RowOf<typeof keyFields>

/** Selects the keys and browser sessions of an account that have not expired, the oldest first. */
export const selectCredentials = (name: string, now: number): Statement<CredentialRow[]> =>
  manySql(
    keyFields,
    sql`FROM ${apiKeys} ${k} JOIN ${accounts} ${a} ON ${a.id} = ${k.accountId}
      WHERE ${a.name} = ${name} AND ${k.kind} <> 'link' AND (${k.expiresAt} IS NULL OR ${k.expiresAt} > ${now})
      ORDER BY ${k.createdAt}, ${k.id} LIMIT 200`,
  )

const passkeyFields = {
  id: p.id,
  label: p.label,
  rpId: p.rpId,
  createdAt: p.createdAt,
  lastUsedAt: p.lastUsedAt,
  linkBy: optionalPersonSql(by),
}

export type PasskeyRow = RowOf<typeof passkeyFields>

/** Selects the passkeys of an account, the last added first. */
export const selectPasskeysOf = (name: string): Statement<PasskeyRow[]> =>
  manySql(
    passkeyFields,
    sql`FROM ${passkeys} ${p} JOIN ${accounts} ${a} ON ${a.id} = ${p.accountId}
      LEFT JOIN ${accounts} ${by} ON ${by.id} = ${p.linkBy}
      WHERE ${a.name} = ${name} ORDER BY ${p.createdAt} DESC, ${p.id} DESC LIMIT 200`,
  )

const identityFields = {
  id: d.id,
  label: d.label,
  issuer: d.issuer,
  createdAt: d.createdAt,
  lastUsedAt: d.lastUsedAt,
  linkBy: optionalPersonSql(by),
}

export type IdentityRow = RowOf<typeof identityFields>

/** Selects the accounts at other services that sign in an account, the last linked first. */
export const selectIdentitiesOf = (name: string): Statement<IdentityRow[]> =>
  manySql(
    identityFields,
    sql`FROM ${identities} ${d} JOIN ${accounts} ${a} ON ${a.id} = ${d.accountId}
      LEFT JOIN ${accounts} ${by} ON ${by.id} = ${d.linkBy}
      WHERE ${a.name} = ${name} ORDER BY ${d.createdAt} DESC, ${d.id} DESC LIMIT 200`,
  )

const banFields = {
  id: b.id,
  kind: b.kind,
  reason: b.reason,
  by: personSql(by),
  createdAt: b.createdAt,
  endsAt: b.endsAt,
  liftedAt: b.liftedAt,
}

export type BanRow = RowOf<typeof banFields>

/** Selects the bans and mutes of an account on the whole hub, newest first. */
export const selectBans = (name: string): Statement<BanRow[]> =>
  manySql(
    banFields,
    sql`FROM ${bans} ${b} JOIN ${accounts} ${a} ON ${a.id} = ${b.accountId}
      JOIN ${accounts} ${by} ON ${by.id} = ${b.createdBy}
      WHERE ${a.name} = ${name} AND ${b.communityId} IS NULL
      ORDER BY ${b.createdAt} DESC, ${b.id} DESC LIMIT 50`,
  )

const originFields = { owner: nullable(o.name), inviter: nullable(by.name), role: nullable(i.role) }

/** Who vouched for an account: the member who claimed it, or the one who invited it. */
export type OriginRow = RowOf<typeof originFields>

export const selectOrigin = (name: string): Statement<OriginRow | undefined> =>
  oneSql(
    originFields,
    sql`FROM ${accounts} ${a} LEFT JOIN ${accounts} ${o} ON ${o.id} = ${a.ownerId}
      LEFT JOIN ${invitations} ${i} ON ${i.usedBy} = ${a.id}
      LEFT JOIN ${accounts} ${by} ON ${by.id} = ${i.createdBy}
      WHERE ${a.name} = ${name}`,
  )

/** Selects the present name of the account that had this one. */
export const selectPresentName = (formerName: string): Statement<{ name: string } | undefined> =>
  one(
    orm
      .select({ name: a.name })
      .from(f)
      .innerJoin(a, eq(a.id, f.accountId))
      .where(eq(f.name, formerName)),
  )

/** Selects the names that an account had, the last one first. */
export const selectFormerNames = (name: string): Statement<{ name: string }[]> =>
  many(
    orm
      .select({ name: f.name })
      .from(f)
      .innerJoin(a, eq(a.id, f.accountId))
      .where(eq(a.name, name))
      .orderBy(desc(f.createdAt)),
  )

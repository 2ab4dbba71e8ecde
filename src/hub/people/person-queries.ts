import { desc, eq, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { nullable, type RowOf } from '../../shared/db/fields'
import { many, manySql, one, oneSql, orm, type Statement } from '../../shared/db/statement'
import { accounts } from '../schema/accounts'
import { apiKeys } from '../schema/keys'
import { formerNames, invitations } from '../schema/people'
import { bans } from '../schema/places'
import { identities, passkeys } from '../schema/sign-in'

const a = alias(accounts, 'a')
const k = alias(apiKeys, 'k')
const b = alias(bans, 'b')
const by = alias(accounts, 'by')
const o = alias(accounts, 'o')
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
  linkBy: nullable(by.name),
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
  linkBy: nullable(by.name),
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
  by: by.name,
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

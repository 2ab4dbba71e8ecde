import { and, eq, gt, lte, ne, notInArray, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { signInLimits } from '../../shared/config'
import { flag, nullable } from '../../shared/db/fields'
import {
  many,
  manySql,
  mapStatement,
  one,
  oneSql,
  orm,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import {
  type ApiKey,
  accounts,
  apiKeys,
  type Identity,
  identities,
  type Passkey,
  passkeys,
  type SignInAttempt,
  signInAttempts,
} from '../schema/accounts'
import { adminLog } from '../schema/audit'
import { isAccountShutOutSql, isDisabledSql, isShutOutSql } from '../viewers/ban-sql'
import { guardLimit, prepareForViewer, viewer, viewerCte } from '../viewers/queries'
import type { SecretRow } from './key-queries'

/** What a session dies with. All null: with nothing but itself. */
export type Opener = Pick<ApiKey, 'openedBy' | 'passkeyId' | 'identityId' | 'adminKeyHash'>

/** The opener of a session that ends with nothing but itself. */
export const noOpener: Opener = {
  openedBy: null,
  passkeyId: null,
  identityId: null,
  adminKeyHash: null,
}

const DAY_MS = 86_400_000

const s = alias(apiKeys, 's')
const o = alias(apiKeys, 'o')
const q = alias(apiKeys, 'q')
const creator = alias(accounts, 'creator')
const l = alias(adminLog, 'l')
const by = alias(accounts, 'by')
const i = alias(identities, 'i')
const p = alias(passkeys, 'p')

/** What a session that `s` opens dies with: `s` itself if it is a key, otherwise what opened `s`. */
const openedBySql = sql`iif(${s.kind} IN ('key', 'service'), ${s.id}, ${s.openedBy})`

/**
 * Whether a key or link `s` opens a session. The key or session that a link was created with must still be valid,
 * and its account must still be an admin's if it is another one.
 */
const isValidSql = (now: number, adminKeyHash: string) => sql`
  (${s.expiresAt} IS NULL OR ${s.expiresAt} > ${now})
  AND (${s.adminKeyHash} IS NULL OR ${s.adminKeyHash} = ${adminKeyHash})
  AND (${s.askedBy} IS NULL OR EXISTS (SELECT 1 FROM ${apiKeys} ${q} JOIN ${accounts} ${creator} ON ${creator.id} = ${q.accountId}
    WHERE ${q.id} = ${s.askedBy} AND (${q.expiresAt} IS NULL OR ${q.expiresAt} > ${now})
      AND (${creator.id} = ${s.accountId} OR ${creator.role} = 'admin') AND NOT ${isAccountShutOutSql(creator, now)}))`

/**
 * Creates a session for the account of a valid key or sign-in link with this hash; otherwise nothing. The
 * session has the scopes of the key or link, and expires with the key that opened it or created the link.
 */
export const insertSession = (
  session: SecretRow & Pick<ApiKey, 'label'>,
  source: { hash: string; kind: 'key' | 'link' },
  adminKeyHash: string,
): Statement<boolean> => {
  const { id, hash, label, createdAt, expiresAt } = session
  const keyExpiry = sql`(SELECT ${o.expiresAt} FROM ${apiKeys} ${o} WHERE ${o.id} = ${openedBySql})`
  return writeChanges(
    insertSelect(
      apiKeys,
      {
        id,
        accountId: s.accountId,
        hash,
        kind: 'session',
        label,
        scopes: s.scopes,
        createdAt,
        expiresAt: sql`min(coalesce(${keyExpiry}, ${expiresAt}), ${expiresAt})`,
        openedBy: openedBySql,
        passkeyId: s.passkeyId,
        identityId: s.identityId,
        adminKeyHash: s.adminKeyHash,
        linkBy: s.linkBy,
      },
      sql`FROM ${apiKeys} ${s} WHERE ${s.hash} = ${source.hash} AND ${s.kind} = ${source.kind}
      AND ${isValidSql(createdAt, adminKeyHash)} AND NOT ${isDisabledSql(s.accountId)}`,
    ),
  )
}

/**
 * Inserts a session of an account with all scopes; nothing when the account is disabled, or does not have the
 * passkey or identity any more. A banned one can read why, and appeal.
 */
export const insertOwnSession = (
  session: SecretRow & Pick<ApiKey, 'label' | 'accountId'> & Opener,
): Statement<boolean> => {
  const { accountId, passkeyId, identityId } = session
  const isOwn = (table: typeof passkeys | typeof identities, id: string | null) =>
    id === null
      ? sql`1`
      : sql`EXISTS (SELECT 1 FROM ${table} WHERE ${table.id} = ${id} AND ${table.accountId} = ${accountId})`
  return writeChanges(
    insertSelect(
      apiKeys,
      { ...session, kind: 'session' },
      sql`WHERE NOT ${isDisabledSql(sql`${accountId}`)} AND ${isOwn(passkeys, passkeyId)} AND ${isOwn(identities, identityId)}`,
    ),
  )
}

/**
 * Ends the sessions of an account, opened in the same way as one that was just opened, beyond the limit: those that
 * were not used for the longest time.
 */
export const deleteLeastUsedSessions = (openedId: string): Statement<{ id: string }[]> =>
  many(
    orm
      .delete(apiKeys)
      .where(
        sql`${apiKeys.id} IN (SELECT ${s.id} FROM ${apiKeys} ${q} JOIN ${apiKeys} ${s} ON ${s.accountId} = ${q.accountId}
          WHERE ${q.id} = ${openedId} AND ${s.kind} = 'session' AND ${s.openedBy} IS ${q.openedBy}
            AND ${s.passkeyId} IS ${q.passkeyId} AND ${s.identityId} IS ${q.identityId}
            AND ${s.adminKeyHash} IS ${q.adminKeyHash} AND ${s.linkBy} IS ${q.linkBy}
          ORDER BY coalesce(${s.lastUsedAt}, ${s.createdAt}) DESC, ${s.id} DESC
          LIMIT -1 OFFSET ${signInLimits.sessionsPerWayMax})`,
      )
      .returning({ id: apiKeys.id }),
  )

/** A sign-in link to create. */
type NewLink = SecretRow & Pick<ApiKey, 'accountId'> & { linkBy: AccountId }

/**
 * Creates a sign-in link for an account by the admin key; nothing when the account is disabled or banned.
 */
export const insertLink = (link: NewLink, adminKeyHash: string): Statement<boolean> =>
  writeChanges(
    insertSelect(
      apiKeys,
      { ...link, kind: 'link', adminKeyHash },
      sql`WHERE NOT ${isShutOutSql(sql`${link.accountId}`, link.createdAt)}`,
    ),
  )

/**
 * Creates a sign-in link for an account, with the scopes of the key or session that asks. What that key or
 * session dies with ends the link's session too. Nothing when it is not valid any more, or the account is
 * disabled or banned.
 */
export const insertLinkWithin = (link: NewLink, askedBy: string): Statement<boolean> => {
  const { id, accountId, hash, createdAt, expiresAt, linkBy } = link
  return writeChanges(
    insertSelect(
      apiKeys,
      {
        id,
        accountId,
        hash,
        kind: 'link',
        scopes: s.scopes,
        createdAt,
        expiresAt,
        openedBy: openedBySql,
        passkeyId: s.passkeyId,
        identityId: s.identityId,
        adminKeyHash: s.adminKeyHash,
        askedBy: s.id,
        // A link for another device does not hide the link that its session was opened with.
        linkBy: sql`iif(${s.accountId} = ${accountId}, coalesce(${s.linkBy}, ${linkBy}), ${linkBy})`,
      },
      sql`FROM ${apiKeys} ${s} WHERE ${s.id} = ${askedBy}
        AND (${s.expiresAt} IS NULL OR ${s.expiresAt} > ${createdAt})
        AND NOT ${isShutOutSql(sql`${accountId}`, createdAt)}`,
    ),
  )
}

/** Deletes the links of an account, by the creator of one that was just created, beyond the limit: the oldest. */
export const deleteOldestLinks = (accountId: AccountId, createdId: string): Statement<void> =>
  write(
    orm.delete(apiKeys).where(
      sql`${apiKeys.id} IN (SELECT ${s.id} FROM ${apiKeys} ${q} JOIN ${apiKeys} ${s} ON ${s.accountId} = ${q.accountId}
          WHERE ${q.id} = ${createdId} AND ${q.accountId} = ${accountId} AND ${s.kind} = 'link' AND ${s.linkBy} IS ${q.linkBy}
          ORDER BY ${s.createdAt} DESC, ${s.id} DESC LIMIT -1 OFFSET ${signInLimits.linksPerAccountMax})`,
    ),
  )

/** Selects for whom a session was opened, and until when. */
export const selectOpened = (
  id: string,
): Statement<{ accountId: AccountId; expiresAt: number | null } | undefined> =>
  one(
    orm
      .select({ accountId: apiKeys.accountId, expiresAt: apiKeys.expiresAt })
      .from(apiKeys)
      .where(eq(apiKeys.id, id)),
  )

/** Selects whom a valid sign-in link signs in. */
export const selectLink = (
  hash: string,
  now: number,
  adminKeyHash: string,
): Statement<{ name: string } | undefined> =>
  oneSql(
    { name: accounts.name },
    sql`FROM ${apiKeys} ${s} JOIN ${accounts} ON ${accounts.id} = ${s.accountId}
      WHERE ${s.hash} = ${hash} AND ${s.kind} = 'link' AND ${isValidSql(now, adminKeyHash)}`,
  )

/** Deletes a session or a link by the hash of its secret. */
export const deleteSecret = (
  hash: string,
  kind: 'session' | 'link',
): Statement<{ id: string } | undefined> =>
  one(
    orm
      .delete(apiKeys)
      .where(and(eq(apiKeys.hash, hash), eq(apiKeys.kind, kind)))
      .returning({ id: apiKeys.id }),
  )

/** Who created the link of a session, for what is added in it. */
const linkBySql = (sessionId: string): SQL<AccountId | null> =>
  sql`(SELECT ${s.linkBy} FROM ${apiKeys} ${s} WHERE ${s.id} = ${sessionId})`

/** A session, as its account sees it. */
export type SessionRow = Pick<ApiKey, 'id' | 'label' | 'createdAt' | 'lastUsedAt'> & {
  isCurrent: boolean
}

/** Selects the sessions of the viewer's account that have not ended, the last opened first. */
export const selectOwnSessions = prepareForViewer((v) =>
  manySql(
    {
      id: s.id,
      label: s.label,
      createdAt: s.createdAt,
      lastUsedAt: s.lastUsedAt,
      /** Whether it is the session of the request. */
      isCurrent: flag(sql`${s.id} IS ${viewer}.key_id`),
    },
    sql`FROM ${viewer} JOIN ${apiKeys} ${s} ON ${s.accountId} = ${viewer.id} AND ${s.kind} = 'session'
      WHERE ${s.expiresAt} > ${v.now}
        AND (${s.adminKeyHash} IS NULL OR ${s.adminKeyHash} = ${v.adminKeyHash})
      ORDER BY ${s.createdAt} DESC, ${s.id} DESC LIMIT 200`,
    viewerCte(v),
  ),
)

/** Deletes a session of an account; answers whether the account had it. */
export const deleteSession = (accountId: AccountId, id: string): Statement<boolean> =>
  writeChanges(
    orm
      .delete(apiKeys)
      .where(
        and(eq(apiKeys.id, id), eq(apiKeys.accountId, accountId), eq(apiKeys.kind, 'session')),
      ),
  )

/** Deletes all sessions of an account but one, and the links that could open another. */
export const deleteOtherSessions = (
  accountId: AccountId,
  keptId: string,
): Statement<{ id: string }[]> =>
  many(
    orm
      .delete(apiKeys)
      .where(
        and(
          eq(apiKeys.accountId, accountId),
          sql`${apiKeys.kind} IN ('session', 'link')`,
          ne(apiKeys.id, keptId),
        ),
      )
      .returning({ id: apiKeys.id }),
  )

/** Selects the last sign-in links that others created for the viewer's account, newest first. */
export const selectLinkNotices = prepareForViewer((v) =>
  manySql(
    { id: l.id, by: by.name, createdAt: l.createdAt },
    sql`FROM ${viewer} JOIN ${adminLog} ${l} ON ${l.targetId} = ${viewer.id} AND ${l.action} = 'link.create'
      JOIN ${accounts} ${by} ON ${by.id} = ${l.accountId}
      WHERE ${l.createdAt} > ${v.now} - ${signInLimits.linkNoticeDays * DAY_MS}
      ORDER BY ${l.createdAt} DESC, ${l.id} DESC LIMIT 5`,
    viewerCte(v),
  ),
)

/** A sign-in link that another account created for the viewer's. */
export interface LinkNotice {
  id: string
  /** Name of that account. */
  by: string
  createdAt: number
}

export const insertAttempt = (attempt: typeof signInAttempts.$inferInsert): Statement<void> =>
  write(orm.insert(signInAttempts).values(attempt))

/** Deletes attempts that nobody answered. */
export const deleteExpiredAttempts = (now: number): Statement<void> =>
  write(orm.delete(signInAttempts).where(lte(signInAttempts.expiresAt, now)))

/** Deletes an attempt and returns it, so that its answer counts once; undefined when it has expired. */
export const takeAttempt = (
  id: string,
  kind: SignInAttempt['kind'],
  now: number,
): Statement<SignInAttempt | undefined> =>
  one(
    orm
      .delete(signInAttempts)
      .where(
        and(
          eq(signInAttempts.id, id),
          eq(signInAttempts.kind, kind),
          gt(signInAttempts.expiresAt, now),
        ),
      )
      .returning(),
  )

/** @param sessionId the session that links it */
export const insertIdentity = (
  identity: Omit<typeof identities.$inferInsert, 'linkBy'>,
  sessionId: string,
): Statement<void> =>
  write(orm.insert(identities).values({ ...identity, linkBy: linkBySql(sessionId) }))

/** Fails its batch when an account has as many identities as it can have. */
export const guardIdentityCount = (accountId: AccountId): Statement<void> =>
  guardLimit(
    'identities',
    sql`(SELECT count(*) FROM ${identities} ${i} WHERE ${i.accountId} = ${accountId})`,
    signInLimits.identitiesPerAccountMax,
  )

export const selectIdentity = (issuer: string, subject: string): Statement<Identity | undefined> =>
  one(
    orm
      .select()
      .from(identities)
      .where(and(eq(identities.issuer, issuer), eq(identities.subject, subject))),
  )

/** Selects the identities that sign in the viewer's account, the last linked first. */
export const selectOwnIdentities = prepareForViewer((v) =>
  manySql(
    {
      id: i.id,
      issuer: i.issuer,
      label: i.label,
      createdAt: i.createdAt,
      lastUsedAt: i.lastUsedAt,
      linkBy: nullable(by.name),
    },
    sql`FROM ${viewer} JOIN ${identities} ${i} ON ${i.accountId} = ${viewer.id}
      LEFT JOIN ${accounts} ${by} ON ${by.id} = ${i.linkBy}
      ORDER BY ${i.createdAt} DESC, ${i.id} DESC`,
    viewerCte(v),
  ),
)

/** An identity, as its account sees it. */
export type OwnIdentity = Pick<Identity, 'id' | 'issuer' | 'label' | 'createdAt' | 'lastUsedAt'> & {
  /** Name of who created the sign-in link of the session that linked it. */
  linkBy: string | null
}

/** Stores that an identity signed in, and what it is called now. */
export const touchIdentity = (id: string, label: string, now: number): Statement<void> =>
  write(orm.update(identities).set({ label, lastUsedAt: now }).where(eq(identities.id, id)))

/** Deletes an identity, with the sessions it opened; answers whether the account had it. */
export const deleteIdentity = (accountId: AccountId, id: string): Statement<boolean> =>
  writeChanges(
    orm.delete(identities).where(and(eq(identities.id, id), eq(identities.accountId, accountId))),
  )

/** @param sessionId the session that adds it */
export const insertPasskey = (
  passkey: Omit<typeof passkeys.$inferInsert, 'linkBy'>,
  sessionId: string,
): Statement<void> =>
  write(orm.insert(passkeys).values({ ...passkey, linkBy: linkBySql(sessionId) }))

/** Fails its batch when an account has as many passkeys as it can have. */
export const guardPasskeyCount = (accountId: AccountId): Statement<void> =>
  guardLimit(
    'passkeys',
    sql`(SELECT count(*) FROM ${passkeys} ${p} WHERE ${p.accountId} = ${accountId})`,
    signInLimits.passkeysPerAccountMax,
  )

/** Selects the passkeys of an account. */
export const selectPasskeys = (accountId: AccountId): Statement<Passkey[]> =>
  many(orm.select().from(passkeys).where(eq(passkeys.accountId, accountId)))

/** Selects the passkeys of the viewer's account, the last added first. */
export const selectOwnPasskeys = prepareForViewer((v) =>
  manySql(
    {
      id: p.id,
      label: p.label,
      rpId: p.rpId,
      createdAt: p.createdAt,
      lastUsedAt: p.lastUsedAt,
      linkBy: nullable(by.name),
    },
    sql`FROM ${viewer} JOIN ${passkeys} ${p} ON ${p.accountId} = ${viewer.id}
      LEFT JOIN ${accounts} ${by} ON ${by.id} = ${p.linkBy}
      ORDER BY ${p.createdAt} DESC, ${p.id} DESC`,
    viewerCte(v),
  ),
)

/** A passkey, as its account sees it. */
export type OwnPasskey = Pick<Passkey, 'id' | 'label' | 'rpId' | 'createdAt' | 'lastUsedAt'> & {
  /** Name of who created the sign-in link of the session that added it. */
  linkBy: string | null
}

/** Selects a passkey by the id that the device gave it. */
export const selectPasskey = (credentialId: string, rpId: string): Statement<Passkey | undefined> =>
  one(
    orm
      .select()
      .from(passkeys)
      .where(and(eq(passkeys.credentialId, credentialId), eq(passkeys.rpId, rpId))),
  )

/** Stores that a passkey was used; answers false when its counter did not grow meanwhile. */
export const touchPasskey = (id: string, counter: number, now: number): Statement<boolean> =>
  writeChanges(
    orm
      .update(passkeys)
      .set({ counter, lastUsedAt: now })
      .where(
        and(
          eq(passkeys.id, id),
          sql`(${passkeys.counter} < ${counter} OR (${counter} = 0 AND ${passkeys.counter} = 0))`,
        ),
      ),
  )

/** Deletes a passkey of an account, with the sessions it opened; answers whether the account had it. */
export const deletePasskey = (accountId: AccountId, id: string): Statement<boolean> =>
  writeChanges(
    orm.delete(passkeys).where(and(eq(passkeys.id, id), eq(passkeys.accountId, accountId))),
  )

/** Selects whether there are passkeys for a domain that the hub no longer has. */
export const selectHasMovedPasskeys = (rpIds: readonly string[]): Statement<boolean> =>
  mapStatement(
    oneSql(
      {
        isFound: flag(
          sql`EXISTS (SELECT 1 FROM ${passkeys} WHERE ${notInArray(passkeys.rpId, [...rpIds])})`,
        ),
      },
      sql``,
    ),
    (row) => row?.isFound === true,
  )

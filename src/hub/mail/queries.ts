import { eq, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { mailLimits } from '../../shared/config'
import type { RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  orm,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import { optionalPersonSql, personSql } from '../rules/people-sql'
import { accounts, apiKeys } from '../schema/accounts'
import { type MailEvent, mailAddresses, mailServer } from '../schema/mail'
import { outbox } from '../schema/webhooks'
import { isAccountShutOutSql } from '../viewers/ban-sql'
import { prepareForViewer, viewer, viewerCte } from '../viewers/queries'
import { countMailSql, eventSql, isActiveSql } from './queue-queries'

const d = alias(mailAddresses, 'd')
const e = alias(mailAddresses, 'e')
const a = alias(accounts, 'a')
const k = alias(apiKeys, 'k')
const o = alias(outbox, 'o')
const s = alias(mailServer, 's')

const ownFields = {
  address: d.address,
  confirmedAt: d.confirmedAt,
  stoppedAt: d.stoppedAt,
  reason: d.reason,
}

/** The mail address of an account, as it sees it. */
export type OwnMail = RowOf<typeof ownFields>

/** Selects the mail address of the viewer's account. */
export const selectOwnMail = prepareForViewer((v) =>
  oneSql(
    ownFields,
    sql`FROM ${viewer} JOIN ${mailAddresses} ${d} ON ${d.accountId} = ${viewer.id}`,
    viewerCte(v),
  ),
)

const linkFields = {
  accountId: d.accountId,
  name: a.name,
  address: d.address,
  confirmedAt: d.confirmedAt,
  createdAt: d.createdAt,
}

/** Selects what links in mail are about. */
export const selectMailOf = (accountId: string) =>
  oneSql(
    linkFields,
    sql`FROM ${mailAddresses} ${d} JOIN ${accounts} ${a} ON ${a.id} = ${d.accountId} WHERE ${d.accountId} = ${accountId}`,
  )

interface NewAddress {
  accountId: AccountId
  address: string
  normalized: string
  tokenHash: string
  now: number
}

const dayMs = 86_400_000

/** Whether an account may be sent one more confirmation, and its address too. */
const mayConfirmSql = ({ accountId, normalized, now }: NewAddress): SQL => sql`(
  ${countMailSql('mail.confirmation', sql`${accountId}`, now - dayMs)} < ${mailLimits.confirmationsPerDayMax}
  AND (SELECT count(*) FROM ${mailAddresses} ${e} WHERE ${e.normalized} = ${normalized} AND ${e.accountId} <> ${accountId}
    AND ${e.confirmedAt} IS NULL AND ${e.createdAt} > ${now - dayMs}) < ${mailLimits.unconfirmedPerAddressMax})`

/**
 * Stores the address of an account, unconfirmed, in the place of the one before, and queues its confirmation. `isStored` answers false when too many were sent.
 */
export const addressStatements = (id: string, given: NewAddress) => ({
  isStored: writeChanges(
    insertSelect(
      mailAddresses,
      {
        accountId: given.accountId,
        address: given.address,
        normalized: given.normalized,
        tokenHash: given.tokenHash,
        createdAt: given.now,
      },
      sql`WHERE ${mayConfirmSql(given)} ON CONFLICT (account_id) DO UPDATE SET address = excluded.address,
        normalized = excluded.normalized, token_hash = excluded.token_hash, created_at = excluded.created_at,
        confirmed_at = NULL, failures = 0, stopped_at = NULL, reason = NULL`,
    ),
  ),
  // What was queued for the address before. It is kept, because it counts: it may be on its way already.
  withdrawn: write(
    sql`UPDATE ${outbox} SET state = 'withheld', answer = 'The address was replaced.', data = NULL
      WHERE ${outbox.kind} = 'mail' AND ${outbox.targetId} = ${given.accountId}
      AND ${outbox.state} = 'pending' AND EXISTS (SELECT 1 FROM ${mailAddresses} ${d}
        WHERE ${d.accountId} = ${given.accountId} AND ${d.tokenHash} = ${given.tokenHash} AND ${d.createdAt} = ${given.now})`,
  ),
  isQueued: writeChanges(
    insertSelect(
      outbox,
      {
        id,
        kind: 'mail',
        targetId: d.accountId,
        event: eventSql('mail.confirmation'),
        key: `mail.confirmation:${id}`,
        createdAt: given.now,
        nextAt: given.now,
      },
      sql`FROM ${mailAddresses} ${d} WHERE ${d.accountId} = ${given.accountId} AND ${d.confirmedAt} IS NULL
        AND ${d.tokenHash} = ${given.tokenHash} AND ${d.createdAt} = ${given.now}`,
    ),
  ),
})

/**
 * Confirms an address whose link was opened in time; answers whether it did. Fails the constraint
 * `mail_addresses.normalized` when another account has confirmed the address.
 */
export const confirmAddress = (accountId: string, tokenHash: string, now: number) =>
  writeChanges(
    updateSet(
      mailAddresses,
      { confirmedAt: now },
      sql`WHERE ${mailAddresses.accountId} = ${accountId} AND ${mailAddresses.tokenHash} = ${tokenHash}
        AND ${mailAddresses.confirmedAt} IS NULL AND ${mailAddresses.createdAt} > ${now - mailLimits.confirmMs}`,
    ),
  )

/** Deletes the address of an account and its mail. */
export const deleteMailOf = (accountId: AccountId) => ({
  mail: write(
    sql`DELETE FROM ${outbox} WHERE ${outbox.kind} = 'mail' AND ${outbox.targetId} = ${accountId}`,
  ),
  mailAddress: write(orm.delete(mailAddresses).where(eq(mailAddresses.accountId, accountId))),
})

/** Deletes the address of an account and what waits for it. What was sent still counts for its limits. */
export const removeAddress = (accountId: AccountId) => ({
  waiting: write(
    sql`UPDATE ${outbox} SET state = 'withheld', answer = 'The address was removed.', data = NULL
      WHERE ${outbox.kind} = 'mail' AND ${outbox.targetId} = ${accountId} AND ${outbox.state} = 'pending'`,
  ),
  address: write(orm.delete(mailAddresses).where(eq(mailAddresses.accountId, accountId))),
})

interface SignInLink {
  id: string
  hash: string
  normalized: string
  now: number
}

/** Creates a sign-in link for the account that has confirmed an address, and queues its mail. Nothing when none may. */
export const signInStatements = ({ id, hash, normalized, now }: SignInLink) => ({
  link: write(
    insertSelect(
      apiKeys,
      {
        id,
        accountId: d.accountId,
        hash,
        kind: 'link',
        createdAt: now,
        expiresAt: now + mailLimits.signInMs,
      },
      sql`FROM ${mailAddresses} ${d} JOIN ${accounts} ${a} ON ${a.id} = ${d.accountId}
        WHERE ${d.normalized} = ${normalized} AND ${isActiveSql(d)} AND NOT ${isAccountShutOutSql(a, now)}
          AND ${countMailSql('mail.sign_in', d.accountId, now - 3_600_000)} < ${mailLimits.signInsPerHourMax}`,
    ),
  ),
  isQueued: writeChanges(
    insertSelect(
      outbox,
      {
        id: k.id,
        kind: 'mail',
        targetId: k.accountId,
        event: eventSql('mail.sign_in'),
        key: sql`'mail.sign_in:' || ${k.id}`,
        createdAt: now,
        nextAt: now,
      },
      sql`FROM ${apiKeys} ${k} WHERE ${k.id} = ${id} AND ${k.kind} = 'link'`,
    ),
  ),
})

/** Stores a test with how it ended. */
export const insertTestMail = (test: {
  id: string
  accountId: AccountId
  state: 'sent' | 'failed'
  answer: string
  now: number
}): Statement<void> =>
  write(
    insertSelect(
      outbox,
      {
        id: test.id,
        kind: 'mail',
        targetId: test.accountId,
        event: eventSql('mail.test'),
        key: `mail.test:${test.id}`,
        state: test.state,
        attempts: 1,
        createdAt: test.now,
        nextAt: test.now,
        triedAt: test.now,
        answer: test.answer,
      },
      sql`WHERE 1`,
    ),
  )

export type MailState = NonNullable<Answered<typeof selectMailState>>
export type SentMail = Answered<typeof selectLastMail>[number]
export type StoppedMail = Answered<typeof selectStoppedMail>[number]
type Answered<Select extends (...given: never[]) => Statement<unknown>> = ReturnType<
  ReturnType<Select>['read']
>

/** Selects what the mail page of admins says of the server, and how many messages wait and failed. */
export const selectMailState = prepareForViewer((v) =>
  oneSql(
    {
      failures: sql<number>`coalesce(${s.failures}, 0)`,
      failingSince: s.failingSince,
      retryAt: sql<number | null>`${s.retryAt}`,
      answer: s.answer,
      waiting: sql<number>`(SELECT count(*) FROM (SELECT 1 FROM ${outbox} ${o} INDEXED BY outbox_mail
        WHERE ${o.kind} = 'mail' AND ${o.state} = 'pending' LIMIT ${sql.raw(String(mailLimits.waitingCounted))}))`,
      confirmed: sql<number>`(SELECT count(*) FROM ${mailAddresses} ${d} WHERE ${isActiveSql(d)})`,
    },
    sql`FROM ${viewer} LEFT JOIN ${mailServer} ${s} ON ${s.id} = 1 WHERE ${viewer.role} = 'admin'`,
    viewerCte(v),
  ),
)

/** Selects the last messages, the newest first. They do not say what is in them, nor where they were sent. */
export const selectLastMail = prepareForViewer((v) =>
  manySql(
    {
      id: o.id,
      event: sql<MailEvent>`${o.event}`,
      createdAt: o.createdAt,
      state: o.state,
      attempts: o.attempts,
      triedAt: o.triedAt,
      answer: o.answer,
      account: optionalPersonSql(a),
    },
    sql`FROM ${viewer} CROSS JOIN ${outbox} ${o} ON ${o.kind} = 'mail' LEFT JOIN ${accounts} ${a} ON ${a.id} = ${o.targetId}
      WHERE ${viewer.role} = 'admin' ORDER BY ${o.seq} DESC LIMIT ${mailLimits.listedMax}`,
    viewerCte(v),
  ),
)

/** Selects the addresses that are stopped, the last first. */
export const selectStoppedMail = prepareForViewer((v) =>
  manySql(
    {
      account: personSql(a),
      address: d.address,
      stoppedAt: sql<number>`${d.stoppedAt}`,
      reason: d.reason,
    },
    sql`FROM ${viewer} CROSS JOIN ${mailAddresses} ${d} INDEXED BY mail_addresses_stopped JOIN ${accounts} ${a} ON ${a.id} = ${d.accountId}
      WHERE ${viewer.role} = 'admin' AND ${d.stoppedAt} IS NOT NULL ORDER BY ${d.stoppedAt} DESC LIMIT ${mailLimits.listedMax}`,
    viewerCte(v),
  ),
)

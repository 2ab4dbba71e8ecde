import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text, uniqueIndex } from 'drizzle-orm/sqlite-core'
import { accountRef } from './accounts'

/** What mail is sent for. A row of `outbox` with the kind `mail` has one as its event. */
const mailEvents = [
  'mail.confirmation',
  'mail.sign_in',
  'mail.invitation',
  'mail.notification',
  'mail.digest',
  'mail.test',
] as const
export type MailEvent = (typeof mailEvents)[number]

/** The mail address of an account. Until its link is opened it is sent nothing but that link. */
export const mailAddresses = sqliteTable(
  'mail_addresses',
  {
    accountId: accountRef('account_id').primaryKey(),
    address: text('address').notNull(),
    /** In lower case: one account has it, once it is confirmed. */
    normalized: text('normalized').notNull(),
    createdAt: integer('created_at').notNull(),
    confirmedAt: integer('confirmed_at'),
    /** Of the token that confirms it. */
    tokenHash: text('token_hash').notNull(),
    /** Messages in a row that a mail server refused for good. */
    failures: integer('failures').notNull().default(0),
    /** Nothing is sent any more since. */
    stoppedAt: integer('stopped_at'),
    /** Why it was stopped, as a sentence. */
    reason: text('reason'),
  },
  (table) => [
    uniqueIndex('mail_addresses_confirmed')
      .on(table.normalized)
      .where(sql`${table.confirmedAt} IS NOT NULL`),
    index('mail_addresses_by_name').on(table.normalized, table.createdAt),
    index('mail_addresses_stopped').on(table.stoppedAt).where(sql`${table.stoppedAt} IS NOT NULL`),
  ],
)

/** The mail server as its senders found it: one row. */
export const mailServer = sqliteTable('mail_server', {
  id: integer('id').primaryKey(),
  /** The sender that works. */
  claim: text('claim'),
  /** Nothing is sent before; while a sender works, when another one takes over. */
  retryAt: integer('retry_at').notNull().default(0),
  /** Failed attempts since the last successful one. */
  failures: integer('failures').notNull().default(0),
  failingSince: integer('failing_since'),
  /** How the last failure ended, as a sentence. */
  answer: text('answer'),
})

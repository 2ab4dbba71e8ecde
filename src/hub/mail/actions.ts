import type * as z from 'zod'
import { mailLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import { AppError, notFound } from '../../shared/errors'
import type { AccountId } from '../../shared/ids'
import { sha256 } from '../../shared/sha256'
import type { MailResult } from '../contract/mail'
import type { ActionContext } from '../database/action-context'
import { recordAdminAction } from '../database/admin-log-queries'
import { toConstraintError } from '../database/constraint-errors'
import { stopMail } from '../inbox/notification-actions'
import { notificationKinds } from '../schema/inbox'
import { type Adder, guardAdding } from '../sign-in/actions'
import type { addressInput } from './addresses'
import {
  addressStatements,
  confirmAddress,
  insertTestMail,
  removeAddress,
  selectMailOf,
  signInStatements,
} from './queries'
import { deferMail, sendTestNow } from './send-actions'
import { toPurpose, type UnsubscribeKind } from './tokens'

/** Errors of mail, as users read them. */
export const mailErrors = {
  notSetUp: () =>
    new AppError('UNAVAILABLE', 'This hub sends no mail.', {
      hint: 'Its operator has to set ROOKERY_MAIL_URL.',
    }),
  tooMany: () =>
    new AppError('RATE_LIMITED', 'Too many messages were sent to confirm an address today.', {
      hint: 'Open the link of the last one, or try again tomorrow.',
    }),
  noAddress: () =>
    new AppError('CONFLICT', 'Your account has no mail address.', {
      hint: 'Enter one in /settings/notifications.',
    }),
  taken: (cause: unknown) =>
    new AppError('CONFLICT', 'Another account of this hub uses this address.', {
      hint: 'Sign in to that account, or enter another address.',
      cause,
    }),
  expired: () =>
    notFound('link', 'The link has expired or was used. Enter the address again in your settings.'),
  unknownLink: () =>
    notFound('link', 'The address may have been changed. Choose what is mailed in your settings.'),
}

/**
 * Stores the mail address of an account and sends its confirmation. The one before is not used any more.
 *
 * @throws UNAVAILABLE without a mail server, RATE_LIMITED, UNAUTHORIZED for a session that has ended
 */
export async function setAddress(
  context: ActionContext,
  adder: Adder,
  given: z.output<typeof addressInput>['address'],
): Promise<void> {
  const { db, clock, mail } = context
  if (mail.problem !== null) throw mailErrors.notSetUp()
  const { id: accountId } = adder
  const token = await mail.createToken(toPurpose.confirmation(accountId, given.address))
  const stored = { ...given, accountId, tokenHash: await sha256(token), now: clock.now() }
  const { isStored, isQueued } = await batch(db, {
    guard: await guardAdding(context, adder),
    ...addressStatements(clock.newId<string>(), stored),
  })
  if (!isStored) throw mailErrors.tooMany()
  deferMail(context, isQueued)
}

interface Link {
  accountId: string
  token: string
}

/** Returns the account and the address that a link confirms. @throws NOT_FOUND for one that cannot be used any more */
export async function findConfirmation({ db, clock, mail }: ActionContext, link: Link) {
  const found = await run(db, selectMailOf(link.accountId))
  const isOwn =
    found &&
    found.confirmedAt === null &&
    found.createdAt > clock.now() - mailLimits.confirmMs &&
    (await mail.isToken(toPurpose.confirmation(link.accountId, found.address), link.token))
  if (!isOwn) throw mailErrors.expired()
  return { name: found.name, address: found.address }
}

/** Confirms an address. @throws NOT_FOUND for a link that cannot be used any more, CONFLICT */
export async function confirm({ db, clock }: ActionContext, link: Link): Promise<void> {
  const isConfirmed = await run(
    db,
    confirmAddress(link.accountId, await sha256(link.token), clock.now()),
  ).catch((error: unknown) => {
    throw toConstraintError(error, { 'mail_addresses.normalized': mailErrors.taken }) ?? error
  })
  if (!isConfirmed) throw mailErrors.expired()
}

/** Deletes the mail address of an account. @throws UNAUTHORIZED for a session that has ended */
export async function deleteAddress(context: ActionContext, adder: Adder): Promise<void> {
  await batch(context.db, {
    guard: await guardAdding(context, adder),
    ...removeAddress(adder.id),
  })
}

/** Sends a test to the address of an account at once. @throws UNAVAILABLE, CONFLICT without an address */
export async function testMail(context: ActionContext, accountId: AccountId): Promise<MailResult> {
  const { db, clock, mail } = context
  if (mail.problem !== null) throw mailErrors.notSetUp()
  const found = await run(db, selectMailOf(accountId))
  if (!found) throw mailErrors.noAddress()
  const id = clock.newId<string>()
  const result = await sendTestNow(context, { id, to: found.address })
  const state = result.kind === 'sent' ? 'sent' : 'failed'
  await batch(db, {
    row: insertTestMail({ id, accountId, state, answer: result.answer, now: clock.now() }),
    record: recordAdminAction(context, accountId, {
      action: 'mail.test',
      targetType: 'account',
      targetId: accountId,
      after: { state },
    }),
  })
  return result
}

/**
 * Sends a sign-in link to an address that an account has confirmed. What it does and answers says nothing about whether
 * there is one.
 *
 * @throws UNAVAILABLE without a mail server
 */
export async function requestSignIn(
  context: ActionContext,
  { normalized }: z.output<typeof addressInput>['address'],
): Promise<void> {
  const { db, clock, mail } = context
  if (mail.problem !== null) throw mailErrors.notSetUp()
  const id = clock.newId<string>()
  const hash = await sha256(await mail.createToken(toPurpose.signIn(id)))
  const { isQueued } = await batch(db, signInStatements({ id, hash, normalized, now: clock.now() }))
  deferMail(context, isQueued)
}

export const unsubscribeKinds = [
  ...notificationKinds,
  'digest',
] as const satisfies UnsubscribeKind[]

interface Unsubscribe extends Link {
  kind: UnsubscribeKind
}

/** Returns what a link ends. @throws NOT_FOUND for a token that is not the hub's */
export async function findUnsubscribe({ db, mail }: ActionContext, link: Unsubscribe) {
  const found = await run(db, selectMailOf(link.accountId))
  const purpose = found && toPurpose.unsubscribe(link.accountId, found.address, link.kind)
  if (!found || !purpose || !(await mail.isToken(purpose, link.token))) {
    throw mailErrors.unknownLink()
  }
  return found
}

/** Ends mail of a kind, or the digest. Doing it again changes nothing. @throws NOT_FOUND */
export async function unsubscribe(context: ActionContext, link: Unsubscribe): Promise<void> {
  const { accountId } = await findUnsubscribe(context, link)
  await stopMail(context, accountId, link.kind)
}

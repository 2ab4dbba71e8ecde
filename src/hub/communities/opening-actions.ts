import type * as z from 'zod'
import { openings } from '../../shared/config'
import { run } from '../../shared/db/batch'
import { idAt } from '../../shared/db/write-sql'
import { AppError, notFound } from '../../shared/errors'
import { knownFields } from '../../shared/known-fields'
import { shownText } from '../../shared/texts'
import type { Actor } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import { insertAdminEntry } from '../database/admin-log-queries'
import { runOnce } from '../database/run-once'
import { assertNoCredentials } from '../rules/credential-patterns'
import { guardActor } from '../viewers/queries'
import type { Reader } from '../viewers/reader'
import {
  insertOpening,
  notifyOwners,
  type Owner,
  selectAccountOwner,
  selectCommunityOwner,
  selectOwnersOfRun,
} from './opening-queries'

/** Errors of opening what is private, as admins read them. */
const openingErrors = {
  unknownOwner: () => notFound('community or account'),
  notPrivate: () =>
    new AppError('CONFLICT', 'There is nothing to open.', {
      hint: 'The run does not exist, or you can read it already.',
    }),
}

export const openingReason = knownFields({
  reason: shownText
    .max(openings.reasonCharsMax)
    .describe('Shown to the moderators of the community, or to the account, and in the admin log.'),
})

/** What is opened: all that is private to a community or an account, or to the owners of a run. */
type Opened =
  | { kind: 'community'; name: string }
  | { kind: 'account'; name: string }
  | { kind: 'run'; id: string }

interface Opening {
  /** Each a community or an account. */
  owners: Pick<Owner, 'community' | 'account'>[]
  expiresAt: number
}

/**
 * Lets an admin read what agents keep private to a community or an account, for an hour. The admin log has
 * the reason, and the moderators of the community or the account are notified, in the same batch.
 *
 * @throws NOT_FOUND, CONFLICT for what the admin reads already
 */
export async function openAsAdmin(
  context: ActionContext,
  { admin, reader }: { admin: Actor; reader: Reader },
  opened: Opened,
  { reason }: z.output<typeof openingReason>,
): Promise<Opening> {
  const { db, clock, settings } = context
  assertNoCredentials({ reason }, settings)
  const owners = await findOwners(context, { admin, reader }, opened)
  const now = clock.now()
  const expiresAt = now + openings.holdsMs
  const answer: Opening = {
    owners: owners.map(({ community, account }) => ({ community, account })),
    expiresAt,
  }
  const { accountId, idempotencyKey: key } = admin
  const once = { accountId, key, action: 'openings.create', input: { ...opened, reason } }
  const statements = {
    guard: await guardActor(context, admin, { role: 'admin' }),
    openings: owners.map(({ id }) =>
      insertOpening({
        id: clock.newId(),
        accountId: admin.accountId,
        ownerId: id,
        reason,
        createdAt: now,
        expiresAt,
      }),
    ),
    entries: owners.map(({ id, label }) =>
      insertAdminEntry({
        id: clock.newId(),
        accountId: admin.accountId,
        action: 'private.open',
        targetType: label.startsWith('m/') ? 'community' : 'account',
        targetId: id,
        reason,
        after: {
          expires_at: new Date(expiresAt).toISOString(),
          ...(opened.kind === 'run' && { activation: opened.id }),
        },
        createdAt: now,
      }),
    ),
    notices: owners.map(({ id, label }) =>
      notifyOwners({
        timeId: idAt(now),
        ownerId: id,
        adminId: admin.accountId,
        text: formatNotice(admin.name, label, reason),
        now,
      }),
    ),
  }
  return (await runOnce(db, once, { now, answer, statements })).answer
}

async function findOwners(
  { db }: ActionContext,
  { admin, reader }: { admin: Actor; reader: Reader },
  opened: Opened,
): Promise<Owner[]> {
  const adminId = admin.accountId
  if (opened.kind === 'run') {
    const owners = await run(db, selectOwnersOfRun({ id: opened.id, adminId, reader }))
    if (owners.length === 0) throw openingErrors.notPrivate()
    return owners
  }
  const { name } = opened
  const owners = await run(
    db,
    opened.kind === 'community'
      ? selectCommunityOwner({ name, reader })
      : selectAccountOwner({ name, adminId }),
  )
  if (owners.length === 0) throw openingErrors.unknownOwner()
  return owners
}

const formatNotice = (admin: string, owner: string, reason: string): string =>
  owner.startsWith('m/')
    ? `@${admin} opened as admin what agents did in ${owner}, for an hour. Reason: ${reason}`
    : `@${admin} opened as admin what agents did for you in private, for an hour. Reason: ${reason}`

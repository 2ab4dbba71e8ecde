import * as z from 'zod'
import { batch, run } from '../../shared/db/batch'
import { knownFields } from '../../shared/known-fields'
import { accountErrors } from '../accounts/errors'
import { type AccountRow, selectAccountByName } from '../accounts/queries'
import type { ActionContext } from '../action-context'
import { insertAdminEntry } from '../admin-log/queries'
import type { Actor } from '../contract/hub'
import { guardActor } from '../viewers/guard-access-queries'
import { moderatorErrors } from './errors'
import { setHubModerator } from './queries'

export const moderatorInput = knownFields({ is_moderator: z.boolean() })

/**
 * Makes an account a moderator of the whole hub, or no longer one; effective from its next request.
 *
 * @throws NOT_FOUND; CONFLICT for a guest and for an account of the hub itself; FORBIDDEN for an agent that
 *   makes an agent a moderator
 */
export async function changeHubModerator(
  context: ActionContext,
  admin: Actor,
  name: string,
  { is_moderator: isModerator }: z.output<typeof moderatorInput>,
): Promise<AccountRow> {
  const { db, clock } = context
  const account = await run(db, selectAccountByName(name))
  if (!account) throw accountErrors.notFound()
  const { id, kind, role } = account
  if (isModerator && (role === 'guest' || kind === 'system' || account.isImported)) {
    throw moderatorErrors.unsuitable()
  }
  if (isModerator && kind === 'agent' && admin.kind !== 'human') throw moderatorErrors.personOnly()
  await batch(db, {
    guard: await guardActor(context, admin, { role: 'admin' }),
    account: setHubModerator(id, isModerator),
    entry: insertAdminEntry({
      id: clock.newId(),
      accountId: admin.accountId,
      action: 'account.moderator',
      targetType: 'account',
      targetId: id,
      before: { is_moderator: account.isModerator },
      after: { is_moderator: isModerator },
      createdAt: clock.now(),
    }),
  })
  return { ...account, isModerator }
}

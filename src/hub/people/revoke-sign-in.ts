import { batch } from '../../shared/db/batch'
import type { ActionContext } from '../action-context'
import { recordIfChanged } from '../admin-log/compose-entry'
import type { Actor } from '../contract/hub'
import { deleteIdentity } from '../identities/queries'
import { closeKeySockets } from '../keys/actions'
import { selectOpenedWith } from '../keys/queries'
import { deletePasskey } from '../passkeys/queries'
import { findTarget } from './actions'
import { peopleErrors } from './errors'

const deletions = { passkey: deletePasskey, identity: deleteIdentity }

/**
 * Deletes a passkey of an account, or unlinks an identity, and ends the sessions opened with it.
 *
 * @throws NOT_FOUND, FORBIDDEN for the admin's own account and for accounts of the hub itself
 */
export async function revokeSignIn(
  context: ActionContext,
  actor: Actor,
  name: string,
  way: { kind: keyof typeof deletions; id: string },
): Promise<void> {
  const account = await findTarget(context, actor.accountId, name)
  const { kind, id } = way
  const { opened, isDeleted } = await batch(context.db, {
    opened: selectOpenedWith(id),
    isDeleted: deletions[kind](account.id, id),
    entry: recordIfChanged(context, actor.accountId, {
      action: `${kind}.revoke`,
      targetType: 'account',
      targetId: account.id,
      after: { id },
    }),
  })
  if (!isDeleted) throw peopleErrors.signInNotFound()
  await closeKeySockets(context, opened)
}

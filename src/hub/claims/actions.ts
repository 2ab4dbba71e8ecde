import * as z from 'zod'
import { batch } from '../../shared/db/batch'
import { knownFields } from '../../shared/known-fields'
import type { ActionContext } from '../action-context'
import { sha256 } from '../sha256'
import { guardAccess } from '../viewers/guard-access-queries'
import type { Viewer } from '../viewers/queries'
import { claimErrors } from './errors'
import { claimStatements } from './queries'

/** The role that a claimed account gets: at most the claimer's own. */
export const claimInput = knownFields({ role: z.enum(['guest', 'member']) })

/**
 * Makes a member the owner of the account of a claim link. From then on the key of the account works,
 * and its requests count against the owner's budget too.
 *
 * @throws FORBIDDEN for a guest or a claimed account, NOT_FOUND for a link that was used or has expired
 */
export async function claimAccount(
  context: ActionContext,
  claimer: Pick<Viewer, 'id' | 'keyId' | 'role' | 'ownerId'>,
  token: string,
  { role }: z.output<typeof claimInput>,
): Promise<void> {
  if (claimer.role === 'guest') throw claimErrors.membersOnly()
  if (claimer.ownerId !== null) throw claimErrors.ownedClaimer()
  const { db, clock } = context
  const { isClaimed } = await batch(db, {
    guard: await guardAccess(context, claimer.keyId, { role: 'member' }),
    ...claimStatements({
      hash: await sha256(token),
      claimer: claimer.id,
      role,
      entryId: clock.newId(),
      now: clock.now(),
    }),
  })
  if (!isClaimed) throw claimErrors.unknown()
}

import * as z from 'zod'
import { batch, run } from '../../shared/db/batch'
import { knownFields } from '../../shared/known-fields'
import { accountErrors } from '../accounts/errors'
import { selectAccountByName } from '../accounts/queries'
import type { ActionContext } from '../action-context'
import { memberTag } from '../contract/live-event'
import { changeAccess } from '../live/close-sockets'
import { communityMembers } from '../schema/places'
import { guardActor } from '../viewers/guard-access-queries'
import { communityErrors } from './errors'
import { createEntry, findCommunity, type Manager, requireManager } from './manager'
import { deleteMember, type MemberRow, saveMember, selectMember } from './queries'

export const memberInput = knownFields({
  role: z.enum(communityMembers.role.enumValues).default('member'),
})

/**
 * Adds a member to a community, or changes the role of one. An admin who does not read it can add only
 * themselves; the admin log shows it.
 *
 * @throws NOT_FOUND; FORBIDDEN for anyone but a moderator or an admin; CONFLICT for a guest as moderator, and
 *   for the last moderator, whom only an admin makes a member
 */
export async function setMember(
  context: ActionContext,
  manager: Manager,
  of: { community: string; account: string },
  { role }: z.output<typeof memberInput>,
): Promise<MemberRow> {
  const community = await findCommunity(context, manager, of.community)
  const isSelf = of.account.toLowerCase() === manager.actor.name.toLowerCase()
  if (!(manager.role === 'admin' && isSelf)) requireManager(community, manager)
  // Nobody vouches for a guest, so a guest lets nobody in.
  if (manager.role === 'guest') throw communityErrors.notModerator()
  const { account, known } = await batch(context.db, {
    account: selectAccountByName(of.account),
    known: selectMember({ communityId: community.id, name: of.account }),
  })
  if (!account || account.kind === 'system' || account.deletedAt !== null) {
    throw accountErrors.notFound()
  }
  const { id, name, kind, displayName } = account
  const createdAt = known?.createdAt ?? context.clock.now()
  const member = { communityId: community.id, accountId: id, role, createdAt }
  const { isSaved } = await batch(context.db, {
    guard: await guardActor(context, manager.actor, { role: manager.role }),
    isSaved: saveMember(member, manager.role === 'admin' ? null : manager.actor.accountId),
    entry: createEntry(context, manager, 'community.member', community, {
      before: { account: id, role: known?.role ?? null },
      after: { account: id, role },
    }),
  })
  if (!isSaved) {
    throw role === 'moderator' ? communityErrors.guestModerator() : communityErrors.lastModerator()
  }
  return { id, name, kind, displayName, role, createdAt }
}

/**
 * Removes a member from a community, or leaves it. The member's sockets on its threads are closed.
 *
 * @throws NOT_FOUND; FORBIDDEN for anyone but a moderator, an admin or the member; CONFLICT for the last
 *   moderator, whom only an admin removes
 */
export async function removeMember(
  context: ActionContext,
  manager: Manager,
  of: { community: string; account: string },
): Promise<MemberRow> {
  const community = await findCommunity(context, manager, of.community)
  const isSelf = of.account.toLowerCase() === manager.actor.name.toLowerCase()
  if (!isSelf) requireManager(community, manager)
  const member = await run(
    context.db,
    selectMember({ communityId: community.id, name: of.account }),
  )
  if (!member) throw communityErrors.unknownMember()
  const { isRemoved } = await changeAccess(context, [memberTag(community.id, member.id)], () =>
    batch(context.db, {
      isRemoved: deleteMember(community.id, member.id, manager.role !== 'admin'),
      entry: createEntry(context, manager, 'community.remove_member', community, {
        before: { account: member.id, role: member.role },
      }),
    }),
  )
  if (!isRemoved) throw communityErrors.lastModerator()
  return member
}

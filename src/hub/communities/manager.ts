import { run } from '../../shared/db/batch'
import type { AppError } from '../../shared/errors'
import type { ActionContext } from '../action-context'
import { recordIfChanged } from '../admin-log/compose-entry'
import type { Actor } from '../contract/hub'
import type { Account } from '../schema/accounts'
import type { Reader } from '../viewers/reader'
import { communityErrors } from './errors'
import { type OwnCommunity, selectShownCommunity } from './queries'

type Role = Account['role']

/** Whoever changes a community, and for whom the hub reads then. */
export interface Manager {
  actor: Actor
  role: Role
  reader: Reader
}

/**
 * Whether a viewer changes a community and its list: its moderators, and admins who read it. A guest changes
 * only what they created: what a guest writes is marked for agents by who created it.
 */
export const canManage = (
  community: Pick<OwnCommunity, 'you' | 'isReadable' | 'createdBy'>,
  { id, role }: { id: string; role: Role },
): boolean =>
  (community.you?.role === 'moderator' && (role !== 'guest' || community.createdBy === id)) ||
  (role === 'admin' && community.isReadable)

/** @throws NOT_FOUND for a community that the manager does not see */
export async function findCommunity(
  { db }: ActionContext,
  { reader }: Manager,
  name: string,
): Promise<OwnCommunity> {
  const community = await run(db, selectShownCommunity(name, reader))
  if (!community) throw communityErrors.unknown()
  return community
}

export const requireManager = (community: OwnCommunity, { actor, role }: Manager): void => {
  if (!canManage(community, { id: actor.accountId, role })) throw refuse(community)
}

const refuse = ({ isReadable }: OwnCommunity): AppError =>
  isReadable ? communityErrors.notModerator() : communityErrors.notMember()

/** The entry of the admin log when the statement before it changed a row. */
export const createEntry = (
  context: ActionContext,
  { actor }: Manager,
  action: string,
  { id }: OwnCommunity,
  change: { before?: Record<string, unknown>; after?: Record<string, unknown> },
) =>
  recordIfChanged(context, actor.accountId, {
    action,
    targetType: 'community',
    targetId: id,
    ...change,
  })

import * as z from 'zod'
import { limits, type ReplyLimits, replyLimits } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import { AppError, notFound } from '../../shared/errors'
import type { CommunityId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import { shownText } from '../../shared/texts'
import { accountErrors } from '../accounts/names'
import { type AccountRow, selectAccountByName } from '../accounts/queries'
import type { Actor } from '../contract/hub'
import { communityTag, memberTag } from '../contract/live-event'
import type { ActionContext } from '../database/action-context'
import { insertAdminEntry, recordAdminAction, recordIfChanged } from '../database/admin-log-queries'
import { keepVisibility } from '../database/past-access-queries'
import { type IdempotentResult, runOnce } from '../database/run-once'
import { changeAccess } from '../live/live-publisher'
import { setPicture } from '../media/actions'
import { deleteUses } from '../media/queries'
import type { Account } from '../schema/accounts'
import { communities, communityMembers } from '../schema/communities'
import { guardActor } from '../viewers/queries'
import type { Reader } from '../viewers/reader'
import {
  type CommunityRow,
  deleteMember,
  insertCommunity,
  insertMember,
  type MemberRow,
  type OwnCommunity,
  saveMember,
  selectMember,
  selectShownCommunity,
  setHubModerator,
  updateCommunity,
} from './queries'

/** Errors of communities, as users read them. */
export const communityErrors = {
  unknown: () => notFound('community', 'Check the name of the community.'),
  unknownMember: () => notFound('member', 'The account is not a member of this community.'),
  guestVisibility: () =>
    new AppError('FORBIDDEN', 'Guests can only create public communities.', {
      hint: 'Ask an admin for the role "member".',
    }),
  guestLimits: () =>
    new AppError('FORBIDDEN', 'Guests can’t change the limits between agents.', {
      hint: 'Ask an admin for the role "member".',
    }),
  notModerator: () =>
    new AppError(
      'FORBIDDEN',
      'Only a moderator of this community or an admin can change the community.',
    ),
  notMember: () =>
    new AppError('FORBIDDEN', 'You are not a member of this private community.', {
      hint: 'Add yourself as a member first. The admin log records that you joined.',
    }),
  guestModerator: () =>
    new AppError('CONFLICT', 'Guests cannot be moderators.', {
      hint: 'An admin can make the account a member of the hub first.',
    }),
  lastModerator: () =>
    new AppError('CONFLICT', 'A community needs a moderator.', {
      hint: 'Make another member a moderator first. An admin of the hub can also remove the last one.',
    }),
  systemVisibility: () =>
    new AppError('CONFLICT', 'This community stays public, because the hub itself posts in it.'),
  unknownPage: () => notFound('community', 'The page /m lists all communities.'),
  nameTaken: (cause?: unknown) =>
    new AppError('CONFLICT', 'A community with this name already exists.', {
      hint: 'Post there, or choose another name.',
      details: [{ path: 'body.name', message: 'Already taken' }],
      cause,
    }),
}

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
async function findCommunity(
  { db }: ActionContext,
  { reader }: Manager,
  name: string,
): Promise<OwnCommunity> {
  const community = await run(db, selectShownCommunity({ name, reader }))
  if (!community) throw communityErrors.unknown()
  return community
}

const requireManager = (community: OwnCommunity, { actor, role }: Manager): void => {
  if (!canManage(community, { id: actor.accountId, role })) throw refuse(community)
}

const refuse = ({ isReadable }: OwnCommunity): AppError =>
  isReadable ? communityErrors.notModerator() : communityErrors.notMember()

/** The entry of the admin log when the statement before it changed a row. */
const createEntry = (
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

const displayName = shownText.max(100)
const description = z.string().max(limits.community.descriptionCharsMax)
const visibility = z
  .enum(communities.visibility.enumValues)
  .describe('Who reads it: everybody, members and admins of the hub, or only accounts in its list.')

const followThreads = z
  .boolean()
  .describe('Whether people continue with an agent that answered in a thread without naming it.')

const limitOf = (name: keyof ReplyLimits, of: string) =>
  z
    .int()
    .min(0)
    .max(replyLimits.ceilings[name])
    .nullable()
    .describe(`${of}, until a person writes; null for the limit of the hub.`)

export const communityInput = knownFields({
  name: z
    .string()
    .regex(/^[a-z0-9_-]{2,32}$/, 'Must be 2 to 32 characters, each a-z, 0-9, "_" or "-"'),
  display_name: displayName.optional(),
  description: description.default(''),
  visibility: visibility.default('public'),
  follow_threads: followThreads.default(true),
})

export const communityUpdate = knownFields({
  display_name: displayName.optional(),
  description: description.optional(),
  visibility: visibility.optional(),
  follow_threads: followThreads.optional(),
  hop_limit: limitOf('hopLimit', 'Agents that wake one another in a row').optional(),
  reply_limit: limitOf('replyLimit', 'Comments of agents in a thread').optional(),
})

/**
 * Creates a community, whose creator becomes a moderator of it.
 *
 * @throws CONFLICT when the name is taken, FORBIDDEN for a guest who limits who reads it
 */
export async function createCommunity(
  { db, clock }: ActionContext,
  { actor, role }: Pick<Manager, 'actor' | 'role'>,
  input: z.output<typeof communityInput>,
): Promise<IdempotentResult<CommunityRow>> {
  if (role === 'guest' && input.visibility !== 'public') throw communityErrors.guestVisibility()
  const now = clock.now()
  const answer: CommunityRow = {
    id: clock.newId<CommunityId>(),
    name: input.name,
    displayName: input.display_name ?? input.name,
    description: input.description,
    createdBy: actor.accountId,
    isMuted: false,
    postCount: 0,
    subscriberCount: 0,
    createdAt: now,
    visibility: input.visibility,
    isSystem: false,
    followsThreads: input.follow_threads,
    hopLimit: null,
    replyLimit: null,
    pictureId: null,
  }
  const once = {
    accountId: actor.accountId,
    key: actor.idempotencyKey,
    action: 'communities.create',
    input,
  }
  return runOnce(db, once, {
    now,
    answer,
    statements: {
      community: insertCommunity(answer),
      moderator: insertMember({
        communityId: answer.id,
        accountId: actor.accountId,
        role: 'moderator',
        createdAt: now,
      }),
    },
    constraints: { 'communities.name': communityErrors.nameTaken },
  })
}

/** Returns the limits between agents after a change. @throws FORBIDDEN for a guest who changes one */
function changeLimits(
  { role }: Manager,
  { hopLimit, replyLimit }: OwnCommunity,
  input: z.output<typeof communityUpdate>,
): Pick<CommunityRow, keyof ReplyLimits> {
  const { hop_limit: hops = hopLimit, reply_limit: replies = replyLimit } = input
  const isChanged = hops !== hopLimit || replies !== replyLimit
  if (role === 'guest' && isChanged) throw communityErrors.guestLimits()
  return { hopLimit: hops, replyLimit: replies }
}

/** The settings that the admin log records. */
const toSettings = (
  of: Pick<CommunityRow, 'visibility' | 'followsThreads' | keyof ReplyLimits>,
) => ({
  visibility: of.visibility,
  follow_threads: of.followsThreads,
  hop_limit: of.hopLimit,
  reply_limit: of.replyLimit,
})

const visibilities = communities.visibility.enumValues

/**
 * Changes who reads a community, how it is described, whether agents follow its threads, and the limits
 * between agents there. When fewer read it, the sockets on its threads are
 * closed; those who still read connect again.
 *
 * @throws NOT_FOUND; FORBIDDEN for anyone but a moderator of it or an admin who reads it; CONFLICT for a
 *   community that the hub itself posts in, when others should not read it
 */
export async function changeCommunity(
  context: ActionContext,
  manager: Manager,
  name: string,
  input: z.output<typeof communityUpdate>,
): Promise<OwnCommunity> {
  const community = await findCommunity(context, manager, name)
  requireManager(community, manager)
  const { visibility = community.visibility } = input
  if (community.isSystem && visibility !== 'public') throw communityErrors.systemVisibility()
  if (manager.role === 'guest' && visibility !== community.visibility) {
    throw communityErrors.guestVisibility()
  }
  const fields = {
    visibility,
    displayName: input.display_name ?? community.displayName,
    description: input.description ?? community.description,
    followsThreads: input.follow_threads ?? community.followsThreads,
    ...changeLimits(manager, community, input),
  }
  const isNarrower = visibilities.indexOf(visibility) > visibilities.indexOf(community.visibility)
  await changeAccess(context, isNarrower ? [communityTag(community.id)] : [], () =>
    batch(context.db, {
      visibility: keepVisibility(community.id, visibility, context.clock.now()),
      community: updateCommunity(community.id, fields),
      entry: createEntry(context, manager, 'community.change', community, {
        before: toSettings(community),
        after: toSettings(fields),
      }),
    }),
  )
  return { ...community, ...fields }
}

/**
 * Sets the picture of a community, for those who read it; null deletes it.
 *
 * @throws as `changeCommunity` and `setPicture`
 */
export async function changePicture(
  context: ActionContext,
  manager: Manager,
  name: string,
  file: Uint8Array<ArrayBuffer> | null,
): Promise<OwnCommunity> {
  const community = await findCommunity(context, manager, name)
  requireManager(community, manager)
  const { actor, role } = manager
  const { id } = community
  const statements = {
    guard: await guardActor(context, actor, { role }),
    entry: recordAdminAction(context, actor.accountId, {
      action: 'community.picture',
      targetType: 'community',
      targetId: id,
      before: { has_picture: community.pictureId !== null },
      after: { has_picture: file !== null },
    }),
  }
  if (file === null) {
    await batch(context.db, { ...statements, picture: deleteUses(id) })
    return { ...community, pictureId: null }
  }
  const owner = { id, kind: 'community' } as const
  return { ...community, pictureId: await setPicture(context, actor, owner, file, statements) }
}

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
    account: selectAccountByName({ name: of.account }),
    known: selectMember({ communityId: community.id, name: of.account }),
  })
  if (!account || account.kind === 'system' || account.deletedAt !== null) {
    throw accountErrors.notFound()
  }
  const { id, name, kind, displayName, avatarId } = account
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
  return { id, name, kind, displayName, avatarId, role, createdAt }
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
      ...deleteMember(community.id, member.id, {
        keepsLast: manager.role !== 'admin',
        now: context.clock.now(),
      }),
      entry: createEntry(context, manager, 'community.remove_member', community, {
        before: { account: member.id, role: member.role },
      }),
    }),
  )
  if (!isRemoved) throw communityErrors.lastModerator()
  return member
}

/** Errors of moderators of the hub, as admins read them. */
const moderatorErrors = {
  unsuitable: () =>
    new AppError('CONFLICT', 'Guests and accounts of the hub itself cannot be moderators.', {
      hint: 'Make the account a member first.',
    }),
  personOnly: () =>
    new AppError('FORBIDDEN', 'Only a person can make an agent a moderator.', {
      hint: 'Ask an admin who is a person.',
    }),
}

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
  const account = await run(db, selectAccountByName({ name }))
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

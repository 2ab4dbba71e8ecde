import * as z from 'zod'
import { limits, type ReplyLimits, replyLimits } from '../../shared/config'
import { batch } from '../../shared/db/batch'
import type { CommunityId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import { shownText } from '../../shared/texts'
import type { ActionContext } from '../action-context'
import { communityTag } from '../contract/live-event'
import { type IdempotentResult, runOnce } from '../idempotency/run-once'
import { changeAccess } from '../live/close-sockets'
import { communities } from '../schema/communities'
import { communityErrors } from './errors'
import { createEntry, findCommunity, type Manager, requireManager } from './manager'
import {
  type CommunityRow,
  insertCommunity,
  insertMember,
  type OwnCommunity,
  updateCommunity,
} from './queries'

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
      community: updateCommunity(community.id, fields),
      entry: createEntry(context, manager, 'community.change', community, {
        before: toSettings(community),
        after: toSettings(fields),
      }),
    }),
  )
  return { ...community, ...fields }
}

import * as z from 'zod'
import { openings } from '../../shared/config'
import { decodeCount, decodeKeyset, splitPage, toPageFields } from '../../shared/cursor'
import type { Answers } from '../../shared/db/batch'
import { accountAnswer, presentAccount } from '../accounts/answers'
import {
  offsetParameter,
  pageFields,
  pageParameters,
  presenterOf,
  presentTime,
  timeAnswer,
} from '../http/answers'
import { type Call, presentIdempotent, type Route, routesOf } from '../http/route'
import { readPicture } from '../media/actions'
import { personAnswer } from '../rules/people'
import { communityName, placeAnswer } from '../rules/places'
import { communityMembers } from '../schema/communities'
import {
  changeCommunity,
  changeHubModerator,
  changePicture,
  communityErrors,
  communityInput,
  communityUpdate,
  createCommunity,
  type Manager,
  memberInput,
  moderatorInput,
  removeMember,
  setMember,
} from './actions'
import { communityAnswer, memberAnswer, presentCommunity, presentMember } from './answers'
import { openAsAdmin, openingReason } from './opening-actions'
import { type OpeningRow, selectOpenings } from './opening-queries'
import { selectCommunities, selectCommunity, selectMembers, selectShownCommunity } from './queries'
import { followReads, setFollow, setSubscription, subscriptionReads } from './subscription-actions'

const route = routesOf('communities')

const listQuery = z.object({
  ...pageParameters(200, 100),
  offset: offsetParameter,
})

/** Returns how many rows come before the page. Both lists change their order, so their cursors count rows. */
const countBefore = ({
  list,
  query,
}: {
  list: string
  query: z.output<typeof listQuery>
}): number => decodeCount(list, query.cursor) + (query.offset ?? 0)

const toManager = (call: Call<unknown, unknown>): Manager => ({
  actor: call.actor(),
  role: call.viewer().role,
  reader: call.reader,
})

export const communityRoutes: Route[] = [
  route({
    method: 'get',
    path: '/communities',
    summary: 'Lists the communities that you read; admins see all',
    access: 'read',
    query: listQuery,
    answer: z.object({ communities: z.array(communityAnswer), ...pageFields }),
    handle: async (call) => {
      const { limit } = call.query
      const offset = countBefore(call)
      const { answers } = await call.read({
        rows: selectCommunities(call.reader, limit + 1, offset),
      })
      const { page, next } = splitPage(answers.rows, limit, call.list, () => offset + limit)
      return { communities: page.map(presentCommunity), ...toPageFields(next) }
    },
  }),
  route({
    method: 'post',
    path: '/communities',
    summary: 'Creates a community, which you moderate; guests create public ones only',
    access: 'write',
    status: 201,
    body: communityInput,
    answer: z.object({ community: communityAnswer }),
    handle: async (call) => {
      const done = await createCommunity(call.context, toManager(call), call.body)
      return presentIdempotent(call, done, (community) => ({
        community: presentCommunity(community),
      }))
    },
  }),
  route({
    method: 'get',
    path: '/communities/:name',
    summary: 'Returns one community',
    access: 'read',
    answer: z.object({
      community: communityAnswer,
      your_role: z.enum(['owner', ...communityMembers.role.enumValues]).nullable(),
      can_read: z.boolean().describe('False for an admin who is not a member of a private one.'),
      is_subscribed: z.boolean().describe('Whether its posts are in your own feed.'),
    }),
    handle: async ({ reader, param, read }) => {
      const { answers, viewer } = await read({
        community: selectShownCommunity({ name: param('name'), reader }),
      })
      const { community } = answers
      if (!community) throw communityErrors.unknown()
      const isOwner = viewer !== null && viewer.id === community.createdBy
      return {
        community: presentCommunity(community),
        your_role: isOwner ? ('owner' as const) : (community.you?.role ?? null),
        can_read: community.isReadable,
        is_subscribed: community.you?.isSubscribed === 1,
      }
    },
  }),
  route({
    method: 'patch',
    path: '/communities/:name',
    summary: 'Changes the settings of a community (moderators of it, admins)',
    access: 'write',
    body: communityUpdate,
    answer: z.object({ community: communityAnswer }),
    handle: async (call) => ({
      community: presentCommunity(
        await changeCommunity(call.context, toManager(call), call.param('name'), call.body),
      ),
    }),
  }),
  ...(['put', 'delete'] as const).map((method) =>
    route({
      method,
      path: '/communities/:name/picture',
      summary:
        method === 'put'
          ? 'Sets the picture of a community: an image as the body (moderators of it, admins)'
          : 'Deletes the picture of a community (moderators of it, admins)',
      access: 'write',
      takesImage: method === 'put',
      answer: z.object({ community: communityAnswer }),
      handle: async (call) => {
        const file = method === 'put' ? await readPicture(call.c.req.raw) : null
        const name = call.param('name')
        const changed = await changePicture(call.context, toManager(call), name, file)
        return { community: presentCommunity(changed) }
      },
    }),
  ),
  route({
    method: 'get',
    path: '/communities/:name/members',
    summary: 'Lists the members of a community, moderators first',
    access: 'read',
    query: listQuery,
    answer: z.object({ members: z.array(memberAnswer), ...pageFields }),
    handle: async (call) => {
      const { list, reader } = call
      const { limit } = call.query
      const offset = countBefore(call)
      const name = call.param('name')
      const { answers } = await call.read({
        community: selectCommunity({ name, reader }),
        rows: selectMembers({ name, reader, limit: limit + 1, offset }),
      })
      if (!answers.community) throw communityErrors.unknown()
      const { page, next } = splitPage(answers.rows, limit, list, () => offset + limit)
      return { members: page.map(presentMember), ...toPageFields(next) }
    },
  }),
  route({
    method: 'put',
    path: '/communities/:name/members/:account',
    summary: 'Adds a member or changes the role of one (moderators of the community, admins)',
    access: 'write',
    body: memberInput,
    answer: z.object({ member: memberAnswer }),
    handle: async (call) => {
      const of = { community: call.param('name'), account: call.param('account') }
      const member = await setMember(call.context, toManager(call), of, call.body)
      return { member: presentMember(member) }
    },
  }),
  route({
    method: 'delete',
    path: '/communities/:name/members/:account',
    summary: 'Removes a member (moderators of the community, admins), or leaves the community',
    access: 'write',
    answer: z.object({ member: memberAnswer }),
    handle: async (call) => {
      const of = { community: call.param('name'), account: call.param('account') }
      return { member: presentMember(await removeMember(call.context, toManager(call), of)) }
    },
  }),
]

export const moderatorRoutes: Route[] = [
  route({
    method: 'put',
    path: '/accounts/:name/moderator',
    summary: 'Makes an account a moderator of the whole hub, or no longer one (admin)',
    tag: 'people',
    access: 'admin',
    body: moderatorInput,
    answer: z.object({ account: accountAnswer }),
    handle: async (call) => {
      const { context, body } = call
      const account = await changeHubModerator(context, call.actor(), call.param('name'), body)
      return { account: presentAccount(account) }
    },
  }),
]

const openingBody = openingReason
  .extend({
    community: communityName.optional().describe('Name of a community that you do not read.'),
    account: z.string().trim().min(1).max(100).optional().describe('Name of an account.'),
    activation_id: z.string().min(1).max(100).optional().describe('Opens what it is private to.'),
  })
  .refine(
    ({ community, account, activation_id: run }) =>
      [community, account, run].filter((each) => each !== undefined).length === 1,
    'Name one of community, account and activation_id',
  )

const openingAnswer = z.object({
  id: z.string(),
  by: personAnswer.describe('The admin.'),
  community: placeAnswer.nullable().describe('Null for what is private to you.'),
  reason: z.string(),
  created_at: timeAnswer,
  expires_at: timeAnswer,
})

const presentOpening = presenterOf(openingAnswer).from<OpeningRow>({})

export const openingRoutes: Route[] = [
  route({
    method: 'post',
    path: '/openings',
    summary:
      'Opens for an hour what agents keep private to a community or an account: runs, sessions, arguments. Its moderators or the account are notified with the reason (admin)',
    tag: 'people',
    access: 'admin',
    status: 201,
    body: openingBody,
    answer: z.object({
      opened: z
        .array(z.object({ community: placeAnswer.nullable(), account: personAnswer.nullable() }))
        .describe('Communities and accounts; the other one is null.'),
      expires_at: timeAnswer,
    }),
    handle: async (call) => {
      const { community, account, activation_id: id = '', reason } = call.body
      const opened =
        community !== undefined
          ? { kind: 'community' as const, name: community }
          : account !== undefined
            ? { kind: 'account' as const, name: account }
            : { kind: 'run' as const, id }
      const by = { admin: call.actor(), reader: call.reader }
      const { owners, expiresAt } = await openAsAdmin(call.context, by, opened, { reason })
      return { opened: owners, expires_at: presentTime(expiresAt) }
    },
  }),
  route({
    method: 'get',
    path: '/openings',
    summary:
      'Lists what admins opened of your private runs, and of communities that you moderate, newest first',
    tag: 'people',
    access: 'own',
    query: z.object({
      community: communityName.optional(),
      ...pageParameters(openings.listed, openings.listed),
    }),
    answer: z.object({
      openings: z.array(openingAnswer),
      ...pageFields,
    }),
    handle: async ({ context, credential, list, query, read }) => {
      const { answers } = await read({
        rows: selectOpenings(credential, context.clock.now(), {
          community: query.community ?? null,
          before: decodeKeyset(list, query.cursor),
          limit: query.limit + 1,
        }),
      })
      const { page, next } = splitPage(answers.rows, query.limit, list, (row) => [
        row.createdAt,
        row.id,
      ])
      return {
        openings: page.map(presentOpening),
        ...toPageFields(next),
      }
    },
  }),
]

const changedField = z.boolean().describe('False when it was so before.')

const subscriptionAnswer = z.object({
  community: placeAnswer,
  is_subscribed: z.boolean(),
  has_changed: changedField,
})

const followAnswer = z.object({
  account: personAnswer,
  is_following: z.boolean(),
  has_changed: changedField,
})

async function subscribe(
  call: Call<unknown, unknown>,
  isOn: boolean,
  found: Answers<ReturnType<typeof subscriptionReads>>,
): Promise<z.input<typeof subscriptionAnswer>> {
  const subscriber = { actor: call.actor(), reader: call.reader }
  const change = { name: call.param('name'), isOn }
  const done = await setSubscription(call.context, subscriber, change, found)
  return presentIdempotent(call, done, ({ target: community, isChanged }) => ({
    community,
    is_subscribed: isOn,
    has_changed: isChanged,
  }))
}

async function follow(
  call: Call<unknown, unknown>,
  isOn: boolean,
  found: Answers<ReturnType<typeof followReads>>,
): Promise<z.input<typeof followAnswer>> {
  const change = { name: call.param('name'), isOn }
  const done = await setFollow(call.context, call.actor(), change, found)
  return presentIdempotent(call, done, ({ target: account, isChanged }) => ({
    account,
    is_following: isOn,
    has_changed: isChanged,
  }))
}

/** What an account has in its own feed. */
export const subscriptionRoutes: Route[] = [
  route({
    method: 'put',
    path: '/communities/:name/subscription',
    summary: 'Subscribes to a community: its posts are in GET /feed?filter=following',
    access: 'write',
    tag: 'write',
    answer: subscriptionAnswer,
    reads: ({ param, reader }) => subscriptionReads(param('name'), reader),
    handle: (call, found) => subscribe(call, true, found),
  }),
  route({
    method: 'delete',
    path: '/communities/:name/subscription',
    summary: 'Ends your subscription to a community',
    access: 'write',
    tag: 'write',
    allowsMuted: true,
    answer: subscriptionAnswer,
    reads: ({ param, reader }) => subscriptionReads(param('name'), reader),
    handle: (call, found) => subscribe(call, false, found),
  }),
  route({
    method: 'put',
    path: '/accounts/:name/follow',
    summary: 'Follows an account, which is notified: its posts are in GET /feed?filter=following',
    access: 'write',
    tag: 'write',
    answer: followAnswer,
    reads: ({ param, reader }) => followReads(param('name'), reader),
    handle: (call, found) => follow(call, true, found),
  }),
  route({
    method: 'delete',
    path: '/accounts/:name/follow',
    summary: 'Ends that you follow an account',
    access: 'write',
    tag: 'write',
    allowsMuted: true,
    answer: followAnswer,
    reads: ({ param, reader }) => followReads(param('name'), reader),
    handle: (call, found) => follow(call, false, found),
  }),
]

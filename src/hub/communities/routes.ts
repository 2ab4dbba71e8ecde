import * as z from 'zod'
import { type Call, presentIdempotent, type Route, route } from '../http/route'
import { communityMembers } from '../schema/places'
import { changeCommunity, communityInput, communityUpdate, createCommunity } from './actions'
import { communityErrors } from './errors'
import type { Manager } from './manager'
import { memberInput, removeMember, setMember } from './member-actions'
import { communityAnswer, memberAnswer, presentCommunity, presentMember } from './present'
import { selectCommunities, selectCommunity, selectMembers, selectShownCommunity } from './queries'

const tag = 'communities'

const listQuery = z.object({
  limit: z.coerce.number().int().min(1).max(200).default(100),
  offset: z.coerce.number().int().min(0).max(100_000).default(0),
})

const toManager = (call: Call<unknown, unknown>): Manager => ({
  actor: call.actor(),
  role: call.viewer().role,
  reader: call.reader,
})

export const communityRoutes: Route[] = [
  route({
    method: 'get',
    path: '/submolts',
    summary: 'Lists the communities that you read; admins see all',
    tag,
    access: 'read',
    rate: 'read',
    query: listQuery,
    answer: z.object({ submolts: z.array(communityAnswer), has_more: z.boolean() }),
    handle: async ({ reader, query, read }) => {
      const { answers } = await read({
        communities: selectCommunities(reader, query.limit + 1, query.offset),
      })
      return {
        submolts: answers.communities.slice(0, query.limit).map(presentCommunity),
        has_more: answers.communities.length > query.limit,
      }
    },
  }),
  route({
    method: 'post',
    path: '/submolts',
    summary: 'Creates a community, which you moderate; guests create public ones only',
    tag,
    access: 'write',
    rate: 'write',
    status: 201,
    body: communityInput,
    answer: z.object({ submolt: communityAnswer }),
    handle: async (call) => {
      const done = await createCommunity(call.context, toManager(call), call.body)
      return presentIdempotent(call, done, (community) => ({
        submolt: presentCommunity(community),
      }))
    },
  }),
  route({
    method: 'get',
    path: '/submolts/:name',
    summary: 'Returns one community',
    tag,
    access: 'read',
    rate: 'read',
    answer: z.object({
      submolt: communityAnswer,
      your_role: z.enum(['owner', ...communityMembers.role.enumValues]).nullable(),
      can_read: z.boolean().describe('False for an admin who is not a member of a private one.'),
      is_subscribed: z.boolean().describe('Whether its posts are in your own feed.'),
    }),
    handle: async ({ reader, param, read }) => {
      const { answers, viewer } = await read({
        community: selectShownCommunity(param('name'), reader),
      })
      const { community } = answers
      if (!community) throw communityErrors.unknown()
      const isOwner = viewer !== null && viewer.id === community.createdBy
      return {
        submolt: presentCommunity(community),
        your_role: isOwner ? ('owner' as const) : (community.you?.role ?? null),
        can_read: community.isReadable,
        is_subscribed: community.you?.isSubscribed === 1,
      }
    },
  }),
  route({
    method: 'patch',
    path: '/submolts/:name',
    summary: 'Changes the settings of a community (moderators of it, admins)',
    tag,
    access: 'write',
    rate: 'write',
    body: communityUpdate,
    answer: z.object({ submolt: communityAnswer }),
    handle: async (call) => ({
      submolt: presentCommunity(
        await changeCommunity(call.context, toManager(call), call.param('name'), call.body),
      ),
    }),
  }),
  route({
    method: 'get',
    path: '/submolts/:name/members',
    summary: 'Lists the members of a community, moderators first',
    tag,
    access: 'read',
    rate: 'read',
    query: listQuery,
    answer: z.object({ members: z.array(memberAnswer), has_more: z.boolean() }),
    handle: async ({ reader, param, query, read }) => {
      const { limit, offset } = query
      const page = { name: param('name'), reader, limit: limit + 1, offset }
      const { answers } = await read({
        community: selectCommunity(page.name, reader),
        members: selectMembers(page),
      })
      if (!answers.community) throw communityErrors.unknown()
      return {
        members: answers.members.slice(0, limit).map(presentMember),
        has_more: answers.members.length > limit,
      }
    },
  }),
  route({
    method: 'put',
    path: '/submolts/:name/members/:account',
    summary: 'Adds a member or changes the role of one (moderators of the community, admins)',
    tag,
    access: 'write',
    rate: 'write',
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
    path: '/submolts/:name/members/:account',
    summary: 'Removes a member (moderators of the community, admins), or leaves the community',
    tag,
    access: 'write',
    rate: 'write',
    answer: z.object({ member: memberAnswer }),
    handle: async (call) => {
      const of = { community: call.param('name'), account: call.param('account') }
      return { member: presentMember(await removeMember(call.context, toManager(call), of)) }
    },
  }),
]

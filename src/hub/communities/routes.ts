import * as z from 'zod'
import { decodeCount, splitPage, toPageFields } from '../../shared/cursor'
import { offsetParameter, pageFields } from '../http/answers'
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
  cursor: z.string().max(500).optional(),
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
    tag,
    access: 'read',
    rate: 'read',
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
    tag,
    access: 'write',
    rate: 'write',
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
    tag,
    access: 'read',
    rate: 'read',
    answer: z.object({
      community: communityAnswer,
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
    tag,
    access: 'write',
    rate: 'write',
    body: communityUpdate,
    answer: z.object({ community: communityAnswer }),
    handle: async (call) => ({
      community: presentCommunity(
        await changeCommunity(call.context, toManager(call), call.param('name'), call.body),
      ),
    }),
  }),
  route({
    method: 'get',
    path: '/communities/:name/members',
    summary: 'Lists the members of a community, moderators first',
    tag,
    access: 'read',
    rate: 'read',
    query: listQuery,
    answer: z.object({ members: z.array(memberAnswer), ...pageFields }),
    handle: async (call) => {
      const { list, reader } = call
      const { limit } = call.query
      const offset = countBefore(call)
      const name = call.param('name')
      const { answers } = await call.read({
        community: selectCommunity(name, reader),
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
    path: '/communities/:name/members/:account',
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

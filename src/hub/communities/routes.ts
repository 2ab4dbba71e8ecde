import * as z from 'zod'
import { presentIdempotent, type Route, route } from '../http/route'
import { communityInput, createCommunity } from './actions'
import { communityErrors } from './errors'
import { communityAnswer, presentCommunity } from './present'
import { selectCommunities, selectCommunity } from './queries'

const tag = 'communities'

const listQuery = z.object({
  limit: z.coerce.number().int().min(1).max(200).default(100),
  offset: z.coerce.number().int().min(0).max(100_000).default(0),
})

export const communityRoutes: Route[] = [
  route({
    method: 'get',
    path: '/submolts',
    summary: 'Lists the communities',
    tag,
    access: 'read',
    rate: 'read',
    query: listQuery,
    answer: z.object({ submolts: z.array(communityAnswer), has_more: z.boolean() }),
    handle: async ({ query, read }) => {
      const { answers } = await read({
        communities: selectCommunities(query.limit + 1, query.offset),
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
    summary: 'Creates a community',
    tag,
    access: 'write',
    rate: 'write',
    status: 201,
    body: communityInput,
    answer: z.object({ submolt: communityAnswer }),
    handle: async (call) => {
      const done = await createCommunity(call.context, call.actor(), call.body)
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
    answer: z.object({ submolt: communityAnswer, your_role: z.literal('owner').nullable() }),
    handle: async ({ param, read }) => {
      const { answers, viewer } = await read({ community: selectCommunity(param('name')) })
      const { community } = answers
      if (!community) throw communityErrors.unknown()
      const isOwner = viewer !== null && viewer.id === community.createdBy
      return {
        submolt: presentCommunity(community),
        your_role: isOwner ? ('owner' as const) : null,
      }
    },
  }),
]

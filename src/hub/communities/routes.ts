import * as z from 'zod'
import { presentIdempotent, type Route, route } from '../http/route'
import { postPageQuery, toPostList, toPostPage } from '../posts/post-page'
import { presentPostPage } from '../posts/present'
import { selectPosts } from '../posts/queries'
import { communityInput, createCommunity } from './actions'
import { communityErrors } from './errors'
import { presentCommunity } from './present'
import { type CommunityRow, selectCommunities, selectCommunity } from './queries'

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
    query: listQuery,
    handle: async ({ context, query, read }) => {
      const { results } = await read([selectCommunities(context.db, query.limit + 1, query.offset)])
      const rows = (results[0]?.results ?? []) as unknown as CommunityRow[]
      return {
        submolts: rows.slice(0, query.limit).map(presentCommunity),
        has_more: rows.length > query.limit,
      }
    },
  }),
  route({
    method: 'post',
    path: '/submolts',
    summary: 'Creates a community',
    tag,
    access: 'write',
    status: 201,
    body: communityInput,
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
    handle: async ({ context, param, read }) => {
      const { results, viewer } = await read([selectCommunity(context.db, param('name'))])
      const community = results[0]?.results[0] as unknown as CommunityRow | undefined
      if (!community) throw communityErrors.unknown()
      const isOwner = viewer !== null && viewer.id === community.createdBy
      return { submolt: presentCommunity(community), your_role: isOwner ? 'owner' : null }
    },
  }),
  route({
    method: 'get',
    path: '/submolts/:name/feed',
    summary: 'Lists the posts of one community',
    tag,
    access: 'read',
    query: postPageQuery,
    handle: async ({ context, param, query, read }) => {
      const name = param('name')
      const list = toPostList(query, query.sort ?? 'hot', { community: name })
      const { results } = await read([
        selectCommunity(context.db, name),
        selectPosts(context.db, list),
      ])
      const community = results[0]?.results[0] as unknown as CommunityRow | undefined
      if (!community) throw communityErrors.unknown()
      return {
        submolt: presentCommunity(community),
        ...presentPostPage(toPostPage(list, results[1])),
      }
    },
  }),
]

import * as z from 'zod'
import { type Route, route } from '../http/route'
import { stopFollowing } from './actions'

export const followingRoutes: Route[] = [
  route({
    method: 'delete',
    path: '/posts/:id/following/:agent',
    summary:
      'Ends that an agent follows a thread, until somebody mentions it there (who asked it, the author of the post, moderators)',
    tag: 'ask',
    access: 'write',
    rate: 'write',
    answer: z.object({ post_id: z.string(), agent: z.string(), is_following: z.literal(false) }),
    handle: async (call) => {
      const of = { postId: call.param('id'), agentName: call.param('agent') }
      const { postId, agentName } = await stopFollowing(call.context, call.actor(), of)
      return { post_id: postId, agent: agentName, is_following: false as const }
    },
  }),
]

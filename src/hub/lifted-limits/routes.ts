import * as z from 'zod'
import { type Route, route } from '../http/route'
import { liftLimits } from './actions'

export const liftedLimitRoutes: Route[] = [
  route({
    method: 'post',
    path: '/posts/:id/lifted-limits',
    summary:
      'Lifts the limits between agents in a thread once: agents that a limit stopped continue (people only)',
    tag: 'ask',
    access: 'write',
    rate: 'write',
    status: 201,
    answer: z.object({ post_id: z.string(), woken: z.array(z.string()) }),
    handle: async (call) => {
      const { postId, woken } = await liftLimits(call.context, call.actor(), call.param('id'))
      return { post_id: postId, woken }
    },
  }),
]

import * as z from 'zod'
import { type Route, route } from '../http/route'
import { changeHubLimits, hubLimitsInput, presentLimits } from './actions'
import { selectHubLimits } from './queries'

const tag = 'hub'
const answer = z.object({ reply_limits: hubLimitsInput })

export const replyLimitRoutes: Route[] = [
  route({
    method: 'get',
    path: '/system/reply-limits',
    summary: 'Returns the limits between agents of the hub; communities can have their own',
    tag,
    access: 'read',
    rate: 'read',
    answer,
    handle: async ({ read }) => {
      const { answers } = await read({ limits: selectHubLimits() })
      return { reply_limits: presentLimits(answers.limits) }
    },
  }),
  route({
    method: 'put',
    path: '/system/reply-limits',
    summary: 'Sets the limits between agents of the hub (admin)',
    tag,
    access: 'admin',
    rate: 'write',
    body: hubLimitsInput,
    answer,
    handle: async (call) => ({
      reply_limits: await changeHubLimits(call.context, call.actor(), call.body),
    }),
  }),
]

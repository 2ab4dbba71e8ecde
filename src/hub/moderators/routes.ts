import * as z from 'zod'
import { accountAnswer, presentAccount } from '../accounts/present'
import { type Route, route } from '../http/route'
import { changeHubModerator, moderatorInput } from './actions'

export const moderatorRoutes: Route[] = [
  route({
    method: 'put',
    path: '/accounts/:name/moderator',
    summary: 'Makes an account a moderator of the whole hub, or no longer one (admin)',
    tag: 'people',
    access: 'admin',
    rate: 'write',
    body: moderatorInput,
    answer: z.object({ account: accountAnswer }),
    handle: async (call) => {
      const { context, body } = call
      const account = await changeHubModerator(context, call.actor(), call.param('name'), body)
      return { account: presentAccount(account) }
    },
  }),
]

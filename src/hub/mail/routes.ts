import * as z from 'zod'
import { countAnswer } from '../http/answers'
import { type Route, routesOf } from '../http/route'
import { takeBounces } from './bounce-actions'

const route = routesOf('hub')

export const mailRoutes: Route[] = [
  route({
    method: 'post',
    path: '/mail/bounces',
    summary:
      'Takes a report of Postmark or Resend that mail to an address bounced or was called spam',
    access: 'open',
    takesDelivery: true,
    answer: z.object({
      stopped: countAnswer.describe('Reported addresses that are sent nothing any more.'),
    }),
    handle: async ({ c, context }) => {
      const body = new Uint8Array(await c.req.arrayBuffer())
      const header = (name: string) => c.req.header(name)
      return { stopped: await takeBounces(context, { body, header }) }
    },
  }),
]

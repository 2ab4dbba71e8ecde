import * as z from 'zod'
import { countAnswer } from '../http/answers'
import { type Route, route } from '../http/route'
import { takeBounces } from './bounce-actions'

export const mailRoutes: Route[] = [
  route({
    method: 'post',
    path: '/mail/bounces',
    summary:
      'Takes a report of Postmark or Resend that mail to an address bounced or was called spam',
    tag: 'hub',
    access: 'open',
    rate: 'write',
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

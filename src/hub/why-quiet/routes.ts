import * as z from 'zod'
import { accountErrors } from '../accounts/errors'
import { type Route, route } from '../http/route'
import { postErrors } from '../posts/errors'
import { gateKeys } from './gate-labels'
import { summarizeGates } from './gates-view'
import { quietStatements } from './queries'
import { readGates } from './read-gates-view'

const gateAnswer = z
  .object({
    gate: z.enum(gateKeys),
    state: z
      .enum(['open', 'closed', 'unknown'])
      .describe('A closed gate keeps the agent from answering or exploring.'),
    says: z.string().describe('The fact that decides.'),
    fix: z.string().nullable().describe('What to do; null for a gate that is not closed.'),
    link: z.string().nullable().describe('Path of a page where that can be done or seen.'),
  })
  .meta({ id: 'Gate' })

export const quietRoutes: Route[] = [
  route({
    method: 'get',
    path: '/agents/:name/why-quiet',
    summary:
      'Lists what has to let an agent through before it answers in a thread, or without one before it explores: each open or closed, with the fix',
    tag: 'ask',
    access: 'read',
    rate: 'read',
    query: z.object({
      post: z.string().max(100).default('').describe('Id of a post; empty for the agent alone.'),
    }),
    answer: z.object({ agent: z.string(), says: z.string(), gates: z.array(gateAnswer) }),
    handle: async ({ context, reader, param, query, read }) => {
      const now = context.clock.now()
      const question = { name: param('name'), postId: query.post, reader, now }
      const { viewer, answers } = await read(quietStatements(question))
      const { agent } = answers
      if (!agent) throw accountErrors.notFound('Only agents that run on this hub have gates.')
      if (query.post !== '' && !answers.thread) throw postErrors.unknownPost()
      const caller = viewer && { id: viewer.id, isAdmin: viewer.role === 'admin' }
      const gates = await readGates(context, { ...answers, agent }, caller)
      return {
        agent: agent.name,
        says: summarizeGates(gates, agent.name),
        gates: gates.map(({ key, state, fact, fix, link }) => ({
          gate: key,
          state,
          says: fact,
          fix,
          link,
        })),
      }
    },
  }),
]

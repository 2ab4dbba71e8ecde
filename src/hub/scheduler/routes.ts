import * as z from 'zod'
import { schedulerPages } from '../../shared/config'
import { decodeCursor } from '../cursor'
import { type Route, route } from '../http/route'
import { boardAnswer } from './answers'
import { presentBoard } from './present'
import { type AgentPageRequest, agentStates, boardStatements } from './queries'
import { readBoard } from './read-board'

/** Parses the cursor of the list of agents; another list's cursor starts at the first page. */
export function readAgentCursor(text: string | undefined): AgentPageRequest['after'] {
  const cursor = decodeCursor(text)
  return Array.isArray(cursor) ? cursor : null
}

export const schedulerRoutes: Route[] = [
  route({
    method: 'get',
    path: '/system/scheduler',
    summary:
      'Returns queue, slots, leases, and why each agent does not explore now. Agents are sorted by idle time, longest first',
    tag: 'system',
    access: 'read',
    rate: 'read',
    query: z.object({
      state: z.enum(agentStates).default('all'),
      name: z.string().max(100).default(''),
      cursor: z.string().max(400).optional(),
      limit: z.coerce.number().int().min(1).max(200).default(schedulerPages.agents),
    }),
    answer: boardAnswer,
    handle: async ({ context, reader, query, read }) => {
      const { clock, scheduler } = context
      const now = clock.now()
      const page = { ...query, after: readAgentCursor(query.cursor) }
      const { answers } = await read(boardStatements(page, now, reader))
      return presentBoard(await readBoard(scheduler, answers, page), now)
    },
  }),
]

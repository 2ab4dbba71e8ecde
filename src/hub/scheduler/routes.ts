import * as z from 'zod'
import { schedulerPages } from '../../shared/config'
import { decodeKeyset } from '../../shared/cursor'
import { type Route, route } from '../http/route'
import { boardAnswer } from './answers'
import { presentBoard } from './present'
import { agentStates, boardStatements } from './queries'
import { readBoard } from './read-board'

export const schedulerRoutes: Route[] = [
  route({
    method: 'get',
    path: '/system/scheduler',
    summary:
      'Returns queue, slots, leases, and why each agent does not explore now. Agents are sorted by idle time, longest first',
    tag: 'hub',
    access: 'read',
    rate: 'read',
    query: z.object({
      state: z.enum(agentStates).default('all'),
      name: z.string().max(100).default(''),
      cursor: z.string().max(400).optional(),
      limit: z.coerce.number().int().min(1).max(200).default(schedulerPages.agents),
    }),
    answer: boardAnswer,
    handle: async ({ context, list, reader, query, read }) => {
      const { clock, scheduler } = context
      const now = clock.now()
      const page = { ...query, after: decodeKeyset(list, query.cursor) }
      const { answers } = await read(boardStatements(page, now, reader))
      return presentBoard(await readBoard(scheduler, answers, page), now, list)
    },
  }),
]

import * as z from 'zod'
import { notFound, outcomes } from '../../errors'
import type { ActionContext } from '../action-context'
import { readCursor, writeCursor } from '../cursor'
import { presentOnce, type Route, route } from '../http/route'
import { cancelActivation } from './actions'
import { type ActivationFacts, selectActivation, selectActivations } from './list-queries'
import { maskTrace } from './mask-trace'
import { presentActivation, presentTrace } from './present'
import { readTrace } from './trace-view'

const tag = 'activations'

const listRoute = route({
  method: 'get',
  path: '/activations',
  summary: 'What agents did and do, newest first',
  tag,
  access: 'read',
  query: z.object({
    agent: z.string().max(100).optional(),
    outcome: z.enum([...outcomes, 'running']).optional(),
    limit: z.coerce.number().int().min(1).max(100).default(25),
    cursor: z.string().max(500).optional(),
  }),
  handle: async ({ context, query, read }) => {
    const { agent, outcome, limit } = query
    const cursor = readCursor(query.cursor)
    const before = Array.isArray(cursor) ? cursor : null
    const { results } = await read([
      selectActivations(context.db, { agent, outcome, before, limit: limit + 1 }),
    ])
    const rows = (results[0]?.results ?? []) as unknown as ActivationFacts[]
    const page = rows.slice(0, limit)
    const last = page.at(-1)
    const hasMore = rows.length > page.length
    return {
      activations: page.map(presentActivation),
      has_more: hasMore,
      next_cursor: hasMore && last ? writeCursor([last.startedAt, last.id]) : null,
    }
  },
})

const readRoute = route({
  method: 'get',
  path: '/activations/:id',
  summary: 'One activation with its trace, also while it runs',
  tag,
  access: 'read',
  handle: async ({ context, param, read }) => {
    const { results } = await read([selectActivation(context.db, param('id'))])
    const row = results[0]?.results[0] as unknown as
      | (ActivationFacts & { trace: string | null })
      | undefined
    if (!row) throw notFound('activation')
    const trace = readTrace(row.trace ?? (await readLiveTrace(context, row)))
    return { activation: presentActivation(row), trace: trace && presentTrace(trace) }
  },
})

/** What only the agent knows while it works; without it the answer tells what D1 knows. */
async function readLiveTrace(
  { agents, settings }: ActionContext,
  { state, agentId, id }: ActivationFacts,
): Promise<string | null> {
  if (state === 'done') return null
  const trace = await agents.readTrace(agentId, id).catch(() => null)
  return trace && maskTrace(trace, settings.ROOKERY_KEY_PREFIX)
}

export const activationRoutes: Route[] = [
  listRoute,
  readRoute,
  route({
    method: 'post',
    path: '/activations/:id/cancel',
    summary: 'Asks an agent to stop; for an admin and who asked',
    tag,
    access: 'write',
    handle: async (call) => {
      const isAdmin = call.viewer().role === 'admin'
      const done = await cancelActivation(call.context, call.actor(), isAdmin, call.param('id'))
      return presentOnce(call, done, (answer) => answer)
    },
  }),
]

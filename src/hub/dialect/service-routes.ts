import * as z from 'zod'
import { decodeCount, splitPage, toPageFields } from '../../shared/cursor'
import { run } from '../../shared/db/batch'
import { countAnswer, pageFields, presentTime, timeAnswer } from '../http/answers'
import { type Call, type Route, route } from '../http/route'
import { readUntil } from '../inbox/read-until'
import { dialectErrors } from './errors'
import {
  markActivated,
  markAgentItemsRead,
  selectExternalAgents,
  selectServiceKey,
} from './queries'

const tag = 'people'
const own = { tag, access: 'own', rate: 'read' } as const
const pollSecondsMax = 30
const agentsMax = 100

const agentAnswer = z.object({
  id: z.string(),
  name: z.string(),
  display_name: z.string().nullable(),
  kind: z.literal('agent'),
  last_activated_at: timeAnswer.nullable(),
  notification_count: countAnswer,
})

type Filter = Parameters<typeof selectExternalAgents>[0]

/** Reads external agents, together with the service key that asks. @throws FORBIDDEN */
async function readAgents(call: Call<unknown, unknown>, filter: Omit<Filter, 'now'>) {
  const { credential, context, read } = call
  const now = context.clock.now()
  const { answers } = await read({
    service: credential && selectServiceKey(credential.hash, now),
    rows: selectExternalAgents({ ...filter, now }),
  })
  if (!answers.service) throw dialectErrors.notService()
  return answers.rows
}

const presentAgent = (row: Awaited<ReturnType<typeof readAgents>>[number]) => ({
  id: row.id,
  name: row.name,
  display_name: row.displayName,
  kind: 'agent' as const,
  last_activated_at: presentTime(row.lastActivatedAt),
  notification_count: row.notificationCount,
})

/** Throws FORBIDDEN unless the request was sent with a service key. */
async function requireServiceKey({ context, credential }: Call<unknown, unknown>): Promise<void> {
  const key = credential && selectServiceKey(credential.hash, context.clock.now())
  if (!key || !(await run(context.db, key))) throw dialectErrors.notService()
}

const listRoute = route({
  ...own,
  method: 'get',
  path: '/service/agents',
  summary:
    'Lists the external agents that a service key can act for, oldest first; with a service key GET /agents is the same',
  query: z.object({
    stale: z.stringbool().optional(),
    min_staleness: z.coerce.number().int().min(0).max(1e9).optional().describe('Seconds.'),
    has_notifications: z.stringbool().default(false),
    limit: z.coerce.number().int().min(1).max(agentsMax).default(agentsMax),
    cursor: z.string().max(500).optional(),
  }),
  answer: z.object({ agents: z.array(agentAnswer), ...pageFields }),
  handle: async (call) => {
    const { query, context, list } = call
    const staleSeconds = query.min_staleness ?? (query.stale ? 3_600 : null)
    const rows = await readAgents(call, {
      hasNotifications: query.has_notifications,
      activatedBefore: staleSeconds === null ? null : context.clock.now() - staleSeconds * 1_000,
      after: decodeCount(list, query.cursor),
      limit: query.limit + 1,
    })
    const { page, next } = splitPage(rows, query.limit, list, ({ seq }) => seq)
    return { agents: page.map(presentAgent), ...toPageFields(next) }
  },
})

const pollRoute = route({
  ...own,
  method: 'get',
  path: '/notifications/poll',
  summary:
    'Waits until external agents have unread notifications, at most `timeout` seconds, and lists these agents (service key)',
  query: z.object({
    timeout: z.coerce.number().int().min(0).max(300).default(pollSecondsMax),
    batch_size: z.coerce.number().int().min(1).max(agentsMax).default(agentsMax),
  }),
  answer: z.object({ agents: z.array(agentAnswer) }),
  handle: async (call) => {
    const { timeout, batch_size: limit } = call.query
    const filter = { hasNotifications: true, activatedBefore: null, after: 0, limit }
    const rows = await readUntil(
      () => readAgents(call, filter),
      (found) => found.length > 0,
      {
        timeoutMs: Math.min(timeout, pollSecondsMax) * 1_000,
        isClosed: () => call.c.req.raw.signal.aborted,
      },
    )
    return { agents: rows.map(presentAgent) }
  },
})

const readRoute = route({
  method: 'post',
  path: '/service/notifications/read',
  summary:
    'Marks notifications of external agents as read; with a service key POST /notifications/read is the same',
  tag,
  access: 'write',
  rate: 'write',
  body: z.object({
    ids: z.array(z.string().max(100)).max(500),
    agent_id: z.string().max(100).optional().describe('Not needed: an id belongs to one agent.'),
  }),
  answer: z.object({ read: z.literal(true) }),
  handle: async (call) => {
    await requireServiceKey(call)
    const { db, clock } = call.context
    await run(db, markAgentItemsRead(call.body.ids, clock.now()))
    return { read: true as const }
  },
})

const activatedRoute = route({
  method: 'post',
  path: '/agents/:id/activated',
  summary: 'Stores that an external agent ran just now (service key)',
  tag,
  access: 'write',
  rate: 'write',
  answer: z.object({ agent: z.object({ id: z.string(), last_activated_at: timeAnswer }) }),
  handle: async (call) => {
    await requireServiceKey(call)
    const { db, clock } = call.context
    const [id, now] = [call.param('id'), clock.now()]
    if (!(await run(db, markActivated(id, now)))) throw dialectErrors.unknownAgent()
    return { agent: { id, last_activated_at: presentTime(now) } }
  },
})

/** Routes for programs that run external agents. */
export const serviceRoutes: Route[] = [listRoute, pollRoute, readRoute, activatedRoute]

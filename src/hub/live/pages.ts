import type { Context, Hono } from 'hono'
import type { Watched } from '../../agents/contract'
import { AppError, notFound } from '../../errors'
import { findInsight, hideInside, type Insight } from '../activations/may-see-inside'
import { readTrace } from '../activations/trace-view'
import { type ReadAs, readAs, readCredential, requireSameOrigin } from '../http/authenticate'
import { toErrorResponse } from '../http/errors'
import type { HubEnv } from '../http/hub-env'
import { postTopic } from './live-event'
import {
  knownStatements,
  readKnown,
  selectWatchedActivation,
  type WatchedActivation,
} from './page-queries'
import { replay } from './replay'

/** WebSockets to whoever may read what they tell of: a thread, an activation. */
export function registerLivePages(app: Hono<HubEnv>): void {
  app.get('/live/posts/:id', socket(watchThread))
  app.get('/live/activations/:id', socket(watchActivation))
}

/** An upgrade that may read what `watch` reads in the round trip that tells who asks. */
const socket =
  (watch: (c: Context<HubEnv>, read: Read) => Promise<Response>) => async (c: Context<HubEnv>) => {
    if (c.req.header('upgrade')?.toLowerCase() !== 'websocket') {
      return c.text('This is a WebSocket.', 426, { upgrade: 'websocket' })
    }
    try {
      const credential = await readCredential(c)
      // A browser lets any site open a socket and sends the cookie along. One without a cookie may sit
      // in a network that the site itself cannot reach; a program without a key says no origin.
      const isBrowser = credential === null && c.req.header('origin') !== undefined
      if (credential?.isSession || isBrowser) requireSameOrigin(c.req.raw)
      return await watch(c, (statements) => readAs(c, credential, statements))
    } catch (error) {
      return toErrorResponse(c, error)
    }
  }

type Read = (statements: D1PreparedStatement[]) => Promise<ReadAs>

async function watchThread(c: Context<HubEnv>, read: Read): Promise<Response> {
  const { live, db } = c.var.context
  const postId = c.req.param('id') ?? ''
  const { results } = await read(knownStatements(db, postId))
  const known = readKnown(results)
  if (!known) throw notFound('post')
  if (!live.connect) throw new AppError('UNAVAILABLE', 'Nothing is live here.')
  return live.connect(postTopic(postId), known, c.req.raw)
}

/**
 * The agent's own object has the words as they come (L22); `?view=full` shows what the trace does, to
 * those who may see it (M9). One that is over is told from its trace.
 */
async function watchActivation(c: Context<HubEnv>, read: Read): Promise<Response> {
  const { agents, db } = c.var.context
  const { viewer, results } = await read([selectWatchedActivation(db, c.req.param('id') ?? '')])
  const activation = results[0]?.results[0] as unknown as WatchedActivation | undefined
  if (!activation) throw notFound('activation')
  const { id: activationId, agentId } = activation
  const onlooker = viewer && { id: viewer.id, isAdmin: viewer.role === 'admin' }
  const insight = findInsight(onlooker, activation)
  const after = Number(c.req.query('after')) || 0
  const view = findView(activation, insight, c.req.query('view'))
  const trace = readTrace(agents, activation.trace)
  if (!trace) return agents.watch(agentId, { activationId, after, view }, c.req.raw)
  const { events } = hideInside(trace, view === 'full' ? 'all' : 'none', agents)
  return replay(events.filter(({ seq }) => seq > after))
}

/** The view that was asked for, or as much of it as the viewer may have. */
function findView(
  { isForThread }: WatchedActivation,
  insight: Insight,
  asked: string | undefined,
): Watched['view'] {
  if (insight === 'all' && asked === 'full') return 'full'
  return insight !== 'none' || isForThread ? 'thread' : 'outline'
}

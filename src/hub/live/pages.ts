import type { Context, Hono } from 'hono'
import { AppError, notFound } from '../../errors'
import { readAs, readCredential, requireSameOrigin } from '../http/authenticate'
import { toErrorResponse } from '../http/errors'
import type { HubEnv } from '../http/hub-env'
import { postTopic } from './live-event'
import {
  knownStatements,
  readKnown,
  readWatchedActivation,
  selectWatchedActivation,
} from './page-queries'

type Results = D1Result<Record<string, unknown>>[]

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
      // A browser lets any site open a socket and sends the cookie along.
      if (credential?.isSession) requireSameOrigin(c.req.raw)
      return await watch(c, async (statements) => {
        const { results } = await readAs(c, credential, statements)
        return results
      })
    } catch (error) {
      return toErrorResponse(c, error)
    }
  }

type Read = (statements: D1PreparedStatement[]) => Promise<Results>

async function watchThread(c: Context<HubEnv>, read: Read): Promise<Response> {
  const { live, db } = c.var.context
  const postId = c.req.param('id') ?? ''
  const known = readKnown(await read(knownStatements(db, postId)))
  if (!known) throw notFound('post')
  if (!live.connect) throw new AppError('UNAVAILABLE', 'Nothing is live here.')
  return live.connect(postTopic(postId), known, c.req.raw)
}

/** The agent's own object has the words as they come (L22); `?view=full` shows what the trace does. */
async function watchActivation(c: Context<HubEnv>, read: Read): Promise<Response> {
  const { agents, db } = c.var.context
  const [found] = await read([selectWatchedActivation(db, c.req.param('id') ?? '')])
  const activation = readWatchedActivation(found)
  if (!activation) throw notFound('activation')
  const { id: activationId, agentId } = activation
  const after = Number(c.req.query('after')) || 0
  const view = c.req.query('view') === 'full' ? 'full' : 'thread'
  return agents.watch(agentId, { activationId, after, view }, c.req.raw)
}

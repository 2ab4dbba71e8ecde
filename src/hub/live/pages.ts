import type { Hono } from 'hono'
import { AppError, notFound } from '../../errors'
import { readAs, readCredential, requireSameOrigin } from '../http/authenticate'
import { toErrorResponse } from '../http/errors'
import type { HubEnv } from '../http/hub-env'
import { postTopic } from './live-event'
import { knownStatements, readKnown } from './page-queries'

/** `GET /live/posts/:id` opens a WebSocket to whoever may read the post. */
export function registerLivePages(app: Hono<HubEnv>): void {
  app.get('/live/posts/:id', async (c) => {
    const { live, db } = c.var.context
    if (c.req.header('upgrade')?.toLowerCase() !== 'websocket') {
      return c.text('This is a WebSocket.', 426, { upgrade: 'websocket' })
    }
    try {
      const credential = await readCredential(c)
      // A browser lets any site open a socket and sends the cookie along.
      if (credential?.isSession) requireSameOrigin(c.req.raw)
      const postId = c.req.param('id')
      const { results } = await readAs(c, credential, knownStatements(db, postId))
      const known = readKnown(results)
      if (!known) throw notFound('post')
      if (!live.connect) throw new AppError('UNAVAILABLE', 'Nothing is live here.')
      return await live.connect(postTopic(postId), known, c.req.raw)
    } catch (error) {
      return toErrorResponse(c, error)
    }
  })
}

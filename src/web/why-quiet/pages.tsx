import type { Hono } from 'hono'
import { accountErrors } from '../../hub/accounts/errors'
import { type HubEnv, readReader } from '../../hub/http/page-entry'
import { postErrors } from '../../hub/posts/errors'
import { quietStatements } from '../../hub/why-quiet/queries'
import { readGates } from '../../hub/why-quiet/read-gates-view'
import { page, readPage, sendPage } from '../frame/send-page'
import { QuietPage } from './quiet-page'

/** Registers `GET /agents/:name/why-quiet`, with `?post=` about one thread. */
export function registerQuietPages(app: Hono<HubEnv>): void {
  app.get(
    '/agents/:name/why-quiet',
    page(async (c) => {
      const { context } = c.var
      const postId = c.req.query('post') ?? ''
      const question = { name: c.req.param('name') ?? '', postId, now: context.clock.now() }
      const { frame, answers } = await readPage(
        c,
        quietStatements({ ...question, reader: await readReader(c) }),
      )
      const { agent, thread } = answers
      if (!agent) throw accountErrors.notFound('Only agents that run on this hub have this page.')
      if (postId !== '' && !thread) throw postErrors.deletedPost()
      const gates = await readGates(context, { ...answers, agent }, frame.viewer)
      return sendPage(
        c,
        <QuietPage frame={frame} name={agent.name} thread={thread} gates={gates} />,
      )
    }),
  )
}

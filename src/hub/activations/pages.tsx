import type { Hono } from 'hono'
import { notFound } from '../../errors'
import type { HubEnv } from '../http/hub-env'
import { type PageContext, page, readPage, rowsOf, sendPage } from '../web/answer-page'
import { ActivationPage } from './activation-page'
import { maskTrace } from './mask-trace'
import { type ActivationDetail, type Asker, activationStatements } from './page-queries'
import { readTrace } from './trace-view'

/** `GET /activations/:id`: what an agent did, step by step. */
export function registerActivationPages(app: Hono<HubEnv>): void {
  app.get(
    '/activations/:id',
    page(async (c) => {
      const id = c.req.param('id') ?? ''
      const read = await readPage(c, activationStatements(c.var.context.db, id))
      const activation = rowsOf<ActivationDetail>(read, 0)[0]
      if (!activation) throw notFound('activation')
      const live = await readLive(c, activation)
      return sendPage(
        c,
        <ActivationPage
          frame={read.frame}
          activation={activation}
          askers={rowsOf<Asker>(read, 1)}
          trace={readTrace(activation.trace ?? live.trace)}
          doing={live.doing}
        />,
      )
    }),
  )
}

/** What only the agent itself knows while it works. Without it the page shows what D1 knows. */
async function readLive(
  c: PageContext,
  { state, agentId, id }: ActivationDetail,
): Promise<{ trace: string | null; doing: string | null }> {
  if (state !== 'running') return { trace: null, doing: null }
  const { agents, settings } = c.var.context
  const [trace, now] = await Promise.all([
    agents.readTrace(agentId, id).catch(() => null),
    agents.readState(agentId).catch(() => null),
  ])
  return {
    trace: trace && maskTrace(trace, settings.ROOKERY_KEY_PREFIX),
    doing: now?.activationId === id ? now.doing : null,
  }
}

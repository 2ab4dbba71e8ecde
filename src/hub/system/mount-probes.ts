import type { Handler, Hono } from 'hono'
import { d1Totals } from '../../shared/db/db'
import type { ActionContext } from '../action-context'
import { readCredential, readWithViewer } from '../http/authenticate'
import { declareEntry, type EntryRule } from '../http/entry-rule'
import type { HubEnv } from '../http/hub-env'
import { renderTotals } from '../markdown/render-markdown'
import { selectAgentCounters, selectTotals } from './counter-queries'
import { formatMetrics } from './format-metrics'
import { describeCounters, describeGauges, describeIsolate, describeSweep } from './metrics'
import { selectGauges } from './queries'

/** Mounts `GET /healthz` and `GET /metrics` for monitoring. */
export function mountProbes(app: Hono<HubEnv>): void {
  const probe: EntryRule = { rate: 'read', body: 'none' }
  const sendHealth = declareEntry<Handler<HubEnv>>(probe, async (c) => {
    const age = await readSweepAge(c.var.context)
    c.header('cache-control', 'no-store')
    return c.json({ status: 'ok', sweep_age_seconds: age === null ? null : Math.round(age / 1000) })
  })

  const sendMetrics = declareEntry<Handler<HubEnv>>(probe, async (c) => {
    const { answers } = await readWithViewer(c, await readCredential(c), {
      gauges: selectGauges(),
      totals: selectTotals(),
      agents: selectAgentCounters(),
    })
    const metrics = [
      ...describeGauges(answers.gauges),
      ...describeCounters(answers.totals, answers.agents),
      ...describeIsolate(d1Totals, renderTotals),
      ...describeSweep(await readSweepAge(c.var.context)),
    ]
    return c.body(formatMetrics(metrics), 200, {
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
    })
  })
  app.get('/healthz', sendHealth)
  app.get('/metrics', sendMetrics)
}

const SWEEP_AGE_TIMEOUT_MS = 1_000

/**
 * Returns the milliseconds since the last sweep; null when the scheduler fails or does not respond in
 * time, because the hub is healthy without a scheduler.
 */
const readSweepAge = ({ scheduler }: ActionContext): Promise<number | null> =>
  Promise.race([
    scheduler.readSweepAge().catch(() => null),
    new Promise<null>((resolve) => setTimeout(() => resolve(null), SWEEP_AGE_TIMEOUT_MS)),
  ])

import type { Hono } from 'hono'
import type { ActionContext } from '../action-context'
import { d1Totals } from '../db'
import { readCredential, readWithViewer } from '../http/authenticate'
import type { HubEnv } from '../http/hub-env'
import { type CounterRow, selectAgentCounters, selectTotals } from './counter-queries'
import { formatMetrics } from './format-metrics'
import { describeCounters, describeGauges, describeIsolate, describeSweep } from './metrics'
import { selectGauges } from './queries'

/** Mounts `GET /healthz` and `GET /metrics` for monitoring. */
export function mountProbes(app: Hono<HubEnv>): void {
  app.get('/healthz', async (c) => {
    const age = await readSweepAge(c.var.context)
    c.header('cache-control', 'no-store')
    return c.json({ status: 'ok', sweep_age_seconds: age === null ? null : Math.round(age / 1000) })
  })

  app.get('/metrics', async (c) => {
    const { db } = c.var.context
    const { results } = await readWithViewer(c, await readCredential(c), [
      selectGauges(db),
      selectTotals(db),
      selectAgentCounters(db),
    ])
    const [gauges, totals, agents] = results.map((each) => each.results)
    const metrics = [
      ...describeGauges((gauges?.[0] ?? {}) as Record<string, number>),
      ...describeCounters(
        (totals?.[0] ?? {}) as Record<string, number>,
        (agents ?? []) as CounterRow[],
      ),
      ...describeIsolate(d1Totals),
      ...describeSweep(await readSweepAge(c.var.context)),
    ]
    return c.body(formatMetrics(metrics), 200, {
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
    })
  })
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

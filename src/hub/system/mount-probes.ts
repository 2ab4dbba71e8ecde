import type { Hono } from 'hono'
import type { ActionContext } from '../action-context'
import { d1Totals } from '../db'
import { readAs, readCredential } from '../http/authenticate'
import type { HubEnv } from '../http/hub-env'
import { selectGauges } from './queries'

/** What machines ask: whether the hub serves, and how it is doing (H20). */
export function mountProbes(app: Hono<HubEnv>): void {
  app.get('/healthz', async (c) => {
    const age = await readSweepAge(c.var.context)
    c.header('cache-control', 'no-store')
    return c.json({ status: 'ok', sweep_age_seconds: age === null ? null : Math.round(age / 1000) })
  })

  app.get('/metrics', async (c) => {
    const { db } = c.var.context
    const { results } = await readAs(c, await readCredential(c), [selectGauges(db)])
    const gauges = Object.entries(results[0]?.results[0] ?? {}).map(([name, value]) =>
      toMetric(`rookery_${name}`, 'gauge', Number(value)),
    )
    const age = await readSweepAge(c.var.context)
    if (age !== null) gauges.push(toMetric('rookery_sweep_age_seconds', 'gauge', age / 1000))
    const counters = [
      toMetric('rookery_d1_round_trips_total', 'counter', d1Totals.roundTrips),
      toMetric('rookery_d1_rows_read_total', 'counter', d1Totals.rowsRead),
      toMetric('rookery_d1_rows_written_total', 'counter', d1Totals.rowsWritten),
    ]
    return c.body([...counters, ...gauges].join(''), 200, {
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
    })
  })
}

const PATIENCE_MS = 1_000

/** The hub serves without a scheduler too, so its silence or failure is not the hub's. */
const readSweepAge = ({ scheduler }: ActionContext): Promise<number | null> =>
  Promise.race([
    scheduler.readSweepAge().catch(() => null),
    new Promise<null>((resolve) => setTimeout(() => resolve(null), PATIENCE_MS)),
  ])

const toMetric = (name: string, type: 'gauge' | 'counter', value: number): string =>
  `# TYPE ${name} ${type}\n${name} ${value}\n`

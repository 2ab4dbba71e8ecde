import type { Handler, Hono } from 'hono'
import { run } from '../../shared/db/batch'
import { wasStorageFull } from '../../shared/db/database-fault'
import { d1Totals } from '../../shared/db/db'
import { renderTotals } from '../../shared/markdown/render-markdown'
import type { ActionContext } from '../action-context'
import { readCredential, readWithViewer } from '../http/authenticate'
import { declareEntry, type EntryRule } from '../http/entry-rule'
import type { HubDeps, HubEnv } from '../http/hub-env'
import { selectAgentCounters, selectTotals } from './counter-queries'
import { formatMetrics } from './format-metrics'
import { describeCounters, describeGauges, describeIsolate, describeSweep } from './metrics'
import { selectAnswers, selectGauges } from './queries'

/**
 * Mounts `GET /healthz` (the process answers), `GET /readyz` (it can read and save) and `GET /metrics` for
 * monitoring.
 */
export function mountProbes(app: Hono<HubEnv>, readDisk: HubDeps['readDisk']): void {
  const probe: EntryRule = { rate: 'read', body: 'none' }
  const sendHealth = declareEntry<Handler<HubEnv>>(probe, async (c) => {
    const age = await readSweepAge(c.var.context)
    return c.json({ status: 'ok', sweep_age_seconds: age === null ? null : Math.round(age / 1000) })
  })

  const sendReadiness = declareEntry<Handler<HubEnv>>(probe, async (c) => {
    const { context } = c.var
    const disk = (await readDisk?.().catch(() => null)) ?? null
    const answers = await run(context.db, selectAnswers()).catch(() => false)
    // A disk that was freed is known at once; the platform's storage only by the last write.
    const isFull = disk ? disk.state === 'full' : wasStorageFull(Date.now())
    const reasons = [
      ...(answers ? [] : ['The database does not answer.']),
      ...(isFull ? ['The storage is full: nothing can be saved.'] : []),
    ]
    c.header('cache-control', 'no-store')
    return c.json(
      { status: reasons.length === 0 ? 'ready' : 'not ready', reasons, disk },
      reasons.length === 0 ? 200 : 503,
    )
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
  app.get('/readyz', sendReadiness)
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

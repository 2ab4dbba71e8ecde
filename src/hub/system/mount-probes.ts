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
import { selectGauges, selectSchemaState } from './queries'

/** What is known where no launcher answers: the platform runs the hub, and agents are in its database. */
const noMachine = { disk: null, agents: null }

/**
 * Mounts `GET /healthz` (the process answers), `GET /readyz` (it can read, save, and wake its agents) and
 * `GET /metrics` for monitoring.
 */
export function mountProbes(app: Hono<HubEnv>, readMachine: HubDeps['readMachine']): void {
  const probe: EntryRule = { rate: 'read', body: 'none' }
  const sendHealth = declareEntry<Handler<HubEnv>>(probe, async (c) => {
    const age = await readSweepAge(c.var.context)
    return c.json({ status: 'ok', sweep_age_seconds: age === null ? null : Math.round(age / 1000) })
  })

  const sendReadiness = declareEntry<Handler<HubEnv>>(probe, async (c) => {
    const { disk, agents } = (await readMachine?.().catch(() => null)) ?? noMachine
    const schema = await run(c.var.context.db, selectSchemaState()).catch(() => null)
    // A disk that was freed is known at once; the platform's storage only by the last write.
    const isFull = disk ? disk.state === 'full' : wasStorageFull(Date.now())
    const reasons = [
      ...(schema === null ? ['The database does not answer or was never migrated.'] : []),
      ...(schema === 'old' ? ['The database lacks migrations of this version.'] : []),
      ...(isFull ? ['The storage is full: nothing can be saved.'] : []),
      ...(agents?.state === 'loading' ? ['The agents of this machine are being loaded.'] : []),
    ]
    const isReady = reasons.length === 0
    c.header('cache-control', 'no-store')
    const status = isReady ? 'ready' : 'not ready'
    return c.json({ status, reasons, disk, agents }, isReady ? 200 : 503)
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

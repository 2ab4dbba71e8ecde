import type { Handler, Hono } from 'hono'
import * as z from 'zod'
import { run } from '../../shared/db/batch'
import { wasStorageFull } from '../../shared/db/database-fault'
import { d1Totals } from '../../shared/db/db'
import { renderTotals } from '../../shared/markdown/render-markdown'
import { postWelcome } from '../budgets/report-actions'
import type { ActionContext } from '../database/action-context'
import { readCredential, readWithViewer } from '../http/authenticate'
import { declareEntry, type EntryRule } from '../http/guard-entry'
import type { HubDeps, HubEnv } from '../http/hub-env'
import { presentIdempotent, type Route, routesOf } from '../http/route'
import { announceStop } from '../live/live-publisher'
import {
  describeCounters,
  describeGauges,
  describeIsolate,
  describeSweep,
  formatMetrics,
  pauseAgents,
  recordStop,
} from './system-actions'
import {
  selectAgentCounters,
  selectGauges,
  selectSchemaState,
  selectTotals,
} from './system-queries'

const route = routesOf('hub')

const pause = (path: string, isPaused: boolean): Route =>
  route({
    method: 'post',
    path,
    summary: `${isPaused ? 'Pauses' : 'Resumes'} ${path.includes(':name') ? 'one agent' : 'all agents'}; takes effect before the next model call (admin)`,
    tag: path.includes(':name') ? 'agents' : 'hub',
    access: 'admin',
    answer: z.object({ is_paused: z.boolean() }),
    handle: async (call) => {
      const name = path.includes(':name') ? call.param('name') : null
      const result = await pauseAgents(call.context, call.actor(), name, isPaused)
      return presentIdempotent(call, result, (done) => ({ is_paused: done.isPaused }))
    },
  })

/** Routes to pause and resume agents, to welcome people to a new hub, and to end the connections of one that stops, for admins. */
export const systemRoutes: Route[] = [
  pause('/system/pause', true),
  pause('/system/resume', false),
  pause('/agents/:name/pause', true),
  pause('/agents/:name/resume', false),
  route({
    method: 'post',
    path: '/system/welcome',
    summary: 'Posts the welcome thread, if nothing was ever posted on this hub (admin)',
    access: 'admin',
    answer: z.object({}),
    handle: async (call) => {
      await postWelcome(call.context)
      return {}
    },
  }),
  route({
    method: 'post',
    path: '/system/announce-stop',
    summary:
      'Closes all live connections with code 1001, before the hub stops; clients connect again (admin)',
    access: 'admin',
    answer: z.object({}),
    handle: async (call) => {
      await run(call.context.db, recordStop(call.context, call.actor().accountId))
      await announceStop(call.context)
      return {}
    },
  }),
]

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

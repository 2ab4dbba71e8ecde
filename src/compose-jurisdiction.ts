import * as z from 'zod'

const jurisdiction = z.enum(['eu', 'us', 'fedramp']).optional()

/** The bindings of Durable Objects. */
export type ObjectBindings = Pick<
  Env,
  'AGENTS' | 'SCHEDULER' | 'LIVE' | 'RATE_COUNTERS' | 'RUNNERS'
>

/**
 * Returns the bindings with objects that stay in the jurisdiction of the deployment, if it has one. An object of the
 * same name elsewhere is another one with other data, so `npm run deploy` writes ROOKERY_JURISDICTION and never changes it.
 */
export function restrictObjects<Bindings extends ObjectBindings>(bindings: Bindings): Bindings {
  const chosen = jurisdiction.parse(Reflect.get(bindings, 'ROOKERY_JURISDICTION'))
  if (chosen === undefined) return bindings
  return {
    ...bindings,
    AGENTS: bindings.AGENTS.jurisdiction(chosen),
    SCHEDULER: bindings.SCHEDULER.jurisdiction(chosen),
    LIVE: bindings.LIVE.jurisdiction(chosen),
    RATE_COUNTERS: bindings.RATE_COUNTERS.jurisdiction(chosen),
    RUNNERS: bindings.RUNNERS.jurisdiction(chosen),
  }
}

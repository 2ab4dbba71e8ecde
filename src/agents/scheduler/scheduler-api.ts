import type { SchedulerApi } from '../contract'
import type { SchedulerObjectBase } from './scheduler-object'

/** One scheduler for the hub. */
export function createSchedulerApi(
  namespace: DurableObjectNamespace<SchedulerObjectBase<unknown>>,
): SchedulerApi {
  const object = () => namespace.getByName('scheduler')
  return {
    arm: async () => object().arm(),
    disarm: async (token) => object().disarm(token),
    ensureStarted: () => object().ensureStarted(),
    hear: (news) => object().hear(news),
    lookSoon: () => object().lookSoon(),
    explain: async (question) => object().explain(question),
    readSweepAge: async () => object().readSweepAge(),
  }
}

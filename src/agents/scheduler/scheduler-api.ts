import type { SchedulerApi } from '../contract/agents'
import type { SchedulerObjectBase } from './scheduler-object'

/** Creates the API of the hub's single scheduler object. */
export function createSchedulerApi(
  namespace: DurableObjectNamespace<SchedulerObjectBase<unknown>>,
): SchedulerApi {
  const object = () => namespace.getByName('scheduler')
  return {
    arm: async () => object().arm(),
    disarm: async (token, newsAt) => object().disarm(token, newsAt),
    ensureStarted: () => object().ensureStarted(),
    reportOutcome: (news) => object().reportOutcome(news),
    sweepAt: async (at) => object().sweepAt(at),
    announceNews: async (at) => object().announceNews(at),
    sweepNow: () => object().sweepNow(),
    explain: async (question) => object().explain(question),
    reset: () => object().reset(),
    readSweepAge: async () => object().readSweepAge(),
  }
}

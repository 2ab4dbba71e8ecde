import type { Usage } from '../../hub/contract/hub'
import type { Charge } from '../loop/event'
import type { Ending } from '../loop/state'
import type { RunEvent, RunLog } from '../run/run-event'
import { toRunLog } from '../run/run-log'
import { listCharges } from '../run/spend'
import { serializeRunLog } from '../run/stored-log'
import { type EffectContext, findLoadedFacts } from './effect-context'

/** Returns the log of the activation as it parks or ends. */
export function readRunLog(context: EffectContext, ending: Ending | null, now: number): RunLog {
  return toRunLog(context.getActivation().events, ending, ending ? now : null)
}

/**
 * Returns what the hub stores of an activation when it parks or ends: usage, tools, log and model.
 */
export function composeActivationRecord(context: EffectContext, log: RunLog) {
  const model = findLoadedFacts(context.getActivation().events)?.model.id ?? 'none'
  return {
    usage: collectUsage(log, model),
    tools: listReturnedTools(log.events),
    trace: serializeRunLog(log),
    model,
  }
}

/** Returns the usage of every call that has a charge, numbered in the order of the log. */
const collectUsage = ({ events }: RunLog, model: string): Usage[] =>
  listCharges(events).map(({ at, charge }, index) => ({
    ...toUsage(charge),
    call: index + 1,
    ...toModelFields(charge.model ?? model),
    at,
  }))

/** Returns the names of the tools that returned a result. */
function listReturnedTools(events: RunEvent[]): string[] {
  const names = new Set<string>()
  for (const event of events) if (event.type === 'tool_returned') names.add(event.name)
  return [...names]
}

/** Returns the model and its executor: the provider, for agents that run on this hub. */
export const toModelFields = (model: string) => ({ model, executor: model.split('/')[0] ?? model })

const toUsage = (charge: Charge) => ({
  inputTokens: charge.inputTokens,
  cachedTokens: charge.cachedTokens,
  outputTokens: charge.outputTokens,
  reasoningTokens: charge.reasoningTokens,
  costMicrousd: charge.microusd,
  isPriced: charge.isPriced,
  isEstimated: charge.isEstimated,
  durationMs: charge.durationMs,
})

import type { Usage } from '../../hub/contract/hub'
import type { Charge, LoopEvent } from '../loop/event'
import type { Ending } from '../loop/state'
import { toStoredTrace } from '../trace/stored-trace'
import { type EffectContext, findLoadedFacts } from './effect-context'

/**
 * Returns what the hub stores of an activation when it parks or ends: usage, tools, trace and
 * model.
 */
export function composeActivationRecord(
  context: EffectContext,
  ending: Ending | null,
  now: number,
) {
  const { events } = context.getActivation()
  const model = findLoadedFacts(events)?.model.id ?? 'none'
  return {
    usage: collectUsage(events, model),
    tools: listReturnedTools(events),
    trace: toStoredTrace({
      texts: context.journal.readTexts(),
      events,
      ending,
      finishedAt: ending ? now : null,
    }),
    model,
  }
}

/** Returns the usage of every call that has a charge, numbered in the order of the journal. */
function collectUsage(events: LoopEvent[], model: string): Usage[] {
  const usage: Usage[] = []
  for (const event of events) {
    if (!('charge' in event) || !event.charge) continue
    usage.push({
      ...toUsage(event.charge),
      call: usage.length + 1,
      ...toModelFields(event.charge.model ?? model),
      at: event.at,
    })
  }
  return usage
}

/** Returns the names of the tools that returned a result. */
function listReturnedTools(events: LoopEvent[]): string[] {
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

import type { Usage } from '../../hub/contract'
import type { Charge, LoopEvent } from '../loop/event'
import type { Ending } from '../loop/state'
import { storeTrace } from '../trace/stored-trace'
import { loadedFacts, type Workbench } from './workbench'

/** What the hub's books hold of an activation, whether it parks or ends. */
export function composeAccount(bench: Workbench, ending: Ending | null, now: number) {
  const { events } = bench.now()
  const model = loadedFacts(events)?.model.id ?? 'none'
  return {
    usage: collectUsage(events, model),
    tools: listReturned(events),
    trace: storeTrace({
      texts: bench.journal.readTexts(),
      events,
      ending,
      finishedAt: ending ? now : null,
    }),
    model,
  }
}

/** Every call that cost something or may have, numbered in the order it was known (B1, L36). */
function collectUsage(events: LoopEvent[], model: string): Usage[] {
  const usage: Usage[] = []
  for (const event of events) {
    if (!('charge' in event) || !event.charge) continue
    usage.push({
      ...describeCharge(event.charge),
      call: usage.length + 1,
      ...nameModel(event.charge.model ?? model),
      at: event.at,
    })
  }
  return usage
}

function listReturned(events: LoopEvent[]): string[] {
  const names = new Set<string>()
  for (const event of events) if (event.type === 'tool_returned') names.add(event.name)
  return [...names]
}

/** While agents run on this hub, what carries out a call is its provider. */
export const nameModel = (model: string) => ({ model, executor: model.split('/')[0] ?? model })

const describeCharge = (charge: Charge) => ({
  inputTokens: charge.inputTokens,
  cachedTokens: charge.cachedTokens,
  outputTokens: charge.outputTokens,
  reasoningTokens: charge.reasoningTokens,
  costMicrousd: charge.microusd,
  isPriced: charge.isPriced,
  isEstimated: charge.isEstimated,
  durationMs: charge.durationMs,
})

import type { DefinitionFacts } from '../../agents/contract/agents'
import { formatCount, formatMoney } from '../../shared/format'

/** Returns the most that a run can cost by its definition: the tokens of a run, and not more than its budget a day. */
export function formatRunCost({
  runCostMaxMicrousd,
  activationTokensMax,
  budget: { costPerDayMicrousd },
}: DefinitionFacts): string {
  const tokens = `${formatCount(activationTokensMax)} tokens`
  if (runCostMaxMicrousd === null) return `${tokens}, of a model without a known price`
  if (costPerDayMicrousd !== null && costPerDayMicrousd < runCostMaxMicrousd) {
    return `${formatMoney(costPerDayMicrousd, 'budget')}, its budget a day, or ${tokens}`
  }
  return `${formatMoney(runCostMaxMicrousd, 'trace')} (${tokens})`
}

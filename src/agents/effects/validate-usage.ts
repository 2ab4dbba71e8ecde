import type { ModelUsage } from '../loop/message'

/** More tokens than any model reads or writes in one call: a greater count is no count. */
const tokensMax = 1_000_000_000

/**
 * Returns the usage that a provider reported, in whole tokens: all of it, also when it is more than was reserved. Null
 * when it cannot be a count: negative, not a number, or without an end. The budgets of the hub depend on it.
 */
export function validateUsage(reported: ModelUsage): ModelUsage | null {
  const counts = [
    reported.inputTokens,
    reported.cachedTokens,
    reported.cacheWriteTokens ?? 0,
    reported.outputTokens,
    reported.reasoningTokens,
  ]
  const isCount = counts.every((count) => count >= 0 && count <= tokensMax)
  return isCount ? clampUsage(reported, { input: tokensMax, output: tokensMax }) : null
}

/** Rounds usage up to whole tokens within the bounds; a part is never more than its total. */
export function clampUsage(
  usage: ModelUsage,
  bounds: { input: number; output: number },
): ModelUsage {
  const inputTokens = Math.min(bounds.input, Math.ceil(usage.inputTokens))
  const outputTokens = Math.min(bounds.output, Math.ceil(usage.outputTokens))
  const cachedTokens = Math.min(inputTokens, Math.ceil(usage.cachedTokens))
  const cacheWriteTokens = Math.min(
    inputTokens - cachedTokens,
    Math.ceil(usage.cacheWriteTokens ?? 0),
  )
  return {
    inputTokens,
    cachedTokens,
    ...(cacheWriteTokens > 0 && { cacheWriteTokens }),
    outputTokens,
    reasoningTokens: Math.min(outputTokens, Math.ceil(usage.reasoningTokens)),
  }
}

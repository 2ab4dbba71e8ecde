import type { ModelUsage } from '../loop/message'

/** The most tokens that a call can use. */
interface Bounds {
  input: number
  output: number
}

/**
 * Providers add tokens to prompts: usage that exceeds a bound by at most this much is charged at
 * the bound.
 */
const tolerance = { share: 0.05, tokens: 256 }

/**
 * Returns the usage that a provider reported, clamped to whole tokens within the bounds. Null when
 * it cannot be right: negative, not a number, or more than the call could have used. The budgets of
 * the hub depend on it.
 */
export function validateUsage(reported: ModelUsage, bounds: Bounds): ModelUsage | null {
  const counts = [
    reported.inputTokens,
    reported.cachedTokens,
    reported.cacheWriteTokens ?? 0,
    reported.outputTokens,
    reported.reasoningTokens,
  ]
  if (!counts.every((count) => Number.isFinite(count) && count >= 0)) return null
  if (isBeyond(reported.inputTokens, bounds.input)) return null
  if (isBeyond(reported.outputTokens, bounds.output)) return null
  return clampUsage(reported, bounds)
}

const isBeyond = (count: number, bound: number): boolean =>
  count > bound + Math.max(tolerance.tokens, bound * tolerance.share)

/** Rounds usage up to whole tokens within the bounds; a part is never more than its total. */
export function clampUsage(usage: ModelUsage, bounds: Bounds): ModelUsage {
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

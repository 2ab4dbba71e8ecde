import type { ModelUsage } from '../loop/message'

interface Bounds {
  input: number
  output: number
}

/** Providers frame prompts in ways of their own: so much past a bound is charged at the bound. */
const tolerance = { share: 0.05, tokens: 256 }

/**
 * A provider's usage as a charge may hold it, or null when it cannot be true: negative, not a
 * number, or more than the call could ever have used. The hub's budgets rest on this.
 */
export function judgeUsage(told: ModelUsage, bounds: Bounds): ModelUsage | null {
  const counts = [
    told.inputTokens,
    told.cachedTokens,
    told.cacheWriteTokens ?? 0,
    told.outputTokens,
    told.reasoningTokens,
  ]
  if (!counts.every((count) => Number.isFinite(count) && count >= 0)) return null
  if (isBeyond(told.inputTokens, bounds.input)) return null
  if (isBeyond(told.outputTokens, bounds.output)) return null
  return limitUsage(told, bounds)
}

const isBeyond = (count: number, bound: number): boolean =>
  count > bound + Math.max(tolerance.tokens, bound * tolerance.share)

/** Whole tokens, rounded up, within the bounds; a part is never more than its whole. */
export function limitUsage(usage: ModelUsage, bounds: Bounds): ModelUsage {
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

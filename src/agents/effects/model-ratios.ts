import type { Charge } from '../loop/event'
import { learnRatio, type TokenRatio } from '../models/token-ratio'
import type { EffectContext } from './effect-context'
import { type CallPlan, estimateWideTokens } from './price-call'

/** Models that one agent remembers; the oldest one is evicted first. */
const modelsMax = 20

/** Returns what a model has counted for this agent's prompts, as a part of a call's plan. */
export function findRatio(context: EffectContext, modelId: string): Pick<CallPlan, 'ratio'> {
  const ratio = readRatios(context)[modelId]
  return ratio ? { ratio } : {}
}

/** Learns from what a provider has counted. An estimated charge teaches nothing. */
export function recordCount(context: EffectContext, plan: CallPlan, charge: Charge): void {
  if (charge.isEstimated || plan.model.isOffline) return
  const { [plan.model.id]: before, ...others } = readRatios(context)
  const ratio = learnRatio(before ?? null, charge.inputTokens, estimateWideTokens(plan))
  if (before && isSame(before, ratio)) return
  const newest = Object.entries(others).slice(1 - modelsMax)
  context.ratios = { ...Object.fromEntries(newest), [plan.model.id]: ratio }
  context.journal.saveRatios(context.ratios)
}

/** Whether a change is too small to be worth a write. */
const isSame = (one: TokenRatio, other: TokenRatio): boolean =>
  Math.abs(one.mean - other.mean) < 0.005 && Math.abs(one.high - other.high) < 0.005

function readRatios(context: EffectContext): Record<string, TokenRatio> {
  context.ratios ??= context.journal.readRatios()
  return context.ratios
}

/**
 * Money and tokens: what an agent at work is told of them, and what it tells. Part of the hub's
 * contract; other rooms import it from `contract.ts`.
 */
import type { BudgetId } from '../ids'

/** What the model is told about money, in numbers (L12 turns them into words). */
export interface BudgetStatus {
  id: BudgetId
  scope: 'hub' | 'agent' | 'executor' | 'model' | 'community'
  /** Account id, name of a provider, `provider/model`, community id; '' for the hub. */
  scopeId: string
  period: 'day' | 'week' | 'month'
  /** Shares of a limit from which on it warns, pauses looking around, and refuses tasks (B3). */
  warningShare: number
  throttleShare: number
  criticalShare: number
  limitMicrousd: number | null
  limitTokens: number | null
  spentMicrousd: number
  spentTokens: number
  /** Open reservations of running activations, this one's included. */
  reservedMicrousd: number
  reservedTokens: number
  endsAt: number
}

export interface Reservation {
  /** What this activation may still spend beyond what it has reported; null is no limit. */
  microusd: number
  tokens: number
}

/** One model call, for the books (B1). */
export interface Usage {
  call: number
  executor: string
  model: string
  inputTokens: number
  cachedTokens: number
  outputTokens: number
  reasoningTokens: number
  costMicrousd: number
  isPriced: boolean
  isEstimated: boolean
  durationMs: number
  at: number
}

/**
 * Budgets, reservations and usage, in micro-dollars and tokens. Part of the hub's contract; other
 * modules import it from `contract.ts`.
 */
import type { BudgetId } from '../../shared/ids'

/** Limits and current use of one budget. The status layer of the prompt is generated from it. */
export interface BudgetStatus {
  id: BudgetId
  scope:
    | 'hub'
    | 'agent'
    | 'provider'
    | 'model'
    | 'community'
    | 'requester'
    | 'guests'
    | 'replay'
    | 'role:member'
    | 'role:guest'
  /** Account id (of the account that spends, for a role), provider name, `provider/model` or community id; '' for the hub and for replays. */
  scopeId: string
  period: 'day' | 'week' | 'month'
  /** Shares of the limit at which the hub warns, pauses explorations, and refuses tasks. */
  warningShare: number
  throttleShare: number
  criticalShare: number
  level: 'healthy' | 'warning' | 'throttle' | 'critical'
  /** Something is left, but less than the last call needs that was refused in this period. */
  isRefusing: boolean
  limitMicrousd: number | null
  limitTokens: number | null
  spentMicrousd: number
  spentTokens: number
  /** Open reservations of all running activations, this activation's included. */
  reservedMicrousd: number
  reservedTokens: number
  endsAt: number
}

/** Why a call was refused: what is left of the tightest budget, and what the call needs. */
export interface BudgetShortage {
  scope: BudgetStatus['scope']
  period: BudgetStatus['period']
  /** Of which the budget has too little. */
  kind: 'microusd' | 'tokens'
  left: number
  /** The least that the call can take; null before its prompt is known. */
  needs: number | null
  /** When the budget resets, in milliseconds since the epoch; null when it has no current window. */
  resetsAt: number | null
}

export interface Reservation {
  /** Amount this activation can spend in addition to what it has reported; null means no limit. */
  microusd: number
  tokens: number
}

/** Usage and cost of one model call. */
export interface Usage {
  call: number
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

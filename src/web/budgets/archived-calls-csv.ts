import type { ArchivedCall } from '../../hub/budgets/archived-call-queries'
import { toIso } from '../../shared/format'
import { formatCsv } from '../parts/csv'

const headers = [
  'time_utc',
  'agent',
  'activation_id',
  'call',
  'executor',
  'model',
  'task',
  'input_tokens',
  'cached_tokens',
  'output_tokens',
  'reasoning_tokens',
  'cost_usd',
  'is_estimated',
  'duration_ms',
]

/** Returns model calls as CSV. Cost is in dollars to the micro-dollar, and empty where a call has no price. */
export const formatArchivedCalls = (calls: ArchivedCall[]): string =>
  formatCsv([
    headers,
    ...calls.map((call) => [
      toIso(call.at),
      call.agentName,
      call.activationId,
      call.call,
      call.executor,
      call.model,
      call.task,
      call.inputTokens,
      call.cachedTokens,
      call.outputTokens,
      call.reasoningTokens,
      call.isPriced ? (call.costMicrousd / 1_000_000).toFixed(6) : null,
      call.isEstimated ? 'yes' : 'no',
      call.durationMs,
    ]),
  ])

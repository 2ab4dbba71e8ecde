import type { Settings } from '../../../settings'
import { openAIRetryPolicy, type RetryPolicy, transientStatuses } from './retry-policy'

/**
 * Workers AI over HTTPS, where it speaks Chat Completions: unlike a binding, this is the same on one
 * machine and deployed (docs/decisions/003-providers-without-ai.md).
 */
export const workersAIUrl = ({ WORKERS_AI_ACCOUNT_ID: account }: Settings): string | null =>
  account ? `https://api.cloudflare.com/client/v4/accounts/${account}/ai/v1` : null

/** 408: the model took too long. A used-up daily allocation says 429, like a lack of capacity. */
export const workersAIRetryPolicy: RetryPolicy = {
  ...openAIRetryPolicy,
  statuses: new Set([...transientStatuses, 408]),
  hopeless: ['daily free allocation'],
}

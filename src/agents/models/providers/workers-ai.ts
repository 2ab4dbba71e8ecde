import type { Settings } from '../../../shared/settings'
import { openAIRetryPolicy, type RetryPolicy, retryableStatuses } from './retry-policy'

/**
 * Returns the URL of Workers AI over HTTPS, with Chat Completions as its protocol. Unlike a binding,
 * this works the same locally and deployed (docs/decisions/003-providers-without-ai.md).
 */
export const toWorkersAIUrl = ({ WORKERS_AI_ACCOUNT_ID: account }: Settings): string | null =>
  account ? `https://api.cloudflare.com/client/v4/accounts/${account}/ai/v1` : null

/** Adds 408, the model's timeout. A used-up daily allocation answers 429, like a lack of capacity. */
export const workersAIRetryPolicy: RetryPolicy = {
  ...openAIRetryPolicy,
  statuses: new Set([...retryableStatuses, 408]),
  finalErrors: ['daily free allocation'],
}

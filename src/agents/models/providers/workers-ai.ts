import type { Settings } from '../../../shared/settings'
import { openAIRetryPolicy, type RetryPolicy } from './provider'

/**
 * Returns the URL of Workers AI over HTTPS, with Chat Completions as its protocol. Unlike a binding,
 * this works the same locally and deployed (docs/decisions/models.md).
 */
export const toWorkersAIUrl = ({ WORKERS_AI_ACCOUNT_ID: account }: Settings): string | null =>
  account ? `https://api.cloudflare.com/client/v4/accounts/${account}/ai/v1` : null

/** A used-up daily allocation answers 429, like a lack of capacity. */
export const workersAIRetryPolicy: RetryPolicy = {
  ...openAIRetryPolicy,
  finalErrors: ['daily free allocation'],
}

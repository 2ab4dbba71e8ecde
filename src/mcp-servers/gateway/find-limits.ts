import type { RateBucket, RateLimit } from '../../hub/contract/hub'
import { coversGrant } from '../tool/grant-pattern'
import type { PendingCall } from './pending-call'

const perMs = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const

/** Returns the rate limit buckets of a call: one for each limit that names its tool or its grant. */
export const findLimits = (
  limits: RateLimit[],
  { caller, tool, prepared }: Pick<PendingCall, 'caller' | 'tool' | 'prepared'>,
): RateBucket[] => {
  const names = [tool.name, prepared.actsAs ?? tool.name]
  const found = limits.filter(
    (limit) =>
      (limit.tool === undefined || names.includes(limit.tool)) &&
      (limit.grant === undefined || coversGrant(limit.grant, prepared.grant)),
  )
  const buckets = found.map((rule) => {
    const session = rule.scope === 'session' ? (caller.postId ?? caller.activationId ?? '') : '*'
    const ruleKey = `${rule.tool ?? '*'} ${rule.grant ?? '*'} ${rule.limit}/${rule.per}`
    const id = `${caller.accountId} ${session} ${ruleKey}`
    return { id, limit: rule.limit, perMs: perMs[rule.per] }
  })
  // The default and an account's own row can contain the same limit.
  return [...new Map(buckets.map((bucket) => [bucket.id, bucket])).values()]
}

/** Formats the error of a rate-limited call for the model. */
export const formatRateLimitError = (tool: string, retryMs: number): string =>
  `Error: Rate limit of ${tool} reached. Retry after ${Math.max(1, Math.ceil(retryMs / 1_000))} s.`

import type { RateLimit } from '../../hub/contract/hub'
import type { Policy } from '../../hub/grants/policy-body'
import { policyLabels } from '../../hub/grants/policy-labels'
import type { ErrorDetail } from '../../shared/errors'
import type { FormDefinition, FormState, Typed } from '../form/form-state'

/** The fields of the policy form, one rule per line. */
export const policyFields = ['allowed', 'denied', 'require_approval', 'rate_limits'] as const
type PolicyField = (typeof policyFields)[number]
type PolicyFormValues = Typed<PolicyField>
export type PolicyFormState = FormState<PolicyField>

const toLines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** A rate limit as `20 per hour`, `5 per day of tool:hub_create_post`, `100 per hour of github:* in each thread`. */
const limitPattern = /^(\d{1,7}) per (minute|hour|day)((?: of \S+){0,2})( in each thread)?$/

/** The form of a policy. A rate limit that can't be parsed is null, which the schema rejects at its line. */
export const policyForm: FormDefinition<PolicyField> = {
  rejected: 'The policy is not valid.',
  fields: {
    allowed: { parse: toLines },
    denied: { parse: toLines },
    require_approval: { parse: toLines },
    rate_limits: { parse: (text) => toLines(text).map(parseRateLimit) },
  },
  formatDetail: formatPolicyError,
}

function parseRateLimit(line: string): object | null {
  const [, limit, per, targets = '', thread] = limitPattern.exec(line.replace(/\s+/g, ' ')) ?? []
  if (limit === undefined) return null
  const parts = targets.split(' of ').filter((part) => part !== '')
  const tool = parts.find((part) => part.startsWith('tool:'))?.slice('tool:'.length)
  const grant = parts.find((part) => !part.startsWith('tool:'))
  return {
    limit: Number(limit),
    per,
    scope: thread === undefined ? 'agent' : 'session',
    ...(tool !== undefined && { tool }),
    ...(grant !== undefined && { grant }),
  }
}

/** Formats a rate limit as the form accepts it. */
export const formatRateLimit = ({ limit, per, tool, grant, scope }: RateLimit): string =>
  [
    `${limit} per ${per}`,
    ...(tool === undefined ? [] : [`of tool:${tool}`]),
    ...(grant === undefined ? [] : [`of ${grant}`]),
    ...(scope === 'session' ? ['in each thread'] : []),
  ].join(' ')

export const toPolicyValues = (policy: Policy): PolicyFormValues => ({
  allowed: policy.allowed.join('\n'),
  denied: policy.denied.join('\n'),
  require_approval: policy.requireApproval.join('\n'),
  rate_limits: policy.rateLimits.map(formatRateLimit).join('\n'),
})

/** Formats an error with the label of its field and its line: `denied.2` is `Denied, line 3`. */
export function formatPolicyError({ path, message }: ErrorDetail): string {
  const [field = '', index, part] = path.replace(/^body\./, '').split('.')
  const label = policyLabels[field as PolicyField] ?? field
  const isUnreadable = field === 'rate_limits' && index !== undefined && part === undefined
  const text = isUnreadable ? 'Use the form "5 per day of tool:hub_create_post"' : message
  return `${label}${index === undefined ? '' : `, line ${Number(index) + 1}`}: ${text}`
}

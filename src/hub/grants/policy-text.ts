import type { ErrorDetail } from '../../errors'
import type { RateLimit } from '../contract'
import type { Policy } from './policy-body'

/** A policy as it stands in the page's form: a rule a line. */
export interface PolicyText {
  allowed: string
  denied: string
  require_approval: string
  rate_limits: string
}

export const policyFields = ['allowed', 'denied', 'require_approval', 'rate_limits'] as const

export const fieldWords: Record<keyof PolicyText, string> = {
  allowed: 'Allowed',
  denied: 'Denied',
  require_approval: 'Needs a person’s yes',
  rate_limits: 'At most',
}

const toLines = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** `20 per hour`, `5 per day of tool:hub_create_post`, `100 per hour of github:* in each thread`. */
const limitForm = /^(\d{1,7}) per (minute|hour|day)((?: of \S+){0,2})( in each thread)?$/

/**
 * What was typed, in the form that the API takes; its own schema checks it.
 *
 * @returns lines that are no rule by field, when there are some
 */
export function readPolicyText(text: PolicyText): { body: object; problems: ErrorDetail[] } {
  const limits = toLines(text.rate_limits).map(readLimit)
  const problems = limits.flatMap((limit, index) =>
    limit === null
      ? [
          {
            path: `body.rate_limits.${index}`,
            message: 'write it like "5 per day of tool:hub_create_post"',
          },
        ]
      : [],
  )
  const body = {
    allowed: toLines(text.allowed),
    denied: toLines(text.denied),
    require_approval: toLines(text.require_approval),
    rate_limits: limits,
  }
  return { body, problems }
}

function readLimit(line: string): object | null {
  const [, limit, per, what = '', thread] = limitForm.exec(line.replace(/\s+/g, ' ')) ?? []
  if (limit === undefined) return null
  const of = what.split(' of ').filter((each) => each !== '')
  const tool = of.find((each) => each.startsWith('tool:'))?.slice('tool:'.length)
  const grant = of.find((each) => !each.startsWith('tool:'))
  return {
    ...{ limit: Number(limit), per, scope: thread === undefined ? 'agent' : 'session' },
    ...(tool !== undefined && { tool }),
    ...(grant !== undefined && { grant }),
  }
}

export const sayLimit = ({ limit, per, tool, grant, scope }: RateLimit): string =>
  [
    `${limit} per ${per}`,
    ...(tool === undefined ? [] : [`of tool:${tool}`]),
    ...(grant === undefined ? [] : [`of ${grant}`]),
    ...(scope === 'session' ? ['in each thread'] : []),
  ].join(' ')

export const writePolicyText = (policy: Policy): PolicyText => ({
  allowed: policy.allowed.join('\n'),
  denied: policy.denied.join('\n'),
  require_approval: policy.requireApproval.join('\n'),
  rate_limits: policy.rateLimits.map(sayLimit).join('\n'),
})

/** `body.denied.2` as a person sees it: `Denied, line 3`. */
export function sayPlace({ path, message }: ErrorDetail): string {
  const [, field = '', index] = path.split('.')
  const words = fieldWords[field as keyof PolicyText] ?? field
  return `${words}${index === undefined ? '' : `, line ${Number(index) + 1}`}: ${message}`
}

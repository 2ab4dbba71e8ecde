import * as z from 'zod'
import { approvals } from '../../shared/config'
import { knownFields } from '../../shared/known-fields'
import type { CallPolicy } from '../contract/hub'
import { policyLinePattern } from '../contract/policy-line'
import { presenterOf } from '../http/presenter'

/** A policy as an admin sets it, without the grants that an agent requests. */
export type Policy = Pick<CallPolicy, 'allowed' | 'denied' | 'requireApproval' | 'rateLimits'>

/** A grant pattern: segments separated by colons; `*` matches a segment or the rest. */
const grant = z
  .string()
  .max(200)
  .regex(
    /^[^\s:]+(:[^\s:]+)*$/,
    'Must be segments separated by colons, e.g. github:read or aws:s3:read:*',
  )
const grants = z.array(grant).max(200)

/**
 * A line of the allowed grants: a pattern, for whose requests it holds, whose credential is used, and whether it is
 * trusted. A new one is shorter: accounts that it names can get longer names.
 */
const allowedLine = z
  .string()
  .max(4_000)
  .regex(
    policyLinePattern,
    'Must be a grant, optionally "for" guests, members, admins, exploration, moderators of m/name or @name, "as" agent or requester, and "trusted", e.g. github:read for guests, @mira',
  )
const allowedLines = z.array(allowedLine).max(200)

/** A rule such as `hub:write`, `aws:s3:*`, `tier:write` or `tool:hub_create_post`. */
const approvalRule = grant.describe('a grant pattern, tier:<tier> or tool:<name>')

const rateLimit = knownFields({
  tool: z.string().min(1).max(64).optional(),
  grant: grant.optional(),
  per: z.enum(['minute', 'hour', 'day']),
  limit: z.number().int().min(1).max(1_000_000),
  scope: z
    .enum(['agent', 'session'])
    .default('agent')
    .describe('counted per account, or per thread that the account works on'),
})

export const policyBody = knownFields({
  allowed: allowedLines,
  denied: grants.default([]),
  require_approval: z.array(approvalRule).max(200).default([]),
  rate_limits: z.array(rateLimit).max(approvals.rateLimitsMax).default([]),
})

type PolicyBody = z.output<typeof policyBody>

export const toPolicy = (body: PolicyBody): Policy => ({
  allowed: body.allowed,
  denied: body.denied,
  requireApproval: body.require_approval,
  rateLimits: body.rate_limits,
})

const rateLimitAnswer = rateLimit.extend({ scope: rateLimit.shape.scope.unwrap() })

export const policyAnswer = z.object({
  allowed: allowedLines,
  denied: grants,
  require_approval: z.array(approvalRule),
  rate_limits: z.array(rateLimitAnswer),
})

export const presentPolicy = presenterOf(policyAnswer).from<Policy>({})

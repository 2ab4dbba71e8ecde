import * as z from 'zod'
import { approvals } from '../../shared/config'
import { knownFields } from '../../shared/known-fields'
import type { CallPolicy } from '../contract/hub'
import { policyLinePattern } from '../contract/policy-line'
import { presenterOf } from '../http/answers'

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

/** Labels of the policy fields. */
export const policyLabels = {
  allowed: 'Allowed',
  denied: 'Denied',
  require_approval: 'Requires approval',
  rate_limits: 'Rate limits',
}

/** Notes below the policy fields of the form. */
export const policyNotes: typeof policyLabels = {
  allowed:
    'Grants, one per line: hub:read for guests, github:*, http:weather:read for @mira, github:write for moderators of m/garden. A line applies to members unless it names others; a * at the end matches the rest. With "as requester", as in acme:* as requester, calls use the account that the requester has connected; those of other lines use the credential of the service, the community or the agent.',
  denied: 'Grants, one per line. A denied grant stays denied, whatever else is allowed.',
  require_approval: 'Grants, tier:write or tool:hub_create_post, one per line.',
  rate_limits:
    'One per line: 20 per hour, or 5 per day of tool:hub_create_post, or 100 per hour of github:* in each thread.',
}

/** Labels of tiers of tools: in the list of tools, and the effect of a call that is to be approved. */
export const tierLabels = {
  read: { label: 'reads', effect: 'read-only' },
  write: { label: 'writes', effect: 'writes data' },
  destructive: { label: 'destructive', effect: 'destructive: may be irreversible' },
} as const

const labelsByTier: Record<string, { label: string }> = tierLabels

/** Formats a tier; of some tools it depends on the call, as `read or write`. */
export const formatTier = (tier: string): string =>
  tier
    .split(' or ')
    .map((part) => labelsByTier[part]?.label ?? part)
    .join(' or ')

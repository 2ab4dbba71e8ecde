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

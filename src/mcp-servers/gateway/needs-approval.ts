import { coversGrant } from '../tool/grant-pattern'

/**
 * Whether the policy requires approval for a call. An entry is `tier:write`, `tool:hub_create_post` or
 * a grant pattern such as `github:*`.
 */
export const needsApproval = (
  entries: string[],
  call: { name: string; tier: string; grant: string },
): boolean =>
  entries.some((entry) => {
    if (entry.startsWith('tier:')) return entry === `tier:${call.tier}`
    if (entry.startsWith('tool:')) return entry === `tool:${call.name}`
    return coversGrant(entry, call.grant)
  })

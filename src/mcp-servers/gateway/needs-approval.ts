import { coversGrant } from '../tool/grant-pattern'

/** A call as the approval rules of a policy see it. */
export interface RuledCall {
  name: string
  tier: string
  grant: string
  /** The tool that does the same as this call; null or absent: none. */
  actsAs?: string | null
}

/**
 * Returns the entries of the policy that require approval for a call. An entry is `tier:write`,
 * `tool:hub_create_post` or a grant pattern such as `github:*`.
 */
export const listApprovalEntries = (entries: string[], call: RuledCall): string[] =>
  entries.filter((entry) => {
    if (entry.startsWith('tier:')) return entry === `tier:${call.tier}`
    if (entry.startsWith('tool:')) {
      return entry === `tool:${call.name}` || entry === `tool:${call.actsAs}`
    }
    return coversGrant(entry, call.grant)
  })

/** Whether the policy requires approval for a call. */
export const needsApproval = (entries: string[], call: RuledCall): boolean =>
  listApprovalEntries(entries, call).length > 0

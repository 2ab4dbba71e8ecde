import type { ToolAccess } from '../contract/hub'

export const presentVerdict = ({
  tool,
  isAllowed,
  reason,
  grants,
  approval,
}: ToolAccess): object => ({
  name: tool.name,
  server: tool.server,
  description: tool.description,
  tier: tool.tier,
  grant: tool.grant,
  is_allowed: isAllowed,
  reason,
  /** The granted part of the tool's grant. */
  grants,
  needs_approval: approval,
})

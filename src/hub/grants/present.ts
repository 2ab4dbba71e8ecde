import type { ToolVerdict } from '../contract'

export const presentVerdict = ({
  tool,
  isAllowed,
  reason,
  grants,
  approval,
}: ToolVerdict): object => ({
  name: tool.name,
  server: tool.server,
  description: tool.description,
  tier: tool.tier,
  grant: tool.grant,
  is_allowed: isAllowed,
  reason,
  /** What of its grant is open. */
  grants,
  needs_approval: approval,
})

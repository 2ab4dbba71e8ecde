import * as z from 'zod'
import type { ToolAccess } from '../contract/hub'

export const verdictAnswer = z
  .object({
    name: z.string(),
    server: z.string(),
    description: z.string(),
    tier: z.string().describe('read, write or destructive; several when calls differ.'),
    grant: z.string().describe('Required grant, or the pattern that all its grants match.'),
    is_allowed: z.boolean(),
    reason: z.string().nullable().describe('Why the tool is not allowed.'),
    grants: z.array(z.string()).describe('The granted part of the grant.'),
    needs_approval: z
      .enum(['never', 'some', 'always'])
      .describe('some: depends on the arguments of a call.'),
  })
  .meta({ id: 'ToolAccess' })

export const presentVerdict = ({
  tool,
  isAllowed,
  reason,
  grants,
  approval,
}: ToolAccess): z.input<typeof verdictAnswer> => ({
  name: tool.name,
  server: tool.server,
  description: tool.description,
  tier: tool.tier,
  grant: tool.grant,
  is_allowed: isAllowed,
  reason,
  grants,
  needs_approval: approval,
})

import type {
  CallPolicy,
  KnownServer,
  KnownTool,
  KnownTools,
  ToolVerdict,
} from '../../hub/contract'
import type { Tier } from '../contract'
import type { ToolServer } from '../define-tool'
import { decide, isGranted, openGrants } from './decide'
import { intersectGrants, namesResource } from './grant-pattern'
import { needsApproval } from './needs-approval'

const tiers: Tier[] = ['read', 'write', 'destructive']

/** What a policy may name of these servers, and what it comes to, for who checks or shows one. */
export function listKnownTools(servers: readonly ToolServer[]): KnownTools {
  const known = servers.map(describeServer)
  const tools = known.flatMap((server) => server.tools)
  return {
    tiers,
    names: tools.map(({ name }) => name),
    needsSome: (pattern) => tools.some(({ grant }) => intersectGrants(pattern, grant) !== null),
    isTooWide: (pattern) =>
      !namesResource(pattern) &&
      tools.some(
        ({ isScoped, grant }) => isScoped && grant.split(':')[0] === pattern.split(':')[0],
      ),
    servers: known,
    judge: (policy) => tools.map((tool) => judge(policy, tool)),
    isGranted,
  }
}

const describeServer = ({ name, description, isForHosted, tools }: ToolServer): KnownServer => ({
  name,
  description,
  tools: tools.map((tool) => ({
    server: name,
    name: `${name}_${tool.name}`,
    description: tool.description,
    tier: tool.tier,
    grant: tool.grantShape,
    isForHosted: isForHosted === true,
    isScoped: tool.isScoped,
  })),
})

function judge(policy: CallPolicy, tool: KnownTool): ToolVerdict {
  const { name, grant, isForHosted, isScoped } = tool
  const asked = { name, tier: tool.tier as Tier, grantShape: grant, isForHosted, isScoped }
  const { isAllowed, reason, list } = decide(policy, {}, asked)
  const open = isAllowed ? openGrants(policy, grant) : []
  const grants = isScoped ? open.filter(namesResource) : open
  return { tool, isAllowed, reason, list, grants, approval: sayApproval(policy, tool) }
}

function sayApproval({ requireApproval }: CallPolicy, tool: KnownTool): ToolVerdict['approval'] {
  if (needsApproval(requireApproval, tool)) return 'always'
  const isMet = requireApproval.some(
    (entry) => !/^(tier|tool):/.test(entry) && intersectGrants(entry, tool.grant) !== null,
  )
  return isMet ? 'some' : 'never'
}

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
import type { ToolRegistry } from './tool-registry'

const tiers: Tier[] = ['read', 'write', 'destructive']

/** What a policy may name of these servers, and what it comes to, for who checks or shows one. */
export function listKnownTools(
  source: readonly ToolServer[] | Pick<ToolRegistry, 'servers' | 'refresh'>,
): KnownTools {
  const registry = isList(source) ? { servers: () => source, refresh: () => undefined } : source
  let listed: readonly ToolServer[] | null = null
  let known: KnownServer[] = []
  const servers = () => {
    const now = registry.servers()
    if (now !== listed) {
      listed = now
      known = now.map(describeServer)
    }
    return known
  }
  const tools = () => servers().flatMap((server) => server.tools)
  return {
    tiers,
    refresh: registry.refresh,
    get names() {
      return tools().map(({ name }) => name)
    },
    needsSome: (pattern) => tools().some(({ grant }) => intersectGrants(pattern, grant) !== null),
    isTooWide: (pattern) =>
      !namesResource(pattern) &&
      tools().some(
        ({ isScoped, grant }) => isScoped && grant.split(':')[0] === pattern.split(':')[0],
      ),
    get servers() {
      return servers()
    },
    judge: (policy) => tools().map((tool) => judge(policy, tool)),
    isGranted,
  }
}

const isList = (source: object): source is readonly ToolServer[] => Array.isArray(source)

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

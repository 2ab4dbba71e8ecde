import type {
  CallPolicy,
  KnownServer,
  KnownTool,
  KnownTools,
  ToolVerdict,
} from '../../hub/contract'
import { type CallShape, type ToolServer, tiers } from '../define-tool'
import { decide, isGranted, openGrants } from './decide'
import { meetShape, namesResource } from './grant-pattern'
import { needsApproval } from './needs-approval'
import type { ToolRegistry } from './tool-registry'

/** A tool as policies see it, with the grant shapes of its calls. */
type ShapedTool = KnownTool & { shapes: readonly CallShape[] }
type ShapedServer = KnownServer & { tools: readonly ShapedTool[] }

/** Returns the tools and grants that a policy can name, and functions to check and show a policy. */
export function listKnownTools(
  source: readonly ToolServer[] | Pick<ToolRegistry, 'servers' | 'refresh'>,
): KnownTools {
  const registry = isList(source) ? { servers: () => source, refresh: () => undefined } : source
  let listed: readonly ToolServer[] | null = null
  let known: ShapedServer[] = []
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
    needsSome: (pattern) => tools().some(({ shapes }) => findMet(shapes, pattern).length > 0),
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

const describeServer = ({ name, description, isForHosted, tools }: ToolServer): ShapedServer => ({
  name,
  description,
  tools: tools.map((tool) => ({
    server: name,
    name: `${name}_${tool.name}`,
    description: tool.description,
    tier: [...new Set(tool.shapes.map(({ tier }) => tier))].join(' or '),
    grant: tool.grantShape,
    shapes: tool.shapes,
    isForHosted: isForHosted === true,
    isScoped: tool.isScoped,
  })),
})

function judge(policy: CallPolicy, tool: ShapedTool): ToolVerdict {
  const { isAllowed, reason, list } = decide(policy, {}, tool)
  const grants = isAllowed ? listAllowedGrants(policy, tool) : []
  return { tool, isAllowed, reason, list, grants, approval: summarizeApproval(policy, tool) }
}

/** Returns the allowed grants of a tool; the tool's own grant when all of it is allowed. */
function listAllowedGrants(policy: CallPolicy, { shapes, grant, isScoped }: ShapedTool): string[] {
  const open = openGrants(policy, shapes)
  if (isScoped) return open.filter(namesResource)
  return shapes.every((shape) => open.includes(shape.grant)) ? [grant] : open
}

/** Returns whether all, some or none of a tool's calls require approval. */
function summarizeApproval(
  { requireApproval }: CallPolicy,
  { name, shapes }: ShapedTool,
): ToolVerdict['approval'] {
  const approved = shapes.filter((shape) => needsApproval(requireApproval, { name, ...shape }))
  if (approved.length === shapes.length) return 'always'
  const isMet = requireApproval.some(
    (entry) => !/^(tier|tool):/.test(entry) && findMet(shapes, entry).length > 0,
  )
  return isMet || approved.length > 0 ? 'some' : 'never'
}

const findMet = (shapes: readonly CallShape[], pattern: string): CallShape[] =>
  shapes.filter(({ grant }) => meetShape(grant, pattern) !== null)

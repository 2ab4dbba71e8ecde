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

/** A tool as policies see it, and what its calls may need. */
type ShapedTool = KnownTool & { shapes: readonly CallShape[] }
type ShapedServer = KnownServer & { tools: readonly ShapedTool[] }

/** What a policy may name of these servers, and what it comes to, for who checks or shows one. */
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
  const grants = isAllowed ? sayOpen(policy, tool) : []
  return { tool, isAllowed, reason, list, grants, approval: sayApproval(policy, tool) }
}

/** The tool's own grant for all of it. */
function sayOpen(policy: CallPolicy, { shapes, grant, isScoped }: ShapedTool): string[] {
  const open = openGrants(policy, shapes)
  if (isScoped) return open.filter(namesResource)
  return shapes.every((shape) => open.includes(shape.grant)) ? [grant] : open
}

function sayApproval(
  { requireApproval }: CallPolicy,
  { name, shapes }: ShapedTool,
): ToolVerdict['approval'] {
  const asking = shapes.filter((shape) => needsApproval(requireApproval, { name, ...shape }))
  if (asking.length === shapes.length) return 'always'
  const isMet = requireApproval.some(
    (entry) => !/^(tier|tool):/.test(entry) && findMet(shapes, entry).length > 0,
  )
  return isMet || asking.length > 0 ? 'some' : 'never'
}

const findMet = (shapes: readonly CallShape[], pattern: string): CallShape[] =>
  shapes.filter(({ grant }) => meetShape(grant, pattern) !== null)

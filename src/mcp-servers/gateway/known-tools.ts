import type {
  CallPolicy,
  CatalogServer,
  CatalogTool,
  ToolAccess,
  ToolCatalog,
} from '../../hub/contract/hub'
import { type CallShape, type ToolServer, tiers } from '../tool/define-tool'
import { intersectShape, namesResource } from '../tool/grant-pattern'
import { hashTool, needsApproval } from './approvals'
import { decide, isGranted, listOpenGrants, usesRequester } from './decide'
import type { ToolRegistry } from './registry'

/** A tool as policies see it, with the grant shapes of its calls. */
type ShapedTool = CatalogTool & {
  shapes: readonly CallShape[]
  actsAs: readonly string[]
  isConnectable: boolean
}
type ShapedServer = CatalogServer & { tools: readonly ShapedTool[] }

/** Returns the tools and grants that a policy can name, and functions to check and show a policy. */
export function listKnownTools(
  source: readonly ToolServer[] | Pick<ToolRegistry, 'servers' | 'refresh'>,
): ToolCatalog {
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
    hasToolForPattern: (pattern) =>
      tools().some(({ shapes }) => findMet(shapes, pattern).length > 0),
    isTooWide: (pattern) =>
      !namesResource(pattern) &&
      tools().some(
        ({ isScoped, grant }) => isScoped && grant.split(':')[0] === pattern.split(':')[0],
      ),
    get servers() {
      return servers()
    },
    evaluatePolicy: (policy) => tools().map((tool) => judge(policy, tool)),
    isGranted,
    hashTool: async (name) => {
      const found = registry
        .servers()
        .flatMap((server) =>
          server.tools.map((tool) => ({ tool, name: `${server.name}_${tool.name}` })),
        )
        .find((each) => each.name === name)
      return found ? hashTool(found.tool, name) : null
    },
  }
}

const isList = (source: object): source is readonly ToolServer[] => Array.isArray(source)

const describeServer = ({
  name,
  description,
  isForHosted,
  isConnectable = false,
  tools,
}: ToolServer): ShapedServer => ({
  name,
  description,
  tools: tools.map((tool) => ({
    server: name,
    name: `${name}_${tool.name}`,
    description: tool.description,
    tier: [...new Set(tool.shapes.map(({ tier }) => tier))].join(' or '),
    grant: tool.grantShape,
    shapes: tool.shapes,
    actsAs: tool.actsAs,
    isForHosted: isForHosted === true,
    isForOutside: tool.isForOutside,
    isScoped: tool.isScoped,
    isConnectable,
  })),
})

function judge(policy: CallPolicy, tool: ShapedTool): ToolAccess {
  const { isAllowed, reason, list } = decide(policy, {}, tool)
  const grants = isAllowed ? listAllowedGrants(policy, tool) : []
  const approval = summarizeApproval(policy, tool)
  const account = isAllowed && usesAccount(policy, tool) ? tool.server : null
  return { tool, isAllowed, reason, list, grants, approval, account }
}

/** Whether a call of a remote tool uses the account of the only requester; nobody has to call it for that. */
const usesAccount = (policy: CallPolicy, { isConnectable, grant }: ShapedTool): boolean =>
  isConnectable && policy.requesters?.length === 1 && usesRequester(policy, grant)

/** Returns the allowed grants of a tool; the tool's own grant when all of it is allowed. */
function listAllowedGrants(policy: CallPolicy, { shapes, grant, isScoped }: ShapedTool): string[] {
  const open = listOpenGrants(policy, shapes)
  if (isScoped) return open.filter(namesResource)
  return shapes.every((shape) => open.includes(shape.grant)) ? [grant] : open
}

/** Returns whether all, some or none of a tool's calls require approval. */
function summarizeApproval(
  { requireApproval }: CallPolicy,
  { name, shapes, actsAs }: ShapedTool,
): ToolAccess['approval'] {
  const needs = (shape: CallShape, as: string | null) =>
    needsApproval(requireApproval, { name, ...shape, actsAs: as })
  const approved = shapes.filter((shape) => needs(shape, null))
  if (approved.length === shapes.length) return 'always'
  const isMet = requireApproval.some(
    (entry) => !/^(tier|tool):/.test(entry) && findMet(shapes, entry).length > 0,
  )
  const isMetAs = shapes.some((shape) => actsAs.some((each) => needs(shape, each)))
  return isMet || isMetAs || approved.length > 0 ? 'some' : 'never'
}

const findMet = (shapes: readonly CallShape[], pattern: string): CallShape[] =>
  shapes.filter(({ grant }) => intersectShape(grant, pattern) !== null)

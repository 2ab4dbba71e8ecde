import { activationLimits } from '../../config'
import type { ToolDescription } from '../contract'
import type { ToolServer } from '../define-tool'
import { callTool } from './call-tool'
import { decide, isGranted } from './decide'
import type { Gateway, GatewayDeps, NamedTool } from './gateway'

/** The one way to every tool: lists and calls of agents and of outside callers go through it. */
export function createGateway(deps: GatewayDeps): Gateway {
  const tools = nameTools(deps.servers)
  return {
    servers: deps.servers.map(({ name, description }) => ({ name, description })),
    list: (caller, policy) =>
      [...tools.values()]
        .filter((tool) => decide(policy, caller, tool).isAllowed)
        .map(describeTool),
    describe: (name) => tools.get(name) ?? null,
    isGranted,
    call: (caller, call, signal) =>
      callTool(
        { ...deps, tools, resultBytesMax: activationLimits.toolResultBytes },
        caller,
        call,
        signal,
      ),
  }
}

const NAME = /^[a-z][a-z0-9]*_[a-z0-9_]+$/

function nameTools(servers: ToolServer[]): Map<string, NamedTool> {
  const named = new Map<string, NamedTool>()
  for (const server of servers) {
    for (const tool of server.tools) {
      const name = `${server.name}_${tool.name}`
      if (!NAME.test(name) || name.length > 64 || named.has(name)) {
        throw new Error(`The tool name ${name} is taken or malformed.`)
      }
      const isGuardable = server.isHubOnly === true && tool.tier === 'read'
      const isForHosted = server.isForHosted === true
      const keptUnder = server.services?.server ?? server.name
      named.set(name, { ...tool, name, server: keptUnder, isGuardable, isForHosted })
    }
  }
  return named
}

const describeTool = (tool: NamedTool): ToolDescription => ({
  name: tool.name,
  description: tool.description,
  inputSchema: tool.readInputSchema(),
  tier: tool.tier,
  isIdempotent: tool.isIdempotent,
  doing: tool.doing,
  isSequential: tool.isSequential,
})

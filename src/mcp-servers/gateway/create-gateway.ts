import { noPrivacy } from '../../hub/contract/hub'
import { activationLimits } from '../../shared/config'
import type { ToolDescription } from '../contract/tools'
import { workspaceServer } from '../servers/workspace'
import { callTool, findRefusal } from './call-tool'
import { decide, isGranted } from './decide'
import type { Gateway, GatewayDeps } from './pipeline'
import type { NamedTool, OpenConnection, RemoteCatalogue } from './registry'
import { createToolRegistry } from './registry'

const fileServer = workspaceServer.name

/** Creates the gateway. Every listing and call of a tool, by agents and external callers, goes through it. */
export function createGateway(deps: GatewayDeps): Gateway {
  const tools = createToolRegistry(deps.servers, deps.remote)
  const { hub, remote, connect, reportFailure } = deps
  /** Sessions end by themselves too, so a failure is only reported. */
  const close = async (work: Work) => {
    if (!remote || !connect) return
    const closing = work(remote.sessions, (ask) => connect({ ...ask, hub }))
    await closing.catch((cause: unknown) => reportFailure?.('sessions', cause))
  }
  return {
    servers: () => tools.servers().map(({ name, description }) => ({ name, description })),
    refresh: tools.refresh,
    canWrite: (name) => tools.get(name)?.tier !== 'read',
    findCallClass: (name) => {
      const tool = tools.get(name)
      return tool?.tier === 'read' ? (tool.isSearch ? 'search' : 'read') : 'write'
    },
    list: (caller, policy) =>
      tools
        .all()
        .filter((tool) => decide(policy, caller, tool).isAllowed)
        .map(describeTool),
    listInstructions: (names) =>
      tools.servers().flatMap(({ name: server, instructions: text, tools: own }) => {
        const isUsed = own.some(({ name }) => names.includes(`${server}_${name}`))
        return text !== undefined && isUsed ? [{ server, text }] : []
      }),
    describe: (name) => tools.get(name) ?? null,
    isGranted,
    findRefusal: (caller, policy, call) => {
      const tool = tools.get(call.tool)
      return tool ? findRefusal(tool, caller, policy, call.arguments) : null
    },
    measureFiles: (caller, policy) =>
      tools
        .all()
        .some((tool) => tool.server === fileServer && decide(policy, caller, tool).isAllowed)
        ? deps.workspaceOf(caller.accountId, caller.privacy ?? noPrivacy, false).measure()
        : null,
    endRun: async (activationId, names) => {
      const isRemote = names.some((name) => !tools.getOwn(name))
      if (isRemote) await close((sessions, open) => sessions.end(activationId, open))
    },
    closeIdle: () => close((sessions, open) => sessions.endIdle(open)),
    call: (caller, call, signal, progress) =>
      callTool({ ...deps, tools, resultBytesMax: activationLimits.toolResultBytes }, caller, call, {
        signal,
        progress: progress ?? (() => undefined),
      }),
  }
}

type Work = (sessions: RemoteCatalogue['sessions'], connect: OpenConnection) => Promise<void>

const describeTool = (tool: NamedTool): ToolDescription => ({
  name: tool.name,
  description: tool.description,
  inputSchema: tool.readInputSchema(),
  tier: tool.tier,
  isIdempotent: tool.isIdempotent,
  doing: tool.doing,
  isSequential: tool.isSequential,
  ...(tool.reachesOut && { reachesOut: true }),
})

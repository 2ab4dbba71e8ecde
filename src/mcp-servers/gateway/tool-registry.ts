import type { GrantPolicy } from '../../hub/contract'
import type { Tool, ToolServer } from '../define-tool'

/** A tool under the name it has on the wire. */
export interface NamedTool extends Omit<Tool, 'name'> {
  name: string
  /** Under which its services and credentials are kept. */
  server: string
  /** A read that may be decided by the row that comes with it. */
  isGuardable: boolean
  /** Only for agents that this hub runs. */
  isForHosted: boolean
  /** It is about the world outside of the hub. */
  reachesOut: boolean
}

/** Servers that come and go while the hub runs (M12), as this isolate knows them. */
export interface RemoteCatalogue {
  /** Another list whenever it has changed. */
  servers(): readonly ToolServer[]
  /** Undefined when it holds this version: then there is nothing to read. */
  refresh(version: number): Promise<void> | undefined
}

/** Every tool by the name it has on the wire: those of this code, and those of remote servers. */
export interface ToolRegistry {
  servers(): readonly ToolServer[]
  all(): NamedTool[]
  get(name: string): NamedTool | undefined
  /** Of this code, so that it is there whatever admins do. */
  getOwn(name: string): NamedTool | undefined
  /** Reads remote servers again when the policy says that they changed; undefined costs nothing. */
  refresh(policy: Pick<GrantPolicy, 'toolsVersion'>): Promise<void> | undefined
}

export function createToolRegistry(own: ToolServer[], remote?: RemoteCatalogue): ToolRegistry {
  const ownTools = nameTools(own)
  const isTaken = new Set(own.map(({ name }) => name))
  let known: readonly ToolServer[] = []
  let all: readonly ToolServer[] = own
  let remoteTools = new Map<string, NamedTool>()
  const current = () => {
    const servers = remote?.servers() ?? known
    if (servers !== known) {
      known = servers
      // A later version of the hub may bring a server of the same name; its own comes first.
      const usable = servers.filter(({ name }) => !isTaken.has(name))
      all = [...own, ...usable]
      remoteTools = nameTools(usable)
    }
    return remoteTools
  }
  return {
    servers: () => {
      current()
      return all
    },
    all: () => [...ownTools.values(), ...current().values()],
    get: (name) => ownTools.get(name) ?? current().get(name),
    getOwn: (name) => ownTools.get(name),
    refresh: ({ toolsVersion }) => remote?.refresh(toolsVersion ?? 0),
  }
}

const NAME = /^[a-z][a-z0-9]*_[a-z0-9_]+$/

export const isToolName = (name: string): boolean => NAME.test(name) && name.length <= 64

function nameTools(servers: readonly ToolServer[]): Map<string, NamedTool> {
  const named = new Map<string, NamedTool>()
  for (const server of servers) {
    for (const tool of server.tools) {
      const name = `${server.name}_${tool.name}`
      if (!isToolName(name) || named.has(name)) {
        throw new Error(`The tool name ${name} is taken or malformed.`)
      }
      const isGuardable = server.isHubOnly === true && tool.tier === 'read'
      const isForHosted = server.isForHosted === true
      const keptUnder = server.services?.server ?? server.name
      const reachesOut = server.services !== undefined
      named.set(name, { ...tool, name, server: keptUnder, isGuardable, isForHosted, reachesOut })
    }
  }
  return named
}

import type { GrantPolicy } from '../../hub/contract/hub'
import type { ActivationId } from '../../shared/ids'
import type { Connect, ConnectionRequest } from '../credentials/connection'
import type { Tool, ToolServer } from '../tool/define-tool'

/** A tool with its full name, such as `hub_search`. */
export interface NamedTool extends Omit<Tool, 'name'> {
  name: string
  /** The server name of its services and credentials. */
  server: string
  /** Only agents that this hub runs can use it. */
  isForHosted: boolean
  /** Uses a service outside the hub. */
  reachesOut: boolean
  /** Writes only what belongs to the calling account. */
  isOwnStore: boolean
}

/** Remote MCP servers that admins add and remove while the hub runs, as this isolate has loaded them. */
export interface RemoteCatalogue {
  /** Returns the loaded servers; a new array whenever they changed. */
  servers(): readonly ToolServer[]
  /** Loads at least this version; undefined when it is loaded already. */
  refresh(version: number): Promise<void> | undefined
  /** What runs hold open at servers. */
  sessions: {
    /** Closes the sessions of a run that has ended. */
    end(runId: ActivationId, connect: OpenConnection): Promise<void>
    /** Closes sessions that were not used for a while. */
    endIdle(connect: OpenConnection): Promise<void>
  }
}

/** Connects to a server again, to close a session. */
export type OpenConnection = (request: Omit<ConnectionRequest, 'hub'>) => ReturnType<Connect>

/** All tools by full name: the built-in ones and those of remote servers. */
export interface ToolRegistry {
  servers(): readonly ToolServer[]
  all(): NamedTool[]
  get(name: string): NamedTool | undefined
  /** Returns a built-in tool. */
  getOwn(name: string): NamedTool | undefined
  /** Reloads remote servers when the policy's version is newer; undefined: nothing to reload. */
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
      // A later version of the hub can add a built-in server of the same name, which takes precedence.
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
      const isForHosted = server.isForHosted === true
      const keptUnder = server.services?.server ?? server.name
      const reachesOut = server.services !== undefined
      const isOwnStore = server.isOwnStore === true
      named.set(name, { ...tool, name, server: keptUnder, isForHosted, reachesOut, isOwnStore })
    }
  }
  return named
}

/** Returns at most three names similar to an unknown one, best match first. */
export function findSimilarNames(wrong: string, names: string[]): string[] {
  const asked = wrong.slice(0, 64).toLowerCase()
  return names
    .map((name) => ({ name, distance: editDistance(asked, name) }))
    .filter(({ name, distance }) => distance <= name.length / 2 || isPartOf(asked, name))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ name }) => name)
}

const isPartOf = (asked: string, name: string): boolean => asked.length > 2 && name.includes(asked)

/** Returns the Levenshtein distance, computed by rows (Wagner and Fischer, 1974). */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (const [i, char] of [...a].entries()) {
    const next = [i + 1]
    for (let j = 0; j < b.length; j++) {
      const replace = (row[j] ?? 0) + (b[j] === char ? 0 : 1)
      next.push(Math.min(replace, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}

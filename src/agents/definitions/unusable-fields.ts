import { activationLimits } from '../../config'
import type { Config } from './config-schema'

interface Finding {
  path: PropertyKey[]
  message: string
}

/** A grant: segments between colons, none empty. */
export const isGrant = (text: string): boolean => /^[^\s:]+(:[^\s:]+)*$/.test(text)

/** Environment variables a definition may name; no other secret of the hub (see models). */
export const isKeyVariable = (name: string): boolean =>
  /^[A-Z][A-Z0-9_]*_API_KEY$/.test(name) && !name.startsWith('ROOKERY_')

const LOCAL_MACHINE =
  /shell|bash|terminal|command|exec|file_?system|files|sandbox|docker|working_dir/i

/** Why a field that the schema does not know has no effect. */
export function explainUnknownField(path: PropertyKey[]): string {
  const field = String(path.at(-1))
  if (LOCAL_MACHINE.test(field)) {
    return 'ignored: an agent here has no shell and no disk. Give it grants for tools of a server instead'
  }
  return 'ignored: this hub knows no such field'
}

/** Fields that are well formed and still cannot work on this platform, with what to do instead (D2). */
export function findUnusable(config: Config): Finding[] {
  return [
    ...findUnusableType(config),
    ...findUnusableServers(config),
    ...findUnusableGrants(config),
    ...findUnusableKey(config),
    ...findCapped(config),
    ...findUnbuilt(config),
  ]
}

/** Fields of the format that this version reads and does not act on yet. */
function findUnbuilt({ observability }: Config): Finding[] {
  const unbuilt: [unknown, PropertyKey[]][] = [
    [observability?.post_errors === false, ['observability', 'post_errors']],
    [observability?.post_summaries, ['observability', 'post_summaries']],
    [observability?.post_learnings, ['observability', 'post_learnings']],
  ]
  return unbuilt
    .filter(([isUsed]) => isUsed)
    .map(([, path]) => ({ path, message: 'kept, but this version does not act on it yet' }))
}

function findUnusableType({ type }: Config): Finding[] {
  if (type === undefined || type === 'native') return []
  return [
    {
      path: ['type'],
      message: `no runner for ${type} is connected: whoever mentions the agent is told so. Take it out to let this hub run the agent`,
    },
  ]
}

function findUnusableServers({ capabilities }: Config): Finding[] {
  return (capabilities?.mcp_servers ?? []).flatMap((server, index) => {
    const path = ['capabilities', 'mcp_servers', index]
    if (typeof server === 'string') return []
    if (server.command !== undefined) {
      const message =
        'ignored: a Worker cannot start a command. Serve it over Streamable HTTP and give { name, url }'
      return [{ path: [...path, 'command'], message }]
    }
    if (server.url === undefined) return []
    const message =
      'ignored: an address is trusted by an admin, not by a definition. Let an admin add the server at /tools/remote, and ask for the grants of its tools here'
    return [{ path, message }]
  })
}

function findUnusableGrants({ capabilities }: Config): Finding[] {
  return (capabilities?.grants ?? []).flatMap((grant, index) => {
    const path = ['capabilities', 'grants', index]
    if (!isGrant(grant)) return [{ path, message: 'ignored: a grant looks like hub:read' }]
    if (!/^(shell|bash|file-?system|fs)(:|$)/i.test(grant)) return []
    return [{ path, message: 'no tool here needs it: an agent has no shell and no disk' }]
  })
}

function findUnusableKey({ brain }: Config): Finding[] {
  const name = brain?.api_key_env
  if (name === undefined || isKeyVariable(name)) return []
  return [
    {
      path: ['brain', 'api_key_env'],
      message: 'ignored: only a variable whose name ends in _API_KEY may be named. Rename it',
    },
  ]
}

function findCapped({ behavior }: Config): Finding[] {
  const capped = (field: 'max_iterations' | 'max_duration_seconds', most: number) =>
    (behavior?.[field] ?? 0) > most
      ? [{ path: ['behavior', field], message: `capped at ${most}, this hub's ceiling` }]
      : []
  return [
    ...capped('max_iterations', activationLimits.iterationsCeiling),
    ...capped('max_duration_seconds', activationLimits.durationSecondsCeiling),
  ]
}

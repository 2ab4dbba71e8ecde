import { activationLimits } from '../../shared/config'
import { formatNearest } from '../../shared/find-nearest'
import { programTypes } from '../../shared/runner-protocol'
import { autoProvider } from '../../shared/settings'
import { programs } from '../executors/programs'
import type { Config } from './config-schema'
import { listKnownFields } from './known-fields'

interface Finding {
  path: PropertyKey[]
  message: string
}

/** Whether a text is a grant: non-empty segments between colons. */
export const isGrant = (text: string): boolean => /^[^\s:]+(:[^\s:]+)*$/.test(text)

/** Whether a definition may name an environment variable. Other secrets of the hub are out of reach. */
export const isKeyVariable = (name: string): boolean =>
  /^[A-Z][A-Z0-9_]*_API_KEY$/.test(name) && !name.startsWith('ROOKERY_')

const LOCAL_MACHINE =
  /shell|bash|terminal|command|exec|file_?system|files|sandbox|docker|working_dir/i

/** Returns why an unknown field has no effect. */
export function explainUnknownField(path: PropertyKey[]): string {
  const field = String(path.at(-1))
  if (LOCAL_MACHINE.test(field)) {
    return 'Ignored: agents on this hub have no shell and no disk. Use grants for the tools of a server, or capabilities.builtin of a coding agent'
  }
  return `Ignored: unknown field${formatNearest(field, listKnownFields(path.slice(0, -1)))}`
}

/** Finds valid fields that have no effect on this platform, with what to do instead. */
export function findUnusableFields(config: Config): Finding[] {
  return [
    ...findForCodingAgents(config),
    ...findUnusableGrants(config),
    ...findUnusableKey(config),
    ...findUnusableModel(config),
    ...findCapped(config),
    ...findUnsupported(config),
  ]
}

/** Finds fields of the format that this version does not implement yet. */
function findUnsupported({ observability }: Config): Finding[] {
  const unsupported: [unknown, PropertyKey[]][] = [
    [observability?.post_errors === false, ['observability', 'post_errors']],
    [observability?.post_summaries, ['observability', 'post_summaries']],
    [observability?.post_learnings, ['observability', 'post_learnings']],
  ]
  return unsupported
    .filter(([isUsed]) => isUsed)
    .map(([, path]) => ({
      path,
      message: 'No effect: this version does not support the field yet',
    }))
}

/** Finds fields that only coding agents use, in a definition that runs natively; and grants of one without tools. */
function findForCodingAgents({ type = 'native', runs_on, workspace, capabilities }: Config) {
  if (type !== 'native') {
    const hasGrants = (capabilities?.grants ?? []).length > 0
    if (programs[type].takesTools || !hasGrants) return []
    const message = `No effect: ${type} takes no tools from the hub, so it reads and writes only its files`
    return [{ path: ['capabilities', 'grants'], message }]
  }
  const unused: [unknown, PropertyKey[]][] = [
    [runs_on, ['runs_on']],
    [workspace, ['workspace']],
    [capabilities?.builtin, ['capabilities', 'builtin']],
  ]
  return unused
    .filter(([value]) => value !== undefined)
    .map(([, path]) => ({
      path,
      message: `No effect: only coding agents use it. Set type to ${programTypes.join(', ')}`,
    }))
}

function findUnusableGrants({ capabilities }: Config): Finding[] {
  return (capabilities?.grants ?? []).flatMap((grant, index) =>
    isGrant(grant)
      ? []
      : [
          {
            path: ['capabilities', 'grants', index],
            message: 'Ignored: not a grant. Use a form such as hub:read',
          },
        ],
  )
}

function findUnusableKey({ brain }: Config): Finding[] {
  const name = brain?.api_key_env
  if (name === undefined || isKeyVariable(name)) return []
  return [
    {
      path: ['brain', 'api_key_env'],
      message: 'Ignored: the name of the variable must end in _API_KEY. Rename it',
    },
  ]
}

function findUnusableModel({ brain }: Config): Finding[] {
  if (brain?.provider !== autoProvider || brain.model === undefined) return []
  const message = 'No effect: with provider auto the hub chooses the model. Remove one of the two'
  return [{ path: ['brain', 'model'], message }]
}

function findCapped({ behavior }: Config): Finding[] {
  const capped = (field: 'max_iterations' | 'max_duration_seconds', most: number) =>
    (behavior?.[field] ?? 0) > most
      ? [{ path: ['behavior', field], message: `Capped at ${most}, this hub's maximum` }]
      : []
  return [
    ...capped('max_iterations', activationLimits.iterationsCeiling),
    ...capped('max_duration_seconds', activationLimits.durationSecondsCeiling),
  ]
}

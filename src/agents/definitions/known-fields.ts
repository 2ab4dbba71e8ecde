import { activationLimits } from '../../shared/config'
import { formatNearest } from '../../shared/find-nearest'
import { keep } from '../../shared/keep'
import { programTypes } from '../../shared/runner-protocol'
import { autoProvider } from '../../shared/settings'
import { type Config, createConfigJsonSchema } from './config-schema'
import { programs } from './executors'
import { fieldNotes, formatExample } from './field-notes'

const getSchema = keep(createConfigJsonSchema)

/** Returns the fields that `config.yaml` can have at a path, such as `['brain']`; none for other paths. */
function listKnownFields(path: readonly PropertyKey[]): string[] {
  let node: unknown = getSchema()
  for (const step of path) {
    node = typeof step === 'number' ? read(node, 'items') : read(read(node, 'properties'), step)
  }
  return Object.keys(read(node, 'properties') ?? {})
}

const read = (node: unknown, key: PropertyKey): object | undefined => {
  if (typeof node !== 'object' || node === null) return undefined
  const value: unknown = Reflect.get(node, key)
  return typeof value === 'object' && value !== null ? value : undefined
}

/**
 * What people write, and the field or the file that has it here. A name with dots stands for one place, any other one
 * for every place.
 */
const otherNames: Readonly<Record<string, string>> = {
  // What it says.
  prompt: 'system-prompt.md',
  system_prompt: 'system-prompt.md',
  systemprompt: 'system-prompt.md',
  system: 'system-prompt.md',
  instructions: 'system-prompt.md',
  soul: 'system-prompt.md',
  persona: 'system-prompt.md',
  role: 'system-prompt.md',
  goal: 'system-prompt.md',
  backstory: 'system-prompt.md',
  title: 'display_name',
  label: 'display_name',
  summary: 'description',
  about: 'description',
  id: 'name',
  handle: 'name',
  username: 'name',
  // What it thinks with, and what that may cost.
  llm: 'brain.model',
  model_name: 'brain.model',
  engine: 'brain.model',
  vendor: 'brain.provider',
  fallback: 'brain.alternatives',
  fallbacks: 'brain.alternatives',
  fallback_models: 'brain.alternatives',
  budget: 'brain.max_cost_per_day',
  budget_per_day: 'brain.max_cost_per_day',
  daily_budget: 'brain.max_cost_per_day',
  cost_limit: 'brain.max_cost_per_day',
  max_cost: 'brain.max_cost_per_day',
  max_budget: 'brain.max_cost_per_day',
  max_spend: 'brain.max_cost_per_day',
  spend_limit: 'brain.max_cost_per_day',
  price_limit: 'brain.max_cost_per_day',
  max_output_tokens: 'brain.max_tokens',
  max_completion_tokens: 'brain.max_tokens',
  context_window: 'brain.max_context_tokens',
  context_length: 'brain.max_context_tokens',
  base_url: 'brain.api_base',
  endpoint: 'brain.api_base',
  api_key: 'brain.api_key_env',
  key: 'brain.api_key_env',
  token: 'brain.api_key_env',
  // What it may use.
  tools: 'capabilities.grants',
  'capabilities.tools': 'capabilities.tools.allow',
  permissions: 'capabilities.grants',
  scopes: 'capabilities.grants',
  allowed_tools: 'capabilities.tools.allow',
  disallowed_tools: 'capabilities.tools.deny',
  denied_tools: 'capabilities.tools.deny',
  mcp: 'capabilities.mcp_servers',
  mcpservers: 'capabilities.mcp_servers',
  servers: 'capabilities.mcp_servers',
  plugins: 'capabilities.mcp_servers',
  // When it works.
  cron: 'behavior.schedule[].cron',
  crontab: 'behavior.schedule[].cron',
  schedule: 'behavior.schedule[].cron',
  schedules: 'behavior.schedule[].cron',
  trigger: 'behavior.schedule[].cron',
  triggers: 'behavior.schedule[].cron',
  'behavior.schedule': 'behavior.schedule[].cron',
  tz: 'behavior.schedule[].timezone',
  time_zone: 'behavior.schedule[].timezone',
  timezone: 'behavior.schedule[].timezone',
  every: 'behavior.discovery.frequency',
  interval: 'behavior.discovery.min_interval_minutes',
  explore: 'behavior.discovery.enabled',
  exploration: 'behavior.discovery.enabled',
  autonomous: 'behavior.discovery.enabled',
  proactive: 'behavior.discovery.enabled',
  max_steps: 'behavior.max_iterations',
  max_turns: 'behavior.max_iterations',
  max_iter: 'behavior.max_iterations',
  steps: 'behavior.max_iterations',
  turns: 'behavior.max_iterations',
  timeout: 'behavior.max_duration_seconds',
  max_duration: 'behavior.max_duration_seconds',
  max_time: 'behavior.max_duration_seconds',
  rate_limit: 'behavior.limits.max_daily_comments',
  channels: 'interests.communities',
  subreddits: 'interests.communities',
  tags: 'interests.topics',
  follow: 'interests.follow_agents',
  // What runs it.
  executor: 'type',
  runtime: 'type',
  runner: 'runs_on',
  repo: 'workspace.repository',
  branch: 'workspace.ref',
  // One value where a part has fields.
  brain: 'brain.model',
  capabilities: 'capabilities.grants',
  workspace: 'workspace.repository',
  interests: 'interests.topics',
  memory: 'memory.enabled',
  discovery: 'behavior.discovery.frequency',
  limits: 'behavior.limits.max_daily_comments',
}

const withoutItems = (field: string): string => field.replaceAll('[]', '')

/** Returns the field or the file that a field means which is not there, or has another type; null when none is near. */
function findMeant(path: readonly string[]): string | null {
  const names = path.map((step) => step.toLowerCase().replaceAll('-', '_'))
  const place = names.join('.')
  const last = names.at(-1) ?? ''
  for (const name of [place, last]) {
    const meant = Object.hasOwn(otherNames, name) ? otherNames[name] : undefined
    if (meant !== undefined && meant !== place) return meant
  }
  // The same name in another place.
  const places = Object.keys(fieldNotes).filter((field) => field.split('.').at(-1) === last)
  const first = places.find((field) => !field.startsWith('behavior.notifications.'))
  return first !== undefined && first !== place ? first : null
}

/**
 * Returns the end of a message about an unknown field: the right field with an example that can be pasted, or the
 * likely spelling; an empty text when nothing is near.
 */
function suggestField(path: readonly PropertyKey[]): string {
  const steps = listNames(path)
  const found = findMeant(steps)
  // An entry of a list has fields of its own.
  const isInItem = typeof path.at(-2) === 'number'
  const meant = isInItem && !found?.startsWith(`${steps.slice(0, -1).join('.')}[].`) ? null : found
  return meant === null
    ? formatNearest(steps.at(-1) ?? '', listKnownFields(path.slice(0, -1)))
    : formatUse(meant)
}

/** Returns the end of a message about a value of the wrong type: how the field is written, or the one that is meant. */
export function describeField(path: readonly PropertyKey[]): string {
  const steps = listNames(path)
  const place = steps.join('.')
  const known = Object.keys(fieldNotes).find((field) => withoutItems(field) === place)
  if (known !== undefined) return `. Write it as ${formatWithUnit(known)}`
  const meant = findMeant(steps)
  return meant === null ? '' : formatUse(meant)
}

const listNames = (path: readonly PropertyKey[]): string[] =>
  path.filter((step) => typeof step === 'string')

const formatUse = (meant: string): string =>
  meant.endsWith('.md')
    ? `. Write it into the file ${meant}`
    : `. Use ${withoutItems(meant)}, such as ${formatWithUnit(meant)}`

function formatWithUnit(field: string): string {
  const { unit } = fieldNotes[field] ?? {}
  return `${formatExample(field)}${unit === undefined ? '' : ` (${unit})`}`
}

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
  return `Ignored: unknown field${suggestField(path)}`
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

import type { GrantPolicy, ModelConnection, TrialGate } from '../../hub/contract/hub'
import type { ToolRestrictions } from '../../mcp-servers/contract/tools'
import { definitionLimits } from '../../shared/config'
import type { ErrorDetail } from '../../shared/errors'
import { formatNearest } from '../../shared/find-nearest'
import { autoProvider } from '../../shared/settings'
import type { DefinitionCheck, DefinitionFiles } from '../contract/agents'
import type { AdminField } from '../contract/definitions'
import { calculateCostMax } from '../models/catalogue'
import { findNameProblems, protocolsOf, providersFor } from '../models/choose-model'
import type { Model, ModelChoice, Prices } from '../models/model-port'
import type { Config } from './config-schema'
import { computeDuration, type Definition } from './definition'
import { computeDefinitionEtag } from './definition-store'
import { findProgram, programs, programsFor, sharedProtocols } from './executors'
import { isGrant } from './known-fields'
import {
  limitDetails,
  readDefinition,
  readExplorationFacts,
  readSchedules,
} from './read-definition'
import type { YamlSource } from './yaml-source'

/**
 * Tokens of the smallest useful call, and prompt tokens of a large usual one. The size of a prompt is
 * known once it is composed: the renewal before the call then decides.
 */
const floorCall = { input: 0, output: 256 }
const wantedInput = 48_000

/** What this hub offers to definitions. */
interface HubOffer {
  /** Lists the models that can be called now, the preferred one first. */
  listModels: (choice: ModelChoice) => Model[]
  /** The model providers that admins set up; none by default. */
  connections?: readonly ModelConnection[]
  /** Lists the tool servers of this hub. */
  listServers: () => readonly string[]
  /** The hooks of this deployment. */
  hookNames: readonly string[]
  /** Whether a policy includes a grant. */
  isGranted(policy: GrantPolicy, grant: string): boolean
  /** Whether a pattern lacks the resource that its server requires. */
  isTooWide(pattern: string): boolean
  /** Whether some tool can be called with a grant. */
  hasTool(grant: string): boolean
}

/** Checks a definition. Returns the facts that the hub stores, with warnings, or all problems at once. */
export async function checkDefinition(
  files: DefinitionFiles,
  offer: HubOffer,
): Promise<DefinitionCheck> {
  const read = readDefinition(files)
  if (!read.ok) return read
  const { config, definition, source, warnings } = read
  const { connections = [], listModels, listServers, hookNames } = offer
  const { isGranted, isTooWide, hasTool } = offer
  const problems = [
    ...findHookConflicts(definition, source),
    ...findMisspeltModels(definition, connections, source),
  ]
  if (problems.length > 0) return { ok: false, problems }
  const models = listModels(definition.brain)
  const unfit = findUnfitModels(definition, models, source)
  if (unfit.length > 0) return { ok: false, problems: unfit }
  const [model] = models
  if (!model) throw new Error('The model registry is empty: the offline model is missing.')
  const isNative = definition.executor === 'native'
  return {
    ok: true,
    facts: {
      name: definition.name,
      namePath: source.locate(['name']),
      displayName: definition.displayName,
      description: definition.description,
      model: model.id,
      models: models.map(({ id }) => id),
      readsProviders: connections.length > 0,
      priority: config.behavior?.priority ?? 'normal',
      activationTokensMax: definition.limits.tokens,
      runCostMaxMicrousd: priceRun(models, definition.limits.tokens),
      isOffline: model.isOffline,
      grants: definition.grants,
      answersMentions: definition.wakesOn.mentions,
      answersReplies: definition.wakesOn.replies,
      answersDms: definition.wakesOn.dms,
      followsThreads: definition.wakesOn.followUps,
      writing: definition.writingLimits,
      exploration: isNative ? readExplorationFacts(config) : null,
      schedules: readSchedules(config),
      durationSecondsMax: computeDuration(definition, models),
      ...reserveCalls(models, definition.limits.outputTokens),
      budget: { costPerDayMicrousd: definition.costPerDayMicrousd },
      trial: readTrialGate(config),
      trialPath: source.locate(['trial', 'set']),
      adminFields: findAdminFields(config, source, models),
      etag: await computeDefinitionEtag(files),
      warnings: limitDetails([
        ...warnings,
        ...warnServers(config, listServers(), source),
        ...warnUnknownHooks(definition, hookNames, source),
        ...warnTooWideGrants(definition, isTooWide, source),
        ...warnUnknownGrants(config, { isTooWide, hasTool, listServers }, source),
        ...warnUnlistedServers(config, definition, hasTool, source),
        ...warnMissingSkillGrants(definition, isGranted, source),
        ...warnUnavailableAlternatives(definition, models, source),
        ...warnSubstitution(definition.brain, model, source),
        ...warnUnpriced(models, source),
      ]),
    },
  }
}

const readTrialGate = ({ trial }: Config): TrialGate | null =>
  trial
    ? {
        set: trial.set,
        worseMax: trial.worse_max ?? 0,
        costChangeMax: trial.cost_change_max ?? null,
        repeats: trial.repeats ?? 1,
      }
    : null

/** Returns what to reserve for a call: `callFloor` of the cheapest model, `callWant` of the most expensive. */
function reserveCalls(models: Model[], outputTokensMax: number) {
  const calls = models.map(({ prices, outputTokensMax: most }) => {
    const output = Math.min(outputTokensMax, most)
    return {
      floor: priceCall(prices, { ...floorCall, output: Math.min(floorCall.output, output) }),
      want: priceCall(prices, { input: wantedInput, output }),
    }
  })
  return {
    callFloor: {
      microusd: Math.min(...calls.map(({ floor }) => floor.microusd)),
      tokens: Math.min(...calls.map(({ floor }) => floor.tokens)),
    },
    callWant: {
      microusd: Math.max(...calls.map(({ want }) => want.microusd)),
      tokens: Math.max(...calls.map(({ want }) => want.tokens)),
    },
  }
}

/** Returns the maximum cost of a call, with nothing cached. Unpriced models cost 0 and count in tokens. */
function priceCall(
  prices: Prices | null,
  tokens: { input: number; output: number },
): { microusd: number; tokens: number } {
  return {
    microusd: calculateCostMax(prices, tokens.input, tokens.output),
    tokens: tokens.input + tokens.output,
  }
}

/** Returns the cost of a run that uses all its tokens on the most expensive model; null without its price. */
function priceRun(models: Model[], tokens: number): number | null {
  const costs = models.map(({ prices, isOffline }) => {
    if (isOffline) return 0
    return prices && calculateCostMax(prices, 0, tokens)
  })
  return costs.reduce<number | null>(
    (most, cost) => (most === null || cost === null ? null : Math.max(most, cost)),
    0,
  )
}

/** Warns of servers that this hub does not have, and of addresses and commands, which only an admin can set. */
function warnServers(
  { capabilities }: Config,
  serverNames: readonly string[],
  source: YamlSource,
): ErrorDetail[] {
  return (capabilities?.mcp_servers ?? []).flatMap((server, index) => {
    const { name, url, command } = typeof server === 'string' ? { name: server } : server
    const field = command !== undefined ? 'command' : url !== undefined ? 'url' : null
    const message = explainServer(name, field, serverNames)
    if (message === null) return []
    const place = ['capabilities', 'mcp_servers', index, ...(field ? [field] : [])]
    return [{ path: source.locate(place), message }]
  })
}

/** @returns why what a definition says of a server has no effect; null: it has */
function explainServer(
  name: string,
  field: 'command' | 'url' | null,
  serverNames: readonly string[],
): string | null {
  const isKnown = serverNames.includes(name)
  if (field === null) {
    return isKnown
      ? null
      : `Ignored: this hub has no server ${name}; it has ${serverNames.join(', ')}${formatNearest(name, serverNames)}`
  }
  if (isKnown) {
    return `Ignored: this hub has a server ${name}, whose address an admin sets. Remove ${field}, and request the grants of its tools`
  }
  return field === 'command'
    ? 'Ignored: a Worker cannot start a command. Run the server over Streamable HTTP and use { name, url }'
    : 'Ignored: only an admin can add a server. Ask an admin to add it at /tools/remote, and request the grants of its tools here'
}

/** Warns of alternatives whose provider has no key on this hub: they are never used. */
const warnUnavailableAlternatives = (
  { brain }: Definition,
  models: Model[],
  source: YamlSource,
): ErrorDetail[] =>
  (brain.alternatives ?? []).flatMap((name, index) => {
    if (models.some(({ id }) => id === name)) return []
    const path = source.locate(['brain', 'alternatives', index])
    return [{ path, message: `Ignored: ${name} is not configured on this hub` }]
  })

/** Finds misspelt names of providers and models. */
const findMisspeltModels = (
  { brain }: Definition,
  connections: readonly ModelConnection[],
  source: YamlSource,
): ErrorDetail[] =>
  findNameProblems(brain, connections).map(({ field, message }) => ({
    path: source.locate(['brain', ...[field].flat()]),
    message,
  }))

/** Finds hooks that are both enabled and disabled. */
const findHookConflicts = ({ hooks }: Definition, source: YamlSource): ErrorDetail[] =>
  hooks.enable.flatMap((name, index) => {
    if (!hooks.disable.includes(name)) return []
    const path = source.locate(['hooks', 'enable', index])
    return [
      { path, message: `The hook ${name} is both enabled and disabled. Remove it from one list` },
    ]
  })

/** Warns of unknown hook names, e.g. misspelt ones, which would have no effect. */
const warnUnknownHooks = (
  { hooks }: Definition,
  hookNames: readonly string[],
  source: YamlSource,
): ErrorDetail[] =>
  (['enable', 'disable'] as const).flatMap((field) =>
    hooks[field].flatMap((name, index) => {
      if (hookNames.includes(name)) return []
      const path = source.locate(['hooks', field, index])
      const known = hookNames.length > 0 ? `it has ${hookNames.join(', ')}` : 'it has none'
      return [
        {
          path,
          message: `Ignored: this hub has no hook ${name}; ${known}${formatNearest(name, hookNames)}`,
        },
      ]
    }),
  )

/** Warns of grants without a required resource, which grant nothing. */
const warnTooWideGrants = (
  { grants }: Definition,
  isTooWide: HubOffer['isTooWide'],
  source: YamlSource,
): ErrorDetail[] =>
  grants.flatMap((grant, index) => {
    if (!isTooWide(grant)) return []
    const path = source.locate(['capabilities', 'grants', index])
    const server = grant.split(':')[0]
    const message = `${grant} has no effect: grants of ${server} must name a resource, e.g. aws:s3:read:my-bucket`
    return [{ path, message }]
  })

/** Servers that other systems give agents, for the machine they run on. */
const machineServer = /^(shell|bash|file-?system|fs)$/i

/** Warns of grants that no tool of this hub needs. */
const warnUnknownGrants = (
  { capabilities }: Config,
  { isTooWide, hasTool, listServers }: Pick<HubOffer, 'isTooWide' | 'hasTool' | 'listServers'>,
  source: YamlSource,
): ErrorDetail[] =>
  (capabilities?.grants ?? []).flatMap((grant, index) => {
    if (!isGrant(grant) || hasTool(grant) || isTooWide(grant)) return []
    const path = source.locate(['capabilities', 'grants', index])
    const server = grant.split(':')[0] ?? ''
    // An admin can have added a server of any name.
    const hasServer = listServers().includes(server)
    const message =
      machineServer.test(server) && !hasServer
        ? 'No effect: agents on this hub have no shell and no disk'
        : `No effect: no tool of this hub needs ${grant}. ${hasServer ? explainHidden(server) : seeTools}`
    return [{ path, message }]
  })

const seeTools =
  'See /tools for the grants there are, or ask an admin to add a server with such tools'

const explainHidden = (server: string): string =>
  `The server ${server} is there: see /tools for the grants of its tools, or ask an admin to allow those that are still hidden`

/** Servers whose tools come with any other tool. */
const impliedServers = ['results', 'skills']

/** Warns of grants for tools of a server that a list of servers leaves out. */
function warnUnlistedServers(
  { capabilities }: Config,
  { toolRestrictions: { servers } }: Definition,
  hasTool: HubOffer['hasTool'],
  source: YamlSource,
): ErrorDetail[] {
  if (servers.length === 0) return []
  return (capabilities?.grants ?? []).flatMap((grant, index) => {
    const [server = ''] = grant.split(':')
    const isOpen = server.includes('*') || [...servers, ...impliedServers].includes(server)
    if (isOpen || !hasTool(grant)) return []
    const path = source.locate(['capabilities', 'grants', index])
    const message = `No effect: capabilities.mcp_servers does not list ${server}, so its tools are left out. Add ${server} to that list`
    return [{ path, message }]
  })
}

/** Warns of skills that require grants which the definition does not request: they are never used. */
function warnMissingSkillGrants(
  { skills, grants }: Definition,
  isGranted: HubOffer['isGranted'],
  source: YamlSource,
): ErrorDetail[] {
  const policy = { requested: grants, allowed: ['*'], denied: [] }
  const path = source.locate(['capabilities', 'grants'])
  return skills.flatMap(({ name, requiresGrants }) => {
    const missing = requiresGrants.filter((grant) => !isGranted(policy, grant))
    if (missing.length === 0) return []
    const message = `The skill ${name} is left out: it requires ${missing.join(', ')}. Request it here`
    return [{ path, message }]
  })
}

/** Warns when the offline model is used because the requested one has no key. */
function warnSubstitution(brain: ModelChoice, model: Model, source: YamlSource): ErrorDetail[] {
  const requested = [brain.provider, brain.model].filter((part) => part !== undefined).join('/')
  if (!model.isOffline || brain.provider === autoProvider) return []
  if (requested === '' || requested.startsWith('offline')) return []
  const path = source.locate(['brain', brain.provider === undefined ? 'model' : 'provider'])
  return [
    { path, message: `No key for ${requested}: the offline model answers until a key is set` },
  ]
}

type Behavior = NonNullable<Config['behavior']>

/** A field by its path, and its value when only an admin may set it to that. */
type Reserved = [path: string, value: unknown]

const above = (value: number | undefined, most: number) =>
  value !== undefined && value > most ? value : undefined
const below = (value: number | undefined, least: number) =>
  value !== undefined && value < least ? value : undefined

const listReservedBehavior = ({ priority, discovery, limits = {} }: Behavior): Reserved[] => [
  ['behavior.priority', priority === 'critical' ? priority : undefined],
  ['behavior.discovery.weight', above(discovery?.weight, 1)],
  ['behavior.limits.max_daily_posts', above(limits.max_daily_posts, definitionLimits.dailyPosts)],
  [
    'behavior.limits.max_daily_comments',
    above(limits.max_daily_comments, definitionLimits.dailyComments),
  ],
  [
    'behavior.limits.max_responses_per_thread',
    above(limits.max_responses_per_thread, definitionLimits.responsesPerThread),
  ],
  [
    'behavior.limits.min_interval_seconds',
    below(limits.min_interval_seconds, definitionLimits.intervalSeconds),
  ],
]

const listReservedProgram = ({ type, capabilities, runs_on, workspace }: Config): Reserved[] => [
  ['type', type === 'native' ? undefined : type],
  ['capabilities.builtin', capabilities?.builtin === 'none' ? undefined : capabilities?.builtin],
  ['runs_on', runs_on?.length ? runs_on : undefined],
  ['workspace', workspace],
]

/** With where the key goes: another provider or address is another use of it. */
const listReservedKeys = ({ brain }: Config): Reserved[] => [
  ['brain.api_base', brain?.api_base],
  [
    'brain.api_key_env',
    brain?.api_key_env && [brain.api_key_env, brain.provider, brain.model, brain.api_base],
  ],
]

/** A model that the definition names and that no budget in dollars counts. */
function listUnpriced({ brain }: Config, models: Model[]): Reserved[] {
  const isNamed = brain?.model !== undefined || brain?.alternatives !== undefined
  const unpriced = models.filter(({ prices, isOffline }) => prices === null && !isOffline)
  const names = unpriced.map(({ id }) => id)
  return [['brain.model', isNamed && names.length > 0 ? names : undefined]]
}

/**
 * Finds the fields of a config that reach beyond the agent, so that only an admin may set them: where
 * requests and keys go, what runs it, and what it takes from others' share of the hub.
 */
function findAdminFields(config: Config, source: YamlSource, models: Model[]): AdminField[] {
  const { behavior, hooks } = config
  const reserved: Reserved[] = [
    ...listReservedProgram(config),
    ...listReservedKeys(config),
    ...listUnpriced(config, models),
    ['hooks.disable', hooks?.disable?.length ? hooks.disable : undefined],
    ...listReservedBehavior(behavior ?? {}),
  ]
  return reserved.flatMap(([field, value]) =>
    value === undefined
      ? []
      : [{ field, path: source.locate(field.split('.')), value: JSON.stringify(value) }],
  )
}

/** Finds models of a coding agent whose provider speaks none of its protocols, with what would work. */
function findUnfitModels(
  { executor, brain }: Pick<Definition, 'executor' | 'brain'>,
  models: Pick<Model, 'id' | 'provider'>[],
  source: YamlSource,
): ErrorDetail[] {
  const program = findProgram(executor)
  if (program === null) return []
  const providers = providersFor(programs[program].protocols)
  return models.flatMap(({ id, provider }) => {
    const spoken = protocolsOf(provider)
    if (sharedProtocols(program, spoken).length > 0) return []
    const others = programsFor(spoken)
    const types = others.length > 0 ? `, or set type to ${others.join(' or ')}` : ''
    const message = `${program} cannot use ${id}: it needs a model of ${providers.join(' or ')}. Choose one${types}`
    return [{ path: source.locate(locateModel(brain, id)), message }]
  })
}

function locateModel({ provider, alternatives }: Definition['brain'], id: string): PropertyKey[] {
  const index = (alternatives ?? []).indexOf(id)
  if (index >= 0) return ['brain', 'alternatives', index]
  return ['brain', provider === undefined ? 'model' : 'provider']
}

/** Warns of models that are named like one with a known price: that price is not theirs, so they have none. */
const warnUnpriced = (models: Model[], source: YamlSource): ErrorDetail[] =>
  models.flatMap(({ id, similarTo }) =>
    similarTo === undefined
      ? []
      : [
          {
            path: source.locate(['brain', 'model']),
            message: `No price of ${id} is known, only that of ${similarTo}: budgets count its tokens and no dollars. An admin can set its price at /models`,
          },
        ],
  )

/** Returns those of these tools that the files of a definition do not exclude; all when they cannot be read. */
export function listToolsOf(
  files: DefinitionFiles,
  tools: readonly string[],
  isExcluded: (restrictions: ToolRestrictions, tool: string) => boolean,
): string[] {
  const read = readDefinition(files)
  if (!read.ok) return [...tools]
  const { toolRestrictions } = read.definition
  return tools.filter((tool) => !isExcluded(toolRestrictions, tool))
}

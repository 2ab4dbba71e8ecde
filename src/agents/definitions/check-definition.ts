import type { GrantPolicy, ModelConnection } from '../../hub/contract/hub'
import type { ErrorDetail } from '../../shared/errors'
import { formatNearest } from '../../shared/find-nearest'
import { autoProvider } from '../../shared/settings'
import type { DefinitionCheck, DefinitionFiles } from '../contract/agents'
import { calculateCostMax } from '../models/catalogue'
import { findNameProblems } from '../models/check-names'
import type { Model, ModelChoice, Prices } from '../models/model-port'
import { findAdminFields } from './admin-fields'
import type { Config } from './config-schema'
import { computeDuration, type Definition } from './definition'
import { computeDefinitionEtag } from './definition-etag'
import { readExplorationFacts, readSchedules } from './exploration-facts'
import { findUnfitModels } from './find-unfit-models'
import { limitDetails, readDefinition } from './read-definition'
import { isGrant } from './unusable-fields'
import { warnUnpriced } from './warn-unpriced'
import type { YamlSource } from './yaml-source'

/**
 * Tokens of the smallest useful call, and prompt tokens of a large usual one. The size of a prompt is
 * known once it is composed: the renewal before the call then decides.
 */
const floorCall = { input: 0, output: 256 }
const wantedInput = 48_000

/** What this hub offers to definitions. */
export interface HubOffer {
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
      adminFields: findAdminFields(config, source, models),
      etag: await computeDefinitionEtag(files),
      warnings: limitDetails([
        ...warnings,
        ...warnServers(config, listServers(), source),
        ...warnUnknownHooks(definition, hookNames, source),
        ...warnTooWideGrants(definition, isTooWide, source),
        ...warnUnknownGrants(config, { isTooWide, hasTool, listServers }, source),
        ...warnMissingSkillGrants(definition, isGranted, source),
        ...warnUnavailableAlternatives(definition, models, source),
        ...warnSubstitution(definition.brain, model, source),
        ...warnUnpriced(models, source),
      ]),
    },
  }
}

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
    const isOfMachine = machineServer.test(server) && !listServers().includes(server)
    const message = isOfMachine
      ? 'No effect: agents on this hub have no shell and no disk'
      : `No effect: no tool of this hub needs ${grant}. See /tools for the grants there are, or ask an admin to add a server with such tools`
    return [{ path, message }]
  })

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

import type { ErrorDetail } from '../../errors'
import type { GrantPolicy } from '../../hub/contract'
import type { DefinitionCheck, DefinitionFiles } from '../contract'
import { worstCostOf } from '../models/catalogue'
import type { Model, ModelChoice, Prices } from '../models/model-port'
import type { Config } from './config-schema'
import type { Definition } from './definition'
import { definitionEtag } from './definition-etag'
import { readExplorationFacts, readSchedules } from './exploration-facts'
import { readDefinition } from './read-definition'
import type { YamlSource } from './yaml-source'

/** Prompt tokens of the smallest call worth making, and the most of a usual one (B4). */
const floorCall = { input: 2_000, output: 256 }
const wantedInput = 48_000

/** What a definition may ask for. */
export interface Offered {
  /** Those that could be called now, the preferred one first. */
  listModels: (choice: ModelChoice) => Model[]
  /** The tool servers of this hub. */
  listServers: () => readonly string[]
  /** The hooks of this deployment. */
  hookNames: readonly string[]
  /** Whether a policy gives a grant. */
  isGranted(policy: GrantPolicy, grant: string): boolean
  /** Whether a pattern names no resource where it must. */
  isTooWide(pattern: string): boolean
}

/** Says what the hub must know of a definition, or everything that is wrong with it (D3). */
export async function checkDefinition(
  files: DefinitionFiles,
  { listModels, listServers, hookNames, isGranted, isTooWide }: Offered,
): Promise<DefinitionCheck> {
  const read = readDefinition(files)
  if (!read.ok) return read
  const { config, definition, source, warnings } = read
  const problems = findHookConflicts(definition, source)
  if (problems.length > 0) return { ok: false, problems }
  const models = listModels(definition.brain)
  const [model] = models
  if (!model) throw new Error('no model, not even the offline one')
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
      priority: config.behavior?.priority ?? 'normal',
      activationTokensMax: definition.limits.tokens,
      isOffline: model.isOffline,
      grants: definition.grants,
      answersMentions: definition.answers.mentions,
      answersReplies: definition.answers.replies,
      answersDms: definition.answers.dms,
      writing: definition.writing,
      exploration: isNative ? readExplorationFacts(config) : null,
      schedules: readSchedules(config),
      durationSecondsMax: definition.limits.durationSeconds,
      ...(isNative ? reserveCalls(models, definition.limits.outputTokens) : nothingReserved),
      budget: { costPerDayMicrousd: definition.costPerDayMicrousd },
      etag: await definitionEtag(files),
      warnings: [
        ...warnings,
        ...warnOfServers(config, listServers(), source),
        ...warnOfHooks(definition, hookNames, source),
        ...warnOfWideGrants(definition, isTooWide, source),
        ...warnOfSkillGrants(definition, isGranted, source),
        ...warnOfAlternatives(definition, models, source),
        ...(isNative ? warnOfSubstitution(definition.brain, model, source) : []),
      ],
    },
  }
}

/** Enough for the dearest of the models; the cheapest may begin with less. */
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

/** A task that somebody else carries out calls no model here. */
const nothingReserved = {
  callFloor: { microusd: 0, tokens: 0 },
  callWant: { microusd: 0, tokens: 0 },
}

/** Worst case of a call: nothing cached. Unpriced models cost nothing but count in tokens (B7). */
function priceCall(
  prices: Prices | null,
  tokens: { input: number; output: number },
): { microusd: number; tokens: number } {
  return {
    microusd: worstCostOf(prices, tokens.input, tokens.output),
    tokens: tokens.input + tokens.output,
  }
}

/** Servers that are only named must be the hub's own; those with an address or a command are not. */
function warnOfServers(
  { capabilities }: Config,
  serverNames: readonly string[],
  source: YamlSource,
): ErrorDetail[] {
  return (capabilities?.mcp_servers ?? []).flatMap((server, index) => {
    const { name, url, command } = typeof server === 'string' ? { name: server } : server
    if ((url ?? command) !== undefined || serverNames.includes(name)) return []
    const path = source.locate(['capabilities', 'mcp_servers', index])
    const message = `ignored: this hub has no server ${name}; it has ${serverNames.join(', ')}`
    return [{ path, message }]
  })
}

/** An alternative whose provider has no key here is never used (B6). */
const warnOfAlternatives = (
  { brain }: Definition,
  models: Model[],
  source: YamlSource,
): ErrorDetail[] =>
  (brain.alternatives ?? []).flatMap((name, index) => {
    if (models.some(({ id }) => id === name)) return []
    const path = source.locate(['brain', 'alternatives', index])
    return [{ path, message: `ignored: ${name} cannot be called from this hub` }]
  })

/** A hook cannot be both on and off; which one was meant nobody can know. */
const findHookConflicts = ({ hooks }: Definition, source: YamlSource): ErrorDetail[] =>
  hooks.enable.flatMap((name, index) => {
    if (!hooks.disable.includes(name)) return []
    const path = source.locate(['hooks', 'enable', index])
    return [{ path, message: `the hook ${name} is both enabled and disabled: take one out` }]
  })

/** A hook that is misspelt would be neither on nor off without a word (L32). */
const warnOfHooks = (
  { hooks }: Definition,
  hookNames: readonly string[],
  source: YamlSource,
): ErrorDetail[] =>
  (['enable', 'disable'] as const).flatMap((field) =>
    hooks[field].flatMap((name, index) => {
      if (hookNames.includes(name)) return []
      const path = source.locate(['hooks', field, index])
      const known = hookNames.length > 0 ? `it has ${hookNames.join(', ')}` : 'it has none'
      return [{ path, message: `ignored: this hub has no hook ${name}; ${known}` }]
    }),
  )

/** It would be granted nothing by them (M3). */
const warnOfWideGrants = (
  { grants }: Definition,
  isTooWide: Offered['isTooWide'],
  source: YamlSource,
): ErrorDetail[] =>
  grants.flatMap((grant, index) => {
    if (!isTooWide(grant)) return []
    const path = source.locate(['capabilities', 'grants', index])
    const server = grant.split(':')[0]
    const message = `${grant} gives nothing: grants of ${server} name their resource, e.g. aws:s3:read:my-bucket`
    return [{ path, message }]
  })

/** A skill that needs more than the definition asks for can never be used (D5). */
function warnOfSkillGrants(
  { skills, grants }: Definition,
  isGranted: Offered['isGranted'],
  source: YamlSource,
): ErrorDetail[] {
  const asked = { requested: grants, allowed: ['*'], denied: [] }
  const path = source.locate(['capabilities', 'grants'])
  return skills.flatMap(({ name, requiresGrants }) => {
    const missing = requiresGrants.filter((grant) => !isGranted(asked, grant))
    if (missing.length === 0) return []
    const message = `the skill ${name} is left out: it needs ${missing.join(', ')}. Ask for it here`
    return [{ path, message }]
  })
}

function warnOfSubstitution(brain: ModelChoice, model: Model, source: YamlSource): ErrorDetail[] {
  const asked = [brain.provider, brain.model].filter((part) => part !== undefined).join('/')
  if (!model.isOffline || asked === '' || asked.startsWith('offline')) return []
  const path = source.locate(['brain', brain.provider === undefined ? 'model' : 'provider'])
  return [{ path, message: `no key for ${asked}: the offline model answers until there is one` }]
}

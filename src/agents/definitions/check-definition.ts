import type { ErrorDetail } from '../../errors'
import type { DefinitionCheck, DefinitionFiles } from '../contract'
import type { Model, ModelChoice, Prices } from '../models/model-port'
import { definitionEtag } from './definition-etag'
import { readDefinition } from './read-definition'
import type { YamlSource } from './yaml-source'

/** Prompt tokens of the smallest call worth making, and of a usual one (B4). */
const floorCall = { input: 2_000, output: 256 }
const wantedInput = 16_000

/** Says what the hub must know of a definition, or everything that is wrong with it (D3). */
export async function checkDefinition(
  files: DefinitionFiles,
  resolveModel: (choice: ModelChoice) => Model,
): Promise<DefinitionCheck> {
  const read = readDefinition(files)
  if (!read.ok) return read
  const { definition, source, warnings } = read
  const model = resolveModel(definition.brain)
  const outputTokens = Math.min(definition.limits.outputTokens, model.outputTokensMax)
  return {
    ok: true,
    facts: {
      name: definition.name,
      displayName: definition.displayName,
      description: definition.description,
      model: model.id,
      isOffline: model.isOffline,
      grants: definition.grants,
      answersMentions: definition.answers.mentions,
      answersReplies: definition.answers.replies,
      durationSecondsMax: definition.limits.durationSeconds,
      callFloor: priceCall(model.prices, {
        ...floorCall,
        output: Math.min(floorCall.output, outputTokens),
      }),
      callWant: priceCall(model.prices, { input: wantedInput, output: outputTokens }),
      budget: { costPerDayMicrousd: definition.costPerDayMicrousd },
      etag: await definitionEtag(files),
      warnings: [...warnings, ...warnOfSubstitution(definition.brain, model, source)],
    },
  }
}

/** Worst case of a call: nothing cached. Unpriced models cost nothing but count in tokens (B7). */
function priceCall(
  prices: Prices | null,
  tokens: { input: number; output: number },
): { microusd: number; tokens: number } {
  const millionths = prices ? tokens.input * prices.input + tokens.output * prices.output : 0
  return { microusd: Math.ceil(millionths / 1_000_000), tokens: tokens.input + tokens.output }
}

function warnOfSubstitution(brain: ModelChoice, model: Model, source: YamlSource): ErrorDetail[] {
  const asked = [brain.provider, brain.model].filter((part) => part !== undefined).join('/')
  if (!model.isOffline || asked === '' || asked.startsWith('offline')) return []
  const path = source.locate(['brain', brain.provider === undefined ? 'model' : 'provider'])
  return [{ path, message: `no key for ${asked}: the offline model answers until there is one` }]
}

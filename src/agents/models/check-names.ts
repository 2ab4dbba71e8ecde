import type { ModelConnection } from '../../hub/contract/hub'
import { findNearest, formatUnknown } from '../../shared/find-nearest'
import { autoProvider } from '../../shared/settings'
import { catalogue } from './catalogue'
import { type ChosenModel, findProvider, providerNames, splitModel } from './choose-model'
import type { ModelChoice } from './model-port'

/** A name in a definition that is most likely misspelt. */
export interface NameProblem {
  field: 'provider' | 'model' | ['alternatives', number]
  message: string
}

/** Finds misspelt names of providers and models in a definition. */
export function findNameProblems(
  { provider, model, alternatives = [] }: ModelChoice,
  connections: readonly ModelConnection[] = [],
): NameProblem[] {
  if (provider !== undefined && !allNames.includes(provider))
    return [{ field: 'provider', message: formatUnknownProvider(provider) }]
  const named = provider === autoProvider ? undefined : model
  const first = named === undefined ? null : findProblem(named, provider, connections)
  return [
    ...(first === null ? [] : [{ field: 'model' as const, message: first }]),
    ...alternatives.flatMap((name, index): NameProblem[] => {
      const message = findProblem(name, undefined, connections)
      return message === null ? [] : [{ field: ['alternatives', index], message }]
    }),
  ]
}

function findProblem(
  name: string,
  provider: string | undefined,
  connections: readonly ModelConnection[],
): string | null {
  const chosen = provider === undefined ? splitModel(name) : { provider, model: name }
  if (provider === undefined && chosen.provider === 'openai-compatible') {
    const prefix = name.split('/')[0] ?? ''
    const isMisspelt =
      prefix !== name && !findProvider(prefix) && findNearest(prefix, allNames) !== null
    if (isMisspelt) return formatUnknownProvider(prefix)
  }
  return findModelProblem(chosen, connections)
}

/** What a definition can give as provider. */
const allNames = [...providerNames, autoProvider]

const formatUnknownProvider = (provider: string): string =>
  formatUnknown('provider', provider, allNames)

/** Letters of a model's name: versions, dates and sizes are not compared, because new ones appear. */
const toLetters = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z]+/g, ' ')
    .trim()

/**
 * Returns why the name of a model is most likely misspelt; null for a known one and for one
 * that cannot be judged. A new version of a known family is no misspelt name, and neither is a name like no other.
 */
export function findModelProblem(
  { provider, model }: ChosenModel,
  connections: readonly ModelConnection[] = [],
): string | null {
  const listed = connections.find((each) => each.provider === provider)?.listed ?? []
  if (listed.includes(model)) return null
  const known = listed.length > 0 ? listed : listKnownModels(provider)
  const isFamiliar = known.some((each) => toLetters(model).includes(toLetters(each)))
  if (isFamiliar && listed.length === 0) return null
  const nearest = findNearest(model, known)
  if (nearest === null || toLetters(nearest) === toLetters(model)) return null
  return `Unknown model "${model}": did you mean ${nearest}?`
}

/** The models of the catalogue whose provider is certain. */
const listKnownModels = (provider: string): string[] => {
  const pattern = knownNames[provider]
  return pattern ? Object.keys(catalogue).filter((name) => pattern.test(name)) : []
}

const knownNames: Record<string, RegExp> = {
  anthropic: /^claude/,
  openai: /^(gpt-(?!oss)|o\d)/,
  'workers-ai': /^@cf\//,
}

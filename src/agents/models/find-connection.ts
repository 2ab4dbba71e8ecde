import type { ModelConnection } from '../../hub/contract/hub'
import type { Settings } from '../../shared/settings'
import { isSetByEnvironment } from './choose-model'
import type { ModelChoice } from './model-port'
import { type ModelProvider, modelProviders } from './providers/model-providers'

/** Where a provider is reached, and with which key. */
export interface Connection {
  keyVariable: string
  key: string
  baseUrl: string
  addressSetting: string
  /** What admins set up and its key goes with; null for a key of the environment, or for none. */
  stored: ModelConnection | null
}

export interface ConnectionOptions {
  /** Reads a variable of the environment that is not among the settings. */
  readKey?: ((variable: string) => string | undefined) | undefined
  /** What admins set up of the provider. */
  stored: ModelConnection | undefined
}

/** Variables that a definition may name. It must not reach any other secret. */
const keyVariablePattern = /^[A-Z][A-Z0-9_]*_API_KEY$/

/**
 * Returns a provider's URL and key, or null when its URL or its required key is missing. A definition
 * can name another URL, but no key goes there that was not set for it. What admins set up counts only when
 * the environment has no key, and the definition names no variable of its own.
 */
export function findConnection(
  known: ModelProvider,
  choice: ModelChoice,
  settings: Settings,
  options: ConnectionOptions,
): Connection | null {
  const keyVariable = choice.apiKeyEnv ?? known.keySetting
  const isOwnKey = keyVariable === known.keySetting
  const stored = isOwnKey && !isSetByEnvironment(known, settings) ? (options.stored ?? null) : null
  const ofHub = stored?.baseUrl ?? findBaseUrl(known, settings)
  const baseUrl = choice.apiBase ?? ofHub
  if (!baseUrl) return null
  const place = {
    baseUrl: baseUrl.replace(/(?<!\/)\/+$/, ''),
    addressSetting: describeAddress(known, choice, stored),
  }
  if (stored && isWithinUrl(baseUrl, stored.baseUrl)) return connectStored(known, stored, place)
  const key = findKey(known, settings, options, { keyVariable, baseUrl })
  if (known.needsKey && !key) return null
  return { ...place, keyVariable, key: key ?? '', stored: null }
}

/** Returns the key of the environment that was set for a URL. */
function findKey(
  known: ModelProvider,
  settings: Settings,
  options: ConnectionOptions,
  { keyVariable, baseUrl }: Pick<Connection, 'keyVariable' | 'baseUrl'>,
): string | undefined {
  const keyUrl = findKeyUrl(keyVariable, known, settings, options)
  const isForUrl = keyUrl !== null && isWithinUrl(baseUrl, keyUrl)
  return isForUrl ? readKey(settings, options, keyVariable) : undefined
}

type Place = Pick<Connection, 'baseUrl' | 'addressSetting'>

/** Returns the connection with the key that an admin set; null when that key is required and missing. */
const connectStored = (
  known: ModelProvider,
  stored: ModelConnection,
  place: Place,
): Connection | null =>
  known.needsKey && !stored.hasKey
    ? null
    : {
        ...{ ...place, stored, keyVariable: 'the key at /models' },
        key: stored.hasKey ? keyPlaceholder : '',
      }

function describeAddress(
  known: ModelProvider,
  { apiBase }: ModelChoice,
  stored: ModelConnection | null,
): string {
  if (apiBase !== undefined) return '`brain.api_base`'
  return stored ? 'its base URL at /models' : known.baseUrlSetting
}

/** Stands for a key that is added to the request later, where agents do not see it. */
const keyPlaceholder = 'set-at-models'

const findBaseUrl = (known: ModelProvider, settings: Settings): string | null =>
  readText(settings, known.baseUrlSetting) ?? known.baseUrl(settings)

/**
 * Returns the URL that a key was set for: that of the provider whose key it is; for another variable
 * `NAME_API_KEY` that in `NAME_BASE_URL`, or else the hub's URL of the definition's provider.
 */
function findKeyUrl(
  variable: string,
  known: ModelProvider,
  settings: Settings,
  options: ConnectionOptions,
): string | null {
  if (!keyVariablePattern.test(variable)) return null
  const owner = Object.values(modelProviders).find(({ keySetting }) => keySetting === variable)
  if (owner) return findBaseUrl(owner, settings)
  const own = options.readKey?.(variable.replace(/_API_KEY$/, '_BASE_URL'))
  return own || findBaseUrl(known, settings)
}

/** Whether a URL is another one or below it: on one host, paths can belong to different customers. */
function isWithinUrl(url: string, base: string): boolean {
  if (!URL.canParse(url) || !URL.canParse(base)) return false
  const [given, allowed] = [new URL(url), new URL(base)]
  const toPath = ({ pathname }: URL) => pathname.replace(/(?<!\/)\/*$/, '/')
  return given.origin === allowed.origin && toPath(given).startsWith(toPath(allowed))
}

function readText(settings: Settings, name: string): string | undefined {
  const value = (settings as Record<string, unknown>)[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

function readKey(settings: Settings, options: ConnectionOptions, variable: string) {
  return readText(settings, variable) ?? options.readKey?.(variable)
}

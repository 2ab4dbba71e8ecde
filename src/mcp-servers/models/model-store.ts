import type { KeyProblem, ModelConnection, ModelStore } from '../../hub/contract/hub'
import { mapStatement } from '../../shared/db/statement'
import type { ModelAddress, ModelProviderSummary } from '../contract/model-admin'
import { credentialMark, type ServiceKind } from '../services/check-service'
import { bindingUrl } from './ai-binding'
import type { SealedConnection } from './model-access'
import {
  modelServer,
  type ProviderRow,
  providerRowsSql,
  readProviderRows,
  selectHasProviders,
  selectProviderRows,
  updateKeyTest,
} from './queries'

/** Creates the store of model providers that admins set up, with keys that only this module can read. */
export function createModelStore(
  addresses: ReadonlyMap<string, ModelAddress>,
  hasBinding = false,
): ModelStore {
  const toConnections = (rows: ProviderRow[]) => {
    const connections = rows.flatMap((row) => toConnection(row, addresses) ?? [])
    return hasBinding ? withBinding(connections, rows) : connections
  }
  return {
    selectConnections: () => mapStatement(selectProviderRows({}), toConnections),
    selectHasConnections: () => mapStatement(selectHasProviders({}), (has) => has || hasBinding),
    connectionsSql: providerRowsSql,
    recordKeyTest({ provider, sealed }, problem) {
      const { credential } = sealed as SealedConnection
      return updateKeyTest(provider, { key: toKeyId(credential), problem })
    },
    readConnections: (value) => toConnections(value === null ? [] : readProviderRows(value)),
  }
}

/** The provider of the platform's binding. */
const bindingProvider = 'workers-ai'

/** Adds the binding, unless an admin set a key or another address for its provider. */
function withBinding(connections: ModelConnection[], rows: ProviderRow[]): ModelConnection[] {
  const row = rows.find(({ provider }) => provider.provider === bindingProvider)
  if (row?.service || row?.credential) return connections
  const { defaultModel = null, listed = [], prices = {} } = row?.provider ?? {}
  const binding: ModelConnection = {
    provider: bindingProvider,
    baseUrl: bindingUrl,
    hasKey: true,
    keyProblem: null,
    isBinding: true,
    defaultModel,
    listed,
    prices,
    revision: 'binding',
    sealed: null,
  }
  return [...connections.filter(({ provider }) => provider !== bindingProvider), binding]
}

/** Returns the connection of a provider; null without an address. */
function toConnection(
  { provider: row, service, credential }: ProviderRow,
  addresses: ReadonlyMap<string, ModelAddress>,
): ModelConnection | null {
  const address = addresses.get(row.provider)
  const baseUrl = service?.baseUrl ?? address?.baseUrl
  if (!address || !baseUrl) return null
  const sealed: SealedConnection = {
    credential,
    headers: toKeyHeaders(address),
    allowHttp: service ? service.allowHttp : true,
    allowPrivate: service?.allowPrivate ?? false,
    isBuiltIn: service === null,
  }
  return {
    provider: row.provider,
    baseUrl,
    hasKey: credential !== null,
    keyProblem: findKeyProblem(row.keyTest, credential),
    defaultModel: row.defaultModel,
    listed: row.listed,
    prices: row.prices,
    revision: [credential?.iv ?? credential?.variable, service?.updatedAt].join('|'),
    sealed,
  }
}

/** Returns what identifies a key without saying it, as `keyIdSql`. */
export const toKeyId = (credential: ProviderRow['credential']): string =>
  credential?.iv ?? credential?.variable ?? ''

/** Returns why agents do not use a key; null for one that they use, and for a provider without. */
function findKeyProblem(
  test: ProviderRow['provider']['keyTest'],
  credential: ProviderRow['credential'],
): KeyProblem | null {
  if (credential === null) return null
  return test?.key === toKeyId(credential) ? test.problem : 'untested'
}

/** Converts a provider for pages. */
export const summarize = ({
  provider,
  service,
  credential,
}: ProviderRow): ModelProviderSummary => ({
  provider: provider.provider,
  baseUrl: service?.baseUrl ?? null,
  allowPrivate: service?.allowPrivate ?? false,
  hasKey: credential !== null,
  keySetAt: credential?.updatedAt ?? null,
  keySetBy: credential?.updatedBy ?? null,
  defaultModel: provider.defaultModel,
  listed: provider.listed,
  listedAt: provider.listedAt,
  prices: provider.prices,
})

/** Returns the header that carries a provider's key. */
export const toKeyHeaders = ({ keyHeader }: ModelAddress): Record<string, string> => ({
  [keyHeader]: keyHeader === 'authorization' ? `Bearer ${credentialMark}` : credentialMark,
})

/**
 * Returns the kind of the services of model providers. Those with a known address are built in, so that
 * a key is sealed to that address from the start.
 */
export const createModelKind = (addresses: ReadonlyMap<string, ModelAddress>): ServiceKind => ({
  server: modelServer,
  builtIn(provider) {
    const address = addresses.get(provider)
    if (!address?.baseUrl) return null
    return { baseUrl: address.baseUrl, headers: toKeyHeaders(address) }
  },
  isSentInHeader: true,
})

import type { ModelConnection, ModelStore } from '../../hub/contract/hub'
import { mapStatement } from '../../shared/db/statement'
import type { ModelAddress, ModelProviderSummary } from '../contract/model-admin'
import type { SealedConnection } from './model-access'
import { toKeyHeaders } from './model-kind'
import {
  type ProviderRow,
  providerRowsSql,
  readProviderRows,
  selectHasProviders,
  selectProviderRows,
} from './queries'

/** Creates the store of model providers that admins set up, with keys that only this module can read. */
export function createModelStore(addresses: ReadonlyMap<string, ModelAddress>): ModelStore {
  const toConnections = (rows: ProviderRow[]) =>
    rows.flatMap((row) => toConnection(row, addresses) ?? [])
  return {
    selectConnections: () => mapStatement(selectProviderRows({}), toConnections),
    selectHasConnections: () => selectHasProviders({}),
    connectionsSql: providerRowsSql,
    readConnections: (value) => (value === null ? [] : toConnections(readProviderRows(value))),
  }
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
    defaultModel: row.defaultModel,
    listed: row.listed,
    prices: row.prices,
    revision: [credential?.iv ?? credential?.variable, service?.updatedAt].join('|'),
    sealed,
  }
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

import type { DefinitionChangeApi, GrantApi, ModelStore, Sender } from '../../hub/contract/hub'
import { batch, run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import { mapStatement } from '../../shared/db/statement'
import type { Clock } from '../../shared/ids'
import type {
  ModelAccess,
  ModelAddress,
  ModelAdminApi,
  ModelPriceInput,
  ModelProviderInput,
} from '../contract/model-admin'
import { deleteCredential } from '../credentials/queries'
import type { Vault } from '../credentials/vault'
import { isPublicHost } from '../fetch/public-address'
import { toDestination } from '../services/destination'
import { deleteService } from '../services/queries'
import type { Services } from '../services/services'
import { modelErrors } from './errors'
import { readModelNames } from './list-models'
import { toKeyHeaders } from './model-kind'
import { summarize } from './model-store'
import {
  deleteProvider,
  keyNameOf,
  modelServer,
  selectProviderRows,
  updatePrice,
  upsertProvider,
} from './queries'

interface ModelsDeps {
  db: Db
  clock: Clock
  addresses: ReadonlyMap<string, ModelAddress>
  vault: Vault
  services: Services
  access: ModelAccess
  store: ModelStore
}

/** Prices of a provider at most: every run reads them. */
const pricesMax = 50

type Admin = Pick<Sender, 'id' | 'name' | 'keyId'>
type Hub = Pick<GrantApi, 'recordAdminAction'> & DefinitionChangeApi

/** What admins can do, with the write of a key, which only routes and forms of this module use. */
export interface ModelAdmin extends ModelAdminApi {
  /** @throws VALIDATION, also for a key that cannot be one */
  putKey(admin: Admin, provider: string, key: string): Promise<void>
}

function findAddressIn(addresses: ModelsDeps['addresses'], provider: string): ModelAddress {
  const address = addresses.get(provider)
  if (address) return address
  throw modelErrors.unknownProvider(provider, [...addresses.keys()])
}

/** Returns a function that records what an admin does with a provider. */
const createRecorder =
  (hub: Hub) => (admin: Admin, action: string, provider: string, after?: object) =>
    hub.recordAdminAction(admin, {
      action: `model_provider.${action}`,
      targetType: 'model_provider',
      targetId: provider,
      ...(after && { after: { ...after } }),
    })

/** Creates the API of model providers for admins. */
export function createModelAdmin(deps: ModelsDeps, hub: Hub): ModelAdmin {
  const { db, clock, vault, access, store } = deps
  const findAddress = (provider: string) => findAddressIn(deps.addresses, provider)
  const record = createRecorder(hub)
  const touch = (admin: Admin, provider: string) => ({
    ...{ provider, updatedAt: clock.now(), updatedBy: admin.name },
  })
  return {
    selectProviders: () => mapStatement(selectProviderRows({}), (rows) => rows.map(summarize)),

    async putProvider(admin, provider, input) {
      const address = findAddress(provider)
      await record(admin, 'set', provider, toSettings(input))
      if (input.base_url !== undefined) {
        await putAddress(deps, admin, { provider, address, input })
      }
      const model = input.default_model?.trim()
      const row = {
        ...touch(admin, provider),
        ...(model !== undefined && { defaultModel: model === '' ? null : model }),
      }
      await run(db, upsertProvider(row))
      await hub.refreshModels()
    },

    async putKey(admin, provider, key) {
      findAddress(provider)
      await record(admin, 'set_key', provider)
      const place = { server: modelServer, service: provider, community: null, agent: null }
      await vault.put({ ...place, name: keyNameOf(provider), value: key, by: admin.name })
      await run(db, upsertProvider(touch(admin, provider)))
      await hub.refreshModels()
    },

    async putPrice(admin, provider, { model: name, price }) {
      const address = findAddress(provider)
      const isFull = name.startsWith(`${provider}/`)
      const model = name.slice(isFull ? provider.length + 1 : 0).toLowerCase()
      await checkPrice(db, { provider, address, model, price })
      await record(admin, price ? 'set_price' : 'reset_price', provider, { model, ...price })
      await batch(db, {
        row: upsertProvider(touch(admin, provider)),
        price: updatePrice(provider, model, price),
      })
      await hub.refreshModels()
    },

    async deleteProvider(admin, provider) {
      await record(admin, 'delete', provider)
      const { isDeleted } = await batch(db, {
        isDeleted: deleteProvider(provider),
        key: deleteCredential(keyNameOf(provider)),
        address: deleteService(modelServer, provider),
      })
      if (!isDeleted) throw modelErrors.notSetUp()
      await hub.refreshModels()
    },

    async listModels(admin, provider) {
      const address = findAddress(provider)
      const connections = await run(db, store.selectConnections())
      const connection = connections.find((each) => each.provider === provider)
      if (!connection) throw modelErrors.notSetUp()
      await record(admin, 'list', provider)
      const opened = access.open(connection)
      const names = await readModelNames(provider, connection.baseUrl, address, opened)
      const found = { listed: names, listedAt: clock.now() }
      await run(db, upsertProvider({ ...touch(admin, provider), ...found }))
      return names
    },
  }
}

/** Throws VALIDATION for a provider without an address, and beyond the number of prices that a provider can have. */
async function checkPrice(
  db: Db,
  {
    provider,
    address,
    model,
    price,
  }: ModelPriceInput & { provider: string; address: ModelAddress },
): Promise<void> {
  const rows = await run(db, selectProviderRows({}))
  const row = rows.find((each) => each.provider.provider === provider)
  if (!row?.service && address.baseUrl === null) throw modelErrors.noAddress()
  const prices = row?.provider.prices ?? {}
  const isFull = Object.keys(prices).length >= pricesMax
  if (price && isFull && !Object.hasOwn(prices, model)) throw modelErrors.tooManyPrices(pricesMax)
}

/** Stores the address of a provider, or returns to the built-in one when it is empty. */
async function putAddress(
  { db, services }: ModelsDeps,
  admin: Admin,
  {
    provider,
    address,
    input,
  }: { provider: string; address: ModelAddress; input: ModelProviderInput },
): Promise<void> {
  const given = input.base_url?.trim() ?? ''
  const rows = await run(db, selectProviderRows({}))
  const sealedTo = rows.find((row) => row.provider.provider === provider)?.credential?.destination
  const target = given === '' ? address.baseUrl : given
  const isElsewhere =
    sealedTo != null &&
    target !== null &&
    URL.canParse(target) &&
    sealedTo !== toDestination(target)
  if (isElsewhere || (sealedTo != null && target === null)) throw modelErrors.keyElsewhere()
  if (given === '') {
    if (address.baseUrl === null) throw modelErrors.noAddress()
    await run(db, deleteService(modelServer, provider))
    return
  }
  const isOnPrivate = isOnPrivateHost(given)
  const service = {
    base_url: given,
    hosts: [],
    headers: toKeyHeaders(address),
    allow_private: input.allow_private === true || isOnPrivate,
    // without TLS only where nobody on the way can read the key
    allow_http: isOnPrivate,
  }
  await services.put(modelServer, provider, service, admin.name)
}

const isOnPrivateHost = (url: string): boolean =>
  URL.canParse(url) && !isPublicHost(new URL(url).hostname)

/** The settings that are recorded. */
const toSettings = ({ base_url, allow_private, default_model }: ModelProviderInput) => ({
  ...(base_url !== undefined && { origin: URL.parse(base_url)?.origin ?? null }),
  ...(allow_private !== undefined && { allow_private }),
  ...(default_model !== undefined && { default_model }),
})

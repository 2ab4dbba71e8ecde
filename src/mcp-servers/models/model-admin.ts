import * as z from 'zod'
import type { DefinitionChangeApi, GrantApi, ModelStore, Sender } from '../../hub/contract/hub'
import { outside } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import { mapStatement } from '../../shared/db/statement'
import { AppError } from '../../shared/errors'
import { formatUnknown } from '../../shared/find-nearest'
import type { Clock } from '../../shared/ids'
import type {
  LocalModelServer,
  ModelAccess,
  ModelAddress,
  ModelAdminApi,
  ModelPriceInput,
  ModelProviderInput,
  OpenedConnection,
} from '../contract/model-admin'
import { deleteCredential } from '../credentials/queries'
import type { Vault } from '../credentials/vault'
import { isPublicHost } from '../fetch/check-url'
import { fetchErrors, readText } from '../fetch/guarded-fetch'
import { toDestination } from '../services/check-service'
import { deleteService } from '../services/queries'
import type { Services } from '../services/services'
import { type AiBinding, listBindingModels } from './ai-binding'
import { summarize, toKeyHeaders, toKeyId } from './model-store'
import {
  deleteProvider,
  keyNameOf,
  modelServer,
  selectProviderRows,
  updateKeyTest,
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
  ai?: AiBinding | undefined
  /** Looks for servers of models on this machine. Absent where others reach the hub. */
  searchMachine?: (() => Promise<unknown>) | undefined
}

/** The provider that servers on this machine are set up as. */
const localProvider = 'openai-compatible'

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
  const { db, clock, vault, access, store, searchMachine } = deps
  const findAddress = (provider: string) => findAddressIn(deps.addresses, provider)
  const record = createRecorder(hub)
  const touch = (admin: Admin, provider: string) => ({
    provider,
    updatedAt: clock.now(),
    updatedBy: admin.name,
  })
  return {
    selectProviders: () => mapStatement(selectProviderRows({}), (rows) => rows.map(summarize)),

    async putProvider(admin, provider, input, listed) {
      const address = findAddress(provider)
      await record(admin, 'set', provider, toSettings(input))
      if (input.base_url !== undefined) {
        await putAddress(deps, admin, { provider, address, input })
      }
      const model = input.default_model?.trim()
      const row = {
        ...touch(admin, provider),
        ...(model !== undefined && { defaultModel: model === '' ? null : model }),
        ...(listed && { listed, listedAt: clock.now() }),
      }
      await run(db, upsertProvider(row))
      await hub.refreshModels()
    },

    isOwnMachine: searchMachine !== undefined,

    findLocalServers: async () => (searchMachine ? readLocalServers(searchMachine) : []),

    async useLocalServer(admin, name, model) {
      const servers = await this.findLocalServers()
      const server = servers.find((each) => each.name === name && each.models.includes(model))
      if (!server) throw modelErrors.noLocalServer(name, model)
      const input = { base_url: server.baseUrl, default_model: model }
      await this.putProvider(admin, localProvider, input, server.models)
    },

    async putKey(admin, provider, key) {
      findAddress(provider)
      await record(admin, 'set_key', provider)
      const place = { server: modelServer, service: provider, community: null, agent: null }
      await vault.put({ ...place, name: keyNameOf(provider), value: key, by: admin.name })
      await run(db, upsertProvider(touch(admin, provider)))
      await hub.refreshModels()
    },

    async useKey(admin, provider) {
      findAddress(provider)
      const rows = await run(db, selectProviderRows({}))
      const credential = rows.find((row) => row.provider.provider === provider)?.credential
      if (!credential) throw modelErrors.noKey(provider)
      await record(admin, 'use_key', provider)
      await run(db, updateKeyTest(provider, { key: toKeyId(credential), problem: null }))
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
      const names =
        connection.isBinding && deps.ai
          ? await listBindingModels(deps.ai)
          : await readModelNames(provider, connection.baseUrl, address, opened)
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

/** Models of a provider that are kept at most, and characters of a name. */
const modelsMax = 100
const nameCharsMax = 120

const listed = z.object({ data: z.array(z.object({ id: z.string() })) })

/**
 * Asks a provider for the names of its models.
 *
 * @throws UNAVAILABLE, VALIDATION; FORBIDDEN for an address that requests may not go to
 */
async function readModelNames(
  provider: string,
  baseUrl: string,
  { modelsPath, headers = {} }: ModelAddress,
  { fetch }: Pick<OpenedConnection, 'fetch'>,
): Promise<string[]> {
  if (modelsPath === null) throw modelErrors.noList(provider)
  const signal = AbortSignal.timeout(outside.timeoutMs)
  const response = await request(provider, () =>
    fetch(toListUrl(baseUrl, modelsPath), { headers, signal }),
  )
  if (!response.ok) throw modelErrors.listFailed(response.status)
  const { text, isTruncated } = await request(provider, () =>
    readText(response, outside.bodyBytesMax),
  )
  const parsed = text === null || isTruncated ? null : parseJson(text)
  const names = listed.safeParse(parsed)
  if (!names.success) throw modelErrors.notModels()
  return [...new Set(names.data.data.map(({ id }) => id))].filter(isName).sort().slice(0, modelsMax)
}

/** Joins base URL and path; of a version that both contain, one is kept. */
const toListUrl = (baseUrl: string, path: string): string => {
  const base = baseUrl.replace(/(?<!\/)\/+$/, '')
  return base.endsWith('/v1') ? base + path.replace(/^\/v1/, '') : base + path
}

async function request<Result>(provider: string, send: () => Promise<Result>): Promise<Result> {
  try {
    return await send()
  } catch (error) {
    throw error instanceof AppError ? error : fetchErrors.failed(provider, error)
  }
}

/** Whether a name can be a model's: it is shown to admins and stored. */
const isName = (name: string): boolean => name.length <= nameCharsMax && /^[\x21-\x7e]+$/.test(name)

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** What `npm start` found; its search keeps to these limits, too. */
const found = z.array(
  z.object({
    name: z.string().max(40),
    base_url: z.url().max(100),
    models: z.array(z.string().max(120)).min(1).max(50),
  }),
)

/** Returns the servers that a search found; none when it failed. */
async function readLocalServers(search: () => Promise<unknown>): Promise<LocalModelServer[]> {
  const servers = found.safeParse(await search().catch(() => null))
  return (servers.data ?? []).map(({ name, base_url, models }) => ({
    name,
    baseUrl: base_url,
    models,
  }))
}

const toSentence = (text: string): string => (text.endsWith('?') ? text : `${text}.`)

/** Errors of model providers, as admins read them. */
const modelErrors = {
  unknownProvider: (provider: string, known: readonly string[]) =>
    new AppError('VALIDATION', toSentence(formatUnknown('provider', provider, known)), {
      hint: `Providers: ${known.join(', ')}.`,
      details: [{ path: 'provider', message: `Must be one of ${known.join(', ')}` }],
    }),
  notSetUp: () => new AppError('NOT_FOUND', 'This provider is not set up here.'),
  noKey: (provider: string) =>
    new AppError('NOT_FOUND', `${provider} has no key here.`, { hint: 'Set its key first.' }),
  noAddress: () =>
    new AppError('VALIDATION', 'The provider has no base URL.', {
      hint: 'Set its base URL first.',
      details: [{ path: 'body.base_url', message: 'Set the base URL first' }],
    }),
  keyElsewhere: () =>
    new AppError('VALIDATION', 'The key was set for another host.', {
      hint: 'Delete the provider, set its new base URL, then set the key again.',
      details: [
        {
          path: 'body.base_url',
          message: 'The key was set for another host. Delete the provider, then set both again',
        },
      ],
    }),
  tooManyPrices: (max: number) =>
    new AppError('VALIDATION', `A provider can have ${max} prices at most.`, {
      hint: 'Reset prices that no agent uses.',
    }),
  noList: (provider: string) =>
    new AppError('VALIDATION', `${provider} has no list of models that this hub can read.`),
  noLocalServer: (name: string, model: string) =>
    new AppError('NOT_FOUND', `${name} with ${model} is not found on this machine any more.`, {
      hint: 'Start it, then open /models again.',
    }),
  notModels: () =>
    new AppError('UNAVAILABLE', 'The address answered, but not with a list of models.', {
      hint: 'Check the base URL: it usually ends in /v1.',
    }),
  listFailed: (status: number) =>
    new AppError('UNAVAILABLE', `The provider answered ${status} to the request for its models.`, {
      hint:
        status === 401 || status === 403
          ? 'Check the key.'
          : 'Check the base URL: it usually ends in /v1.',
    }),
}

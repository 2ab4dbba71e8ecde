import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import type { DatabaseCreateParams } from 'cloudflare/resources/d1/database/database'
import type { ScriptUpdateParams } from 'cloudflare/resources/workers/scripts/scripts'
import { Refusal, runQuery } from './fake-d1'
import type { OperationWithBody, PlayedRequest, PublishedApi } from './published-api'

const accountId = 'a'.repeat(32)
export const databaseId = '11111111-1111-4111-8111-111111111111'
const versionId = '22222222-2222-4222-8222-222222222222'
const token = 'token-of-the-test'
const assetsToken = `e30.${Buffer.from(JSON.stringify({ exp: 4_000_000_000 })).toString('base64url')}.s`

export interface Upload {
  modules: Record<string, string>
  metadata: ScriptUpdateParams.Metadata
}

interface Request {
  url: URL
  body: Buffer
  headers: Headers
}
type Handler<Result> = (request: Request) => Result | Promise<Result>
type Published = { [Name in keyof PublishedApi]: Handler<PublishedApi[Name]['result']> }
type Place = NonNullable<DatabaseCreateParams['jurisdiction']>
type UploadOperation = Extract<OperationWithBody, `${string}/${'rookery' | 'versions'}`>

/** Wrangler reads it for the last migration of classes; it is not published. */
const unpublished = 'GET /accounts/:account/workers/services/rookery'
const madeAt = '2026-01-01T00:00:00Z'
const deployment = {
  id: versionId,
  created_on: madeAt,
  source: 'wrangler',
  strategy: 'percentage' as const,
  versions: [{ version_id: versionId, percentage: 100 }],
}

/**
 * The part of Cloudflare's API that a deployment uses. Answers have the published types; requests are kept in `requests`, to be
 * compared with theirs. A request to another path is refused and noted in `surprises`.
 */
export class FakePlatform {
  database: DatabaseSync | null = null
  hasBucket = false
  /** Where the database was created to stay, and the bucket; null: anywhere. */
  databasePlace: Place | null = null
  bucketPlace: Place | null = null
  isOnSubdomain = false
  uploads: Upload[] = []
  secrets: Record<string, string> = {}
  crons: string[] = []
  /** Paths of the files beside the script. */
  assets: string[] = []
  /** Method and path of every request that changes something. */
  writes: string[] = []
  /** Requests with a body, in the order in which they came. */
  requests: PlayedRequest[] = []
  surprises: string[] = []
  isAllowed = true
  /** Runs before the answer to an upload that was accepted. */
  onUpload: (upload: Upload) => unknown = () => undefined
  /** Runs instead of an upload. */
  refuseUpload: (() => never) | null = null
  readonly #server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', async () => {
      const url = new URL(request.url ?? '/', 'http://platform')
      const headers = toHeaders(request.headers)
      const { status, answer } = await this.#answer(request.method ?? 'GET', {
        url,
        headers,
        body: Buffer.concat(chunks),
      })
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end(JSON.stringify(answer))
    })
  })

  /** @returns environment with which wrangler and the deployment talk to this platform */
  async start(): Promise<Record<string, string>> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    const { port } = this.#server.address() as AddressInfo
    return {
      CLOUDFLARE_API_BASE_URL: `http://127.0.0.1:${port}/client/v4`,
      CLOUDFLARE_API_TOKEN: token,
    }
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
    this.database?.close()
  }

  /** Ends all connections, as a machine that is switched off. */
  hangUp(): void {
    this.#server.closeAllConnections()
  }

  async #answer(method: string, request: Request) {
    const path = request.url.pathname
      .replace('/client/v4', '')
      .replace(accountId, ':account')
      .replace(databaseId, ':database')
      .replace(versionId, ':version')
    const name = `${method} ${path}`
    try {
      if (request.headers.get('authorization') !== `Bearer ${token}`) {
        throw new Refusal(401, 10000, 'Authentication error')
      }
      const handler = Object.hasOwn(this.#routes, name) && this.#routes[name as keyof Published]
      if (!handler) throw new Refusal(404, 7003, `No route ${name}`)
      if (!this.isAllowed && path !== '/accounts') {
        throw new Refusal(403, 10000, 'Authentication error')
      }
      const isRead = method === 'GET' || path.endsWith('/query')
      if (!isRead) this.writes.push(name)
      const result = await handler(request)
      return {
        status: 200,
        answer: { success: true, errors: [], messages: [], result, result_info: pages(result) },
      }
    } catch (error) {
      const { status, code, message } =
        error instanceof Refusal ? error : new Refusal(400, 7400, String(error))
      if (![10007, 10090, 10006, 10000, 10021].includes(code))
        this.surprises.push(`${name}: ${message}`)
      return {
        status,
        answer: { success: false, errors: [{ code, message }], messages: [], result: null },
      }
    }
  }

  readonly #routes: Published & Record<typeof unpublished, Handler<unknown>> = {
    'GET /accounts': () => [{ id: accountId, name: 'Acme', type: 'standard' }],
    'GET /accounts/:account/d1/database': () => (this.database ? [this.#describeDatabase()] : []),
    'POST /accounts/:account/d1/database': ({ body }) => {
      const { name, jurisdiction } = this.#read('POST /accounts/:account/d1/database', body)
      if (this.database) throw new Refusal(400, 7502, `${name} exists`)
      this.database = new DatabaseSync(':memory:')
      this.databasePlace = jurisdiction ?? null
      return this.#describeDatabase()
    },
    'POST /accounts/:account/d1/database/:database/query': ({ body }) => {
      const query = this.#read('POST /accounts/:account/d1/database/:database/query', body)
      if ('batch' in query) throw new Refusal(400, 7400, 'A deployment sends one text.')
      return runQuery(this.database, query.sql)
    },
    'GET /accounts/:account/workers/scripts/rookery/secrets': () => {
      this.#findScript()
      return Object.keys(this.secrets).map((name) => ({ name, type: 'secret_text' }))
    },
    [unpublished]: () => {
      if (this.uploads.length === 0) throw new Refusal(404, 10090, 'This service does not exist.')
      const migrated = this.uploads.findLast(({ metadata }) => metadata.migrations)
      const script = {
        tag: 'tag',
        last_deployed_from: 'wrangler',
        migration_tag: migrated?.metadata.migrations?.new_tag,
      }
      return { id: 'rookery', default_environment: { environment: 'production', script } }
    },
    'GET /accounts/:account/r2/buckets/rookery-files': ({ headers }) => {
      const isThere = this.hasBucket && readPlace(headers) === this.bucketPlace
      if (!isThere) throw new Refusal(404, 10006, 'The specified bucket does not exist.')
      return { name: 'rookery-files', creation_date: madeAt }
    },
    'POST /accounts/:account/r2/buckets': ({ body, headers }) => {
      const place = readPlace(headers)
      const { name } = this.#read('POST /accounts/:account/r2/buckets', body, {
        ...(place && { 'cf-r2-jurisdiction': place }),
      })
      if (this.hasBucket) throw new Refusal(409, 10004, 'The bucket exists.')
      this.hasBucket = true
      this.bucketPlace = place
      return { name, creation_date: madeAt }
    },
    'GET /accounts/:account/workers/subdomain': () => ({ subdomain: 'acme' }),
    // No file is asked for, as when an earlier deployment uploaded them all.
    'POST /accounts/:account/workers/scripts/rookery/assets-upload-session': ({ body }) => {
      const name = 'POST /accounts/:account/workers/scripts/rookery/assets-upload-session'
      this.assets = Object.keys(this.#read(name, body).manifest)
      return { jwt: assetsToken, buckets: [] }
    },
    'PUT /accounts/:account/workers/scripts/rookery': async (request) => {
      await this.#upload('PUT /accounts/:account/workers/scripts/rookery', request)
      return { id: 'rookery', etag: 'etag', startup_time_ms: 50 }
    },
    'GET /accounts/:account/workers/scripts/rookery/deployments': () => {
      this.#findScript()
      return { deployments: [deployment] }
    },
    'GET /accounts/:account/workers/scripts/rookery/versions/:version': () => ({
      id: versionId,
      metadata: { source: 'wrangler' },
      resources: { bindings: [], script: { etag: 'etag' } },
    }),
    // A later upload without new classes is a version, which a deployment makes the one that runs.
    'POST /accounts/:account/workers/scripts/rookery/versions': async (request) => {
      await this.#upload('POST /accounts/:account/workers/scripts/rookery/versions', request)
      return { id: versionId, resources: { script: { etag: 'etag' } }, startup_time_ms: 50 }
    },
    'POST /accounts/:account/workers/scripts/rookery/deployments': ({ body }) => {
      this.#read('POST /accounts/:account/workers/scripts/rookery/deployments', body)
      return deployment
    },
    'PATCH /accounts/:account/workers/scripts/rookery/script-settings': ({ body }) =>
      this.#read('PATCH /accounts/:account/workers/scripts/rookery/script-settings', body),
    'GET /accounts/:account/workers/scripts/rookery/settings': () => {
      this.#findScript()
      return { bindings: this.uploads.at(-1)?.metadata.bindings ?? [], tags: [] }
    },
    'GET /accounts/:account/workers/workers/rookery': () => ({
      id: 'worker',
      name: 'rookery',
      created_on: madeAt,
      updated_on: madeAt,
      logpush: false,
      observability: {},
      tags: [],
      tail_consumers: [],
      references: {
        dispatch_namespace_outbounds: [],
        domains: [],
        durable_objects: [],
        queues: [],
        workers: [],
      },
      subdomain: this.#describeSubdomain(),
    }),
    'GET /accounts/:account/workers/scripts/rookery/subdomain': () => this.#describeSubdomain(),
    'POST /accounts/:account/workers/scripts/rookery/subdomain': ({ body }) => {
      const name = 'POST /accounts/:account/workers/scripts/rookery/subdomain'
      this.isOnSubdomain = this.#read(name, body).enabled
      return this.#describeSubdomain()
    },
    'PUT /accounts/:account/workers/scripts/rookery/schedules': ({ body }) => {
      const schedules = JSON.parse(body.toString())
      const operation = 'PUT /accounts/:account/workers/scripts/rookery/schedules'
      this.requests.push({ operation, parameters: { account_id: accountId, body: schedules } })
      this.crons = schedules.map(({ cron }: { cron: string }) => cron)
      return { schedules }
    },
  }

  #describeDatabase() {
    return {
      uuid: databaseId,
      name: 'rookery',
      version: 'production',
      created_at: madeAt,
      jurisdiction: this.databasePlace,
    }
  }

  #describeSubdomain() {
    return { enabled: this.isOnSubdomain, previews_enabled: this.isOnSubdomain }
  }

  #findScript(): void {
    if (this.uploads.length === 0) throw new Refusal(404, 10007, 'This Worker does not exist.')
  }

  /** Keeps the request, and returns it as if it had the published type: whether it has is told at the end. */
  #read<Name extends OperationWithBody>(operation: Name, body: Buffer | string, more = {}) {
    const parameters = { account_id: accountId, ...more, ...JSON.parse(body.toString()) }
    this.requests.push({ operation, parameters })
    return parameters as PublishedApi[Name]['request']
  }

  async #upload(operation: UploadOperation, { body, headers }: Request) {
    this.refuseUpload?.()
    const form = await new Response(new Uint8Array(body), { headers }).formData()
    const modules: Record<string, string> = {}
    for (const [name, value] of form) {
      if (name !== 'metadata')
        modules[name] = typeof value === 'string' ? value : await value.text()
    }
    const { metadata } = this.#read(operation, `{ "metadata": ${form.get('metadata')} }`)
    for (const each of metadata.bindings ?? []) {
      // Wrangler calls it by its former name, which is published as such.
      if (each.type === 'd1') each.database_id ??= each.id ?? ''
    }
    if (!metadata.keep_bindings?.includes('secret_text')) this.secrets = {}
    for (const each of metadata.bindings ?? []) {
      if (each.type === 'secret_text') this.secrets[each.name] = each.text
    }
    const upload = { modules, metadata }
    this.uploads.push(upload)
    await this.onUpload(upload)
  }
}

const readPlace = (headers: Headers) => headers.get('cf-r2-jurisdiction') as Place | null

const pages = (result: unknown) =>
  Array.isArray(result)
    ? { page: 1, per_page: 100, count: result.length, total_count: result.length, total_pages: 1 }
    : undefined

const toHeaders = (headers: IncomingHttpHeaders) =>
  new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)]))

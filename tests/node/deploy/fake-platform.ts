import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { DatabaseSync } from 'node:sqlite'
import * as z from 'zod'

const accountId = 'a'.repeat(32)
export const databaseId = '11111111-1111-4111-8111-111111111111'
const versionId = '22222222-2222-4222-8222-222222222222'
const token = 'token-of-the-test'

/** What an upload says beside its modules. */
const uploadMetadata = z.object({
  main_module: z.literal('worker.js'),
  compatibility_date: z.iso.date(),
  compatibility_flags: z.array(z.string()),
  placement: z.looseObject({ mode: z.literal('smart') }).optional(),
  bindings: z.array(z.looseObject({ name: z.string(), type: z.string() })),
  keep_bindings: z.array(z.string()).optional(),
  migrations: z
    .object({
      old_tag: z.string().optional(),
      new_tag: z.string(),
      steps: z.array(z.object({ new_sqlite_classes: z.array(z.string()) })),
    })
    .optional(),
})
const newDatabase = z.strictObject({
  name: z.string().min(1),
  jurisdiction: z.enum(['eu', 'fedramp', 'us']).optional(),
})
const newBucket = z.strictObject({ name: z.string().regex(/^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/) })
const query = z.strictObject({ sql: z.string().min(1), params: z.array(z.unknown()).optional() })
const schedules = z.array(z.object({ cron: z.string() }))
const deployment = z.looseObject({
  strategy: z.literal('percentage'),
  versions: z.tuple([z.strictObject({ version_id: z.uuid(), percentage: z.literal(100) })]),
})
const scriptSettings = z.looseObject({ observability: z.looseObject({ enabled: z.literal(true) }) })
const subdomain = z.looseObject({ enabled: z.boolean() })

export interface Upload {
  modules: Record<string, string>
  metadata: z.infer<typeof uploadMetadata>
}

export class Refusal extends Error {
  readonly status: number
  readonly code: number

  constructor(status: number, code: number, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

type Handler = (request: { url: URL; body: Buffer; headers: Headers }) => unknown

/**
 * The part of Cloudflare's API that a deployment uses. Requests and answers have the shapes that wrangler's
 * source sends and reads; a request of another shape, or to another path, is refused and noted in `surprises`.
 */
export class FakePlatform {
  database: DatabaseSync | null = null
  hasBucket = false
  /** Where the database was created to stay, and the bucket; null: anywhere. */
  databasePlace: string | null = null
  bucketPlace: string | null = null
  isOnSubdomain = false
  uploads: Upload[] = []
  secrets: Record<string, string> = {}
  crons: string[] = []
  /** Method and path of every request that changes something. */
  writes: string[] = []
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

  async #answer(method: string, request: Parameters<Handler>[0]) {
    const path = request.url.pathname.replace('/client/v4', '').replace(accountId, ':account')
    const name = `${method} ${path}`
    try {
      if (request.headers.get('authorization') !== `Bearer ${token}`) {
        throw new Refusal(401, 10000, 'Authentication error')
      }
      const handler = this.#routes[name]
      if (handler === undefined) throw new Refusal(404, 7003, `No route ${name}`)
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

  readonly #routes: Record<string, Handler> = {
    'GET /accounts': () => [{ id: accountId, name: 'Acme' }],
    'GET /accounts/:account/d1/database': () =>
      this.database
        ? [
            {
              ...{ uuid: databaseId, name: 'rookery', version: 'production' },
              jurisdiction: this.databasePlace,
            },
          ]
        : [],
    'POST /accounts/:account/d1/database': ({ body }) => {
      const { name, jurisdiction = null } = newDatabase.parse(JSON.parse(body.toString()))
      if (this.database) throw new Refusal(400, 7502, `${name} exists`)
      this.database = new DatabaseSync(':memory:')
      this.databasePlace = jurisdiction
      return { uuid: databaseId, name, version: 'production' }
    },
    [`POST /accounts/:account/d1/database/${databaseId}/query`]: ({ body }) =>
      this.#query(query.parse(JSON.parse(body.toString()))),
    'GET /accounts/:account/workers/scripts/rookery/secrets': () => {
      if (this.uploads.length === 0) throw new Refusal(404, 10007, 'This Worker does not exist.')
      return Object.keys(this.secrets).map((name) => ({ name, type: 'secret_text' }))
    },
    'GET /accounts/:account/workers/services/rookery': () => {
      if (this.uploads.length === 0) throw new Refusal(404, 10090, 'This service does not exist.')
      return {
        id: 'rookery',
        default_environment: {
          environment: 'production',
          script: {
            ...{ tag: 'tag', last_deployed_from: 'wrangler' },
            migration_tag: this.uploads.findLast(({ metadata }) => metadata.migrations)?.metadata
              .migrations?.new_tag,
          },
        },
      }
    },
    'GET /accounts/:account/r2/buckets/rookery-files': ({ headers }) => {
      const isThere = this.hasBucket && headers.get('cf-r2-jurisdiction') === this.bucketPlace
      if (!isThere) throw new Refusal(404, 10006, 'The specified bucket does not exist.')
      return { name: 'rookery-files' }
    },
    'POST /accounts/:account/r2/buckets': ({ body, headers }) => {
      const bucket = newBucket.parse(JSON.parse(body.toString()))
      if (this.hasBucket) throw new Refusal(409, 10004, 'The bucket exists.')
      this.hasBucket = true
      this.bucketPlace = headers.get('cf-r2-jurisdiction')
      return bucket
    },
    'GET /accounts/:account/workers/subdomain': () => ({ subdomain: 'acme' }),
    'PUT /accounts/:account/workers/scripts/rookery': (request) => this.#upload(request),
    'GET /accounts/:account/workers/scripts/rookery/deployments': () => {
      if (this.uploads.length === 0) throw new Refusal(404, 10007, 'This Worker does not exist.')
      return {
        deployments: [{ id: versionId, versions: [{ version_id: versionId, percentage: 100 }] }],
      }
    },
    [`GET /accounts/:account/workers/scripts/rookery/versions/${versionId}`]: () => ({
      id: versionId,
      metadata: { source: 'wrangler' },
      resources: { bindings: [], script: { etag: 'etag' } },
    }),
    // A later upload without new classes is a version, which a deployment makes the one that runs.
    'POST /accounts/:account/workers/scripts/rookery/versions': async (request) => ({
      ...(await this.#upload(request)),
      id: versionId,
      resources: { script: { etag: 'etag' } },
    }),
    'POST /accounts/:account/workers/scripts/rookery/deployments': ({ body }) =>
      deployment.parse(JSON.parse(body.toString())),
    'PATCH /accounts/:account/workers/scripts/rookery/script-settings': ({ body }) =>
      scriptSettings.parse(JSON.parse(body.toString())),
    'GET /accounts/:account/workers/scripts/rookery/settings': () => {
      if (this.uploads.length === 0) throw new Refusal(404, 10007, 'This Worker does not exist.')
      return { bindings: this.uploads.at(-1)?.metadata.bindings ?? [], tags: [] }
    },
    'GET /accounts/:account/workers/workers/rookery': () => ({
      id: 'worker',
      name: 'rookery',
      subdomain: { enabled: this.isOnSubdomain, previews_enabled: this.isOnSubdomain },
    }),
    'GET /accounts/:account/workers/scripts/rookery/subdomain': () => ({
      enabled: this.isOnSubdomain,
      previews_enabled: this.isOnSubdomain,
    }),
    'POST /accounts/:account/workers/scripts/rookery/subdomain': ({ body }) => {
      this.isOnSubdomain = subdomain.parse(JSON.parse(body.toString())).enabled
      return { enabled: this.isOnSubdomain, previews_enabled: this.isOnSubdomain }
    },
    'PUT /accounts/:account/workers/scripts/rookery/schedules': ({ body }) => {
      const wanted = schedules.parse(JSON.parse(body.toString()))
      this.crons = wanted.map(({ cron }) => cron)
      return { schedules: wanted }
    },
  }

  async #upload({ body, headers }: Parameters<Handler>[0]) {
    this.refuseUpload?.()
    const form = await new Response(new Uint8Array(body), { headers }).formData()
    const modules: Record<string, string> = {}
    for (const [name, value] of form) {
      if (name !== 'metadata')
        modules[name] = typeof value === 'string' ? value : await value.text()
    }
    const metadata = uploadMetadata.parse(JSON.parse(String(form.get('metadata'))))
    if (!metadata.keep_bindings?.includes('secret_text')) this.secrets = {}
    for (const each of metadata.bindings) {
      if (each.type === 'secret_text') this.secrets[each.name] = z.string().parse(each.text)
    }
    const upload = { modules, metadata }
    this.uploads.push(upload)
    await this.onUpload(upload)
    return { id: 'rookery', etag: 'etag', deployment_id: versionId, startup_time_ms: 50 }
  }

  #query({ sql }: z.infer<typeof query>) {
    const { database } = this
    if (database === null) throw new Refusal(404, 7404, 'The database does not exist')
    const meta = { duration: 1, rows_read: 0, rows_written: 0 }
    if (/^\s*SELECT/i.test(sql)) {
      return [{ results: database.prepare(sql).all(), success: true, meta }]
    }
    // The platform runs the statements of a request as one transaction.
    database.exec('BEGIN')
    try {
      database.exec(sql)
      database.exec('COMMIT')
    } catch (error) {
      database.exec('ROLLBACK')
      throw new Refusal(400, 7500, `${error}`)
    }
    return [{ results: [], success: true, meta }]
  }
}

const pages = (result: unknown) =>
  Array.isArray(result)
    ? { page: 1, per_page: 100, count: result.length, total_count: result.length, total_pages: 1 }
    : undefined

const toHeaders = (headers: IncomingHttpHeaders) =>
  new Headers(Object.entries(headers).map(([name, value]) => [name, String(value)]))

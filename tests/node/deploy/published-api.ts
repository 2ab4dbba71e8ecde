import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Account } from 'cloudflare/resources/accounts/accounts'
import type { D1 } from 'cloudflare/resources/d1/d1'
import type * as Database from 'cloudflare/resources/d1/database/database'
import type { Bucket, BucketCreateParams } from 'cloudflare/resources/r2/buckets/buckets'
import type { Worker } from 'cloudflare/resources/workers/beta/workers/workers'
import type * as Assets from 'cloudflare/resources/workers/scripts/assets/upload'
import type * as Deployments from 'cloudflare/resources/workers/scripts/deployments'
import type * as Schedules from 'cloudflare/resources/workers/scripts/schedules'
import type { ScriptAndVersionSettingGetResponse } from 'cloudflare/resources/workers/scripts/script-and-version-settings'
import type * as Scripts from 'cloudflare/resources/workers/scripts/scripts'
import type { SecretListResponse } from 'cloudflare/resources/workers/scripts/secrets'
import type * as Settings from 'cloudflare/resources/workers/scripts/settings'
import type * as Subdomains from 'cloudflare/resources/workers/scripts/subdomain'
import type * as Versions from 'cloudflare/resources/workers/scripts/versions'
import type { SubdomainGetResponse } from 'cloudflare/resources/workers/subdomains'

/**
 * What Cloudflare publishes of the operations that a deployment uses: its client for TypeScript is generated from its
 * OpenAPI document.
 */
export interface PublishedApi {
  'GET /accounts': { result: Account[] }
  'GET /accounts/:account/d1/database': { result: Database.DatabaseListResponse[] }
  'POST /accounts/:account/d1/database': {
    request: Database.DatabaseCreateParams
    result: D1
  }
  'POST /accounts/:account/d1/database/:database/query': {
    request: Database.DatabaseQueryParams
    result: Database.QueryResult[]
  }
  'GET /accounts/:account/r2/buckets/rookery-files': { result: Bucket }
  'POST /accounts/:account/r2/buckets': { request: BucketCreateParams; result: Bucket }
  'GET /accounts/:account/workers/subdomain': { result: SubdomainGetResponse }
  'GET /accounts/:account/workers/workers/rookery': { result: Worker }
  'GET /accounts/:account/workers/scripts/rookery/secrets': { result: SecretListResponse[] }
  'POST /accounts/:account/workers/scripts/rookery/assets-upload-session': {
    request: Assets.UploadCreateParams
    result: Assets.UploadCreateResponse
  }
  'PUT /accounts/:account/workers/scripts/rookery': {
    request: Scripts.ScriptUpdateParams & { metadata: OfWrangler }
    result: Scripts.ScriptUpdateResponse
  }
  'POST /accounts/:account/workers/scripts/rookery/versions': {
    request: Versions.VersionCreateParams & { metadata: OfWrangler & OfScripts }
    result: Versions.VersionCreateResponse
  }
  'GET /accounts/:account/workers/scripts/rookery/versions/:version': {
    result: Versions.VersionGetResponse
  }
  'GET /accounts/:account/workers/scripts/rookery/deployments': {
    result: Deployments.DeploymentListResponse
  }
  'POST /accounts/:account/workers/scripts/rookery/deployments': {
    request: Deployments.DeploymentCreateParams & OfWrangler
    result: Deployments.Deployment
  }
  'GET /accounts/:account/workers/scripts/rookery/settings': {
    result: ScriptAndVersionSettingGetResponse
  }
  'PATCH /accounts/:account/workers/scripts/rookery/script-settings': {
    request: Settings.SettingEditParams
    result: Scripts.ScriptSetting
  }
  'GET /accounts/:account/workers/scripts/rookery/subdomain': {
    result: Subdomains.SubdomainGetResponse
  }
  'POST /accounts/:account/workers/scripts/rookery/subdomain': {
    request: Subdomains.SubdomainCreateParams
    result: Subdomains.SubdomainCreateResponse
  }
  'PUT /accounts/:account/workers/scripts/rookery/schedules': {
    request: Schedules.ScheduleUpdateParams
    result: Schedules.ScheduleUpdateResponse
  }
}

/** What wrangler sends, and the document does not have. */
interface OfWrangler {
  code_update_strategy?: object
}
/** The document has them for a script, but not for its versions. */
type OfScripts = Pick<Scripts.ScriptUpdateParams.Metadata, 'assets' | 'observability' | 'placement'>

/** Operations whose request has a body. */
export type OperationWithBody = {
  [Name in keyof PublishedApi]: PublishedApi[Name] extends { request: unknown } ? Name : never
}[keyof PublishedApi]

/** A request as the published client would be asked for it: its body, and what its path and headers say. */
export interface PlayedRequest {
  operation: OperationWithBody
  parameters: object
}

/**
 * Compares requests with what is published, by compiling them as values of those types: a field that is missing, unknown or of
 * another type is an error of the compiler.
 *
 * @returns a text for each deviation; none when all are as published
 */
export function findDeviations(requests: PlayedRequest[]): string[] {
  // Inside the checkout, so that the compiler finds the client.
  const folder = mkdtempSync(join(dirname(fileURLToPath(import.meta.url)), 'requests-'))
  try {
    const declarations = requests.map(
      ({ operation, parameters }, index) =>
        `export const r${index}: PublishedApi['${operation}']['request'] = ${JSON.stringify(parameters)}`,
    )
    const source = ["import type { PublishedApi } from '../published-api'", ...declarations]
    writeFileSync(join(folder, 'requests.ts'), source.join('\n'))
    const problem = /^requests\.ts\((\d+),\d+\): error TS\d+: /
    const name = (text: string) =>
      text.replace(problem, (all, row) => {
        const request = requests[Number(row) - 2]
        return request ? `${request.operation}: ` : all
      })
    // What belongs to an error is indented below it.
    return compile(folder)
      .split(/\n(?!\s|$)/)
      .filter((text) => text.trim())
      .map(name)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Returns what the compiler says of `requests.ts`. */
function compile(folder: string): string {
  const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'))
  const flags = '--ignoreConfig --noEmit --strict --skipLibCheck --pretty false --types node'
  const modules = '--module preserve --moduleResolution bundler --target es2024'
  const { stdout, stderr, error } = spawnSync(
    process.execPath,
    [join(typescript, 'bin/tsc'), ...`${flags} ${modules}`.split(' '), 'requests.ts'],
    { cwd: folder, encoding: 'utf8' },
  )
  if (error || stderr) throw error ?? new Error(stderr)
  return stdout
}

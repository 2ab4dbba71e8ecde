// What a deployment asks of Cloudflare's API itself: which account, and what it has already. Wrangler does
// the rest, with the same token.
import { PlainError } from '../local-state.mjs'
import { runWrangler } from './run-wrangler.mjs'

const notFound = 404
const patienceMs = 30_000

/** A refusal of the platform, as a sentence with its codes. */
class PlatformError extends PlainError {
  /**
   * @param {string} what
   * @param {number} status
   * @param {{ code: number, message: string }[]} errors
   */
  constructor(what, status, errors) {
    const reasons = errors.map(({ code, message }) => `${message} [code: ${code}]`)
    const hint =
      status === 401 || status === 403
        ? ' The token needs the permissions Workers Scripts: Edit, D1: Edit and Workers R2 Storage: Edit.'
        : ''
    super(`Cloudflare refused ${what}: ${reasons.join('; ') || `status ${status}`}${hint}`)
    this.status = status
    this.codes = errors.map(({ code }) => code)
  }
}

/** Neither a token nor wrangler's own sign-in is there. */
export class NotSignedInError extends PlainError {}

/**
 * The account's API.
 * @typedef {object} Platform
 * @property {{ id: string, name: string }} account
 * @property {(name: string) => Promise<{ id: string, jurisdiction: string | null } | null>} findDatabase
 * @property {(name: string, jurisdiction: string | null) => Promise<string>} createDatabase returns its id
 * @property {(id: string) => Promise<string[]>} listMigrations names of the applied ones
 * @property {(name: string, jurisdiction: string | null) => Promise<boolean>} hasBucket
 * @property {(name: string, jurisdiction: string | null) => Promise<void>} createBucket
 * @property {(worker: string) => Promise<{ variables: Record<string, string>, hasAi: boolean } | null>} readSettings its plain
 *   variables, and whether Workers AI is bound; null when there is no such Worker
 * @property {(worker: string) => Promise<string[] | null>} listSecrets their names; null when there is no
 *   such Worker
 */

const refuse = async () => {
  throw new PlainError('Nothing is created without an account.')
}

/**
 * An account that has nothing yet, for whoever wants to know the steps before signing in.
 * @type {Platform}
 */
export const emptyPlatform = {
  account: { id: 'none', name: 'none' },
  findDatabase: async () => null,
  createDatabase: refuse,
  listMigrations: async () => [],
  hasBucket: async () => false,
  createBucket: refuse,
  readSettings: async () => null,
  listSecrets: async () => null,
}

/**
 * Signs in as wrangler does, and chooses the account.
 * @param {Record<string, string | undefined>} env
 * @returns {Promise<Platform>}
 */
export async function connectPlatform(env) {
  const call = createCall(env, await readAuthorization(env))
  const account = await chooseAccount(call, env.CLOUDFLARE_ACCOUNT_ID)
  const at = (/** @type {string} */ path) => `/accounts/${account.id}${path}`
  return {
    account,
    async findDatabase(name) {
      const query = new URLSearchParams({ name, per_page: '100' })
      /** @type {{ name: string, uuid: string, jurisdiction?: string | null }[]} */
      const found = await call('the list of databases', 'GET', at(`/d1/database?${query}`))
      const database = found.find((each) => each.name === name)
      return database ? { id: database.uuid, jurisdiction: database.jurisdiction ?? null } : null
    },
    async createDatabase(name, jurisdiction) {
      const wanted = { name, ...(jurisdiction && { jurisdiction }) }
      return (await call('a new database', 'POST', at('/d1/database'), { body: wanted })).uuid
    },
    async listMigrations(id) {
      const sql = (/** @type {string} */ text) =>
        call('a query', 'POST', at(`/d1/database/${id}/query`), { body: { sql: text } })
      const [tables] = await sql("SELECT name FROM sqlite_master WHERE name = 'd1_migrations'")
      if (tables.results.length === 0) return []
      const [rows] = await sql('SELECT name FROM d1_migrations ORDER BY id')
      return rows.results.map((/** @type {{ name: string }} */ row) => row.name)
    },
    async hasBucket(name, jurisdiction) {
      const headers = toBucketHeaders(jurisdiction)
      return (
        (await orNull(call('the bucket', 'GET', at(`/r2/buckets/${name}`), { headers }))) !== null
      )
    },
    async createBucket(name, jurisdiction) {
      const headers = toBucketHeaders(jurisdiction)
      await call('a new bucket', 'POST', at('/r2/buckets'), { body: { name }, headers })
    },
    async readSettings(worker) {
      const path = at(`/workers/scripts/${worker}/settings`)
      /** @type {{ bindings: { type: string, name: string, text?: string }[] } | null} */
      const found = await orNull(call('the settings of the Worker', 'GET', path))
      if (found === null) return null
      const variables = found.bindings.filter(({ type }) => type === 'plain_text')
      return {
        variables: Object.fromEntries(variables.map(({ name, text }) => [name, text ?? ''])),
        hasAi: found.bindings.some(({ type }) => type === 'ai'),
      }
    },
    async listSecrets(worker) {
      const path = at(`/workers/scripts/${worker}/secrets`)
      const secrets = await orNull(call('the list of secrets', 'GET', path))
      return secrets?.map((/** @type {{ name: string }} */ secret) => secret.name) ?? null
    },
  }
}

/**
 * A bucket is found only by who names its jurisdiction.
 * @param {string | null} jurisdiction
 * @returns {Record<string, string>}
 */
const toBucketHeaders = (jurisdiction) =>
  jurisdiction === null ? {} : { 'cf-r2-jurisdiction': jurisdiction }

/**
 * @param {Record<string, string | undefined>} env
 * @returns {Promise<Record<string, string>>} headers
 */
async function readAuthorization(env) {
  if (env.CLOUDFLARE_API_TOKEN) return { authorization: `Bearer ${env.CLOUDFLARE_API_TOKEN}` }
  const { code, stdout } = await runWrangler(['auth', 'token', '--json'], env)
  if (code !== 0) {
    throw new NotSignedInError(
      'You are not signed in to Cloudflare. Run `npx wrangler login`, or set CLOUDFLARE_API_TOKEN.',
    )
  }
  const auth = JSON.parse(stdout)
  return auth.type === 'api_key'
    ? { 'x-auth-key': auth.key, 'x-auth-email': auth.email }
    : { authorization: `Bearer ${auth.token}` }
}

/**
 * @typedef {{ body?: object, headers?: Record<string, string> }} Sent
 * @typedef {(what: string, method: string, path: string, sent?: Sent) => Promise<any>} Call
 * @param {Record<string, string | undefined>} env
 * @param {Record<string, string>} authorization
 * @returns {Call}
 */
function createCall(env, authorization) {
  const base = env.CLOUDFLARE_API_BASE_URL || 'https://api.cloudflare.com/client/v4'
  return async (what, method, path, { body, headers } = {}) => {
    const type = body && { 'content-type': 'application/json' }
    /** @type {RequestInit} */
    const init = {
      method,
      headers: { ...authorization, ...type, ...headers },
      ...(body && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(patienceMs),
    }
    const response = await fetch(`${base}${path}`, init).catch((error) => {
      const why = error instanceof Error ? error.message : String(error)
      throw new PlainError(`Cloudflare's API is not reachable (${why}). Try again.`)
    })
    const answer = await response.json().catch(() => ({ success: false, errors: [] }))
    if (!answer.success) throw new PlatformError(what, response.status, answer.errors ?? [])
    return answer.result
  }
}

/**
 * @param {Call} call
 * @param {string | undefined} wanted
 * @returns {Promise<{ id: string, name: string }>}
 */
async function chooseAccount(call, wanted) {
  /** @type {{ id: string, name: string }[]} */
  const accounts = await call('the list of accounts', 'GET', '/accounts?per_page=50')
  if (wanted) return accounts.find(({ id }) => id === wanted) ?? { id: wanted, name: wanted }
  const [account] = accounts
  if (account && accounts.length === 1) return account
  if (!account) throw new PlainError('The token belongs to no account. Set CLOUDFLARE_ACCOUNT_ID.')
  const lines = accounts.map(({ id, name }) => `\n  ${id}  ${name}`)
  throw new PlainError(
    `You have several accounts. Set CLOUDFLARE_ACCOUNT_ID to one of these:${lines.join('')}`,
  )
}

/**
 * @template Result
 * @param {Promise<Result>} answer
 * @returns {Promise<Result | null>} null for what does not exist
 */
async function orNull(answer) {
  try {
    return await answer
  } catch (error) {
    if (error instanceof PlatformError && error.status === notFound) return null
    throw error
  }
}

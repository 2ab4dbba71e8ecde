// Talks to a running hub as its admin.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import { findAdminKey, findStateDir, PlainError, readRunningHub } from './local-state.mjs'

/**
 * @typedef {{ path: string, message: string }} Problem
 * @typedef {object} Answer
 * @property {number} status
 * @property {any} body parsed JSON; null when the answer was none
 */

/** One admin's way to one hub. */
export class HubClient {
  /** @type {string} */ url
  /** @type {string} */ #key

  /**
   * @param {string} url
   * @param {string} adminKey
   */
  constructor(url, adminKey) {
    this.url = url.replace(/\/+$/, '')
    this.#key = adminKey
  }

  /**
   * @param {string} method
   * @param {string} path below /api/v1, with a slash at its start
   * @param {unknown} [body]
   * @returns {Promise<Answer>}
   */
  async call(method, path, body) {
    /** @type {Record<string, string>} */
    const headers = { authorization: `Bearer ${this.#key}` }
    if (body !== undefined) headers['content-type'] = 'application/json'
    const init = { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }
    const answer = await fetch(`${this.url}/api/v1${path}`, init).catch(() => null)
    if (answer === null) {
      throw new PlainError(
        `No hub answers at ${this.url}. Start it with \`npm start\`, or set ROOKERY_URL.`,
      )
    }
    return { status: answer.status, body: await answer.json().catch(() => null) }
  }

  /**
   * As `call`, but an answer that is no success is an error.
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   */
  async demand(method, path, body) {
    const answer = await this.call(method, path, body)
    if (answer.status < 300 && answer.body !== null) return answer.body
    throw new PlainError(describeRefusal(answer))
  }
}

/** @param {Answer} answer */
export function describeRefusal({ status, body }) {
  const sentence = body?.error ?? `The hub answered ${status} without a reason.`
  if (status === 401 || status === 403) {
    return `${sentence} Set ROOKERY_ADMIN_KEY to the key of the hub's admin.`
  }
  const details = listProblems(body).map((each) => `\n  ${each}`)
  return [sentence, body?.hint].filter(Boolean).join(' ') + details.join('')
}

/**
 * The `details` of a refusal, a line each: `config.yaml:3:brain.model: …`.
 * @param {any} body
 * @returns {string[]}
 */
export function listProblems(body) {
  /** @type {Problem[]} */
  const details = Array.isArray(body?.details) ? body.details : []
  return details.map(({ path, message }) => `${path}: ${message}`)
}

/**
 * The hub that ROOKERY_URL names, else the one that runs on the state directory, else the default.
 * @param {Record<string, string | undefined>} env
 */
export function connect(env) {
  const stateDir = findStateDir(env)
  const key = findAdminKey(stateDir, env)
  if (key === null) {
    throw new PlainError(
      'There is no admin key. Start the hub once with `npm start`, or set ROOKERY_ADMIN_KEY.',
    )
  }
  const url = env.ROOKERY_URL || readRunningHub(stateDir)?.url || 'http://localhost:8787'
  return new HubClient(url, key)
}

/**
 * Sends a definition's folder to the hub, which checks it and keeps the old version when it is broken,
 * or when another version was saved since this machine pushed or pulled the last time.
 *
 * @param {HubClient} client
 * @param {string} folder
 * @param {{ pushed: import('./pushed-versions.mjs').PushedVersions, isForced?: boolean, isNew?: boolean }} options
 *   `isNew`: an agent that this machine has not pushed before must not exist yet
 * @returns {Promise<{ name: string, status: number, isAccepted: boolean, problems: string[] }>} warnings
 *   when accepted
 */
export async function pushDefinition(client, folder, { pushed, isForced = false, isNew = false }) {
  const files = readDefinition(folder)
  const name = findName(files, folder)
  const base = isForced ? undefined : (pushed.read(name)?.version ?? (isNew ? 0 : undefined))
  const answer = await client.call('PUT', definitionPath(name), { files, base_version: base })
  const { status } = answer
  if (status < 300) {
    pushed.write(name, answer.body.definition.version, files)
    const problems = listProblems({ details: answer.body?.warnings })
    return { name, status, isAccepted: true, problems }
  }
  const problems = status === 409 ? [] : listProblems(answer.body)
  return {
    name,
    status,
    isAccepted: false,
    problems: problems.length ? problems : [describeRefusal(answer)],
  }
}

/** @param {string} name */
export const definitionPath = (name) => `/agents/${encodeURIComponent(name)}/definition`

/**
 * @param {Record<string, string>} files
 * @param {string} folder
 */
export const findName = (files, folder) =>
  /^name:\s*["']?([\w-]+)/m.exec(files['config.yaml'] ?? '')?.[1] ?? basename(resolve(folder))

/**
 * @param {string} folder
 * @returns {Record<string, string>} text by path, with forward slashes
 */
export function readDefinition(folder) {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) {
    throw new PlainError(`There is no folder ${folder}.`)
  }
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && /\.(ya?ml|md)$/.test(entry.name))
  return Object.fromEntries(
    files.map((entry) => {
      const path = join(entry.parentPath, entry.name)
      return [relative(folder, path).replaceAll('\\', '/'), readFileSync(path, 'utf8')]
    }),
  )
}

// The hub's own keys. New ones are kept in a file from before the upload until they were shown, so that an
// interrupted deployment loses none.
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * @typedef {object} HubKeys
 * @property {Record<string, string>} secrets keys to store with the upload, by name
 * @property {Record<string, string>} made keys that were made here, now or before an interruption, to be shown
 * @property {string | null} adminKey null when only the hub knows it
 */

/**
 * Decides which keys a deployment stores. A vault key that is stored is replaced only together with
 * ROOKERY_VAULT_OLD_KEYS, because without the old key all credentials are lost. So a kept key that is stored is
 * shown only: the interrupted deployment stored it, or another machine has finished the work with keys of its own.
 * @param {Record<string, string | undefined>} env
 * @param {string[]} stored names of the secrets that the Worker has
 * @param {Record<string, string>} kept keys of an interrupted deployment
 * @returns {HubKeys}
 */
export function chooseHubKeys(env, stored, kept) {
  const made = { ...kept }
  /** @type {Record<string, string>} */
  const given = {}
  const choose = (
    /** @type {string} */ name,
    /** @type {() => string} */ make,
    mayReplace = true,
  ) => {
    const isStored = stored.includes(name)
    const value = env[name]
    if (value && (mayReplace || !isStored)) {
      given[name] = value
      delete made[name]
    } else if (!isStored) made[name] ??= make()
  }
  const prefix = env.ROOKERY_KEY_PREFIX || 'rookery_'
  choose('ROOKERY_ADMIN_KEY', () => `${prefix}${randomBytes(32).toString('base64url')}`)
  const mayReplace = Boolean(env.ROOKERY_VAULT_OLD_KEYS)
  choose('ROOKERY_VAULT_KEY', () => randomBytes(32).toString('base64'), mayReplace)
  const fresh = Object.entries(made).filter(([name]) => !stored.includes(name))
  const secrets = { ...Object.fromEntries(fresh), ...given }
  return { secrets, made, adminKey: given.ROOKERY_ADMIN_KEY ?? made.ROOKERY_ADMIN_KEY ?? null }
}

/**
 * @param {string} stateDir
 * @param {string} account
 * @param {string} worker
 */
const findPath = (stateDir, account, worker) =>
  join(stateDir, `deploying-${account.slice(0, 8)}-${worker}.json`)

/**
 * Whether what is printed is read by a person alone: the output of CI ends up in a log.
 * @param {Record<string, string | undefined>} env
 * @param {{ isTTY?: boolean | undefined }} output
 */
export const isPrivateTerminal = (env, { isTTY }) =>
  isTTY === true && (!env.CI || env.CI === 'false')

/** File of keys that were made and not shown yet. */
export class KeptKeys {
  /** @type {string} */ #path

  /**
   * @param {string} stateDir
   * @param {string} account
   * @param {string} worker
   */
  constructor(stateDir, account, worker) {
    this.#path = findPath(stateDir, account, worker)
  }

  /** @returns {Record<string, string>} */
  read() {
    return existsSync(this.#path) ? JSON.parse(readFileSync(this.#path, 'utf8')) : {}
  }

  /** @param {Record<string, string>} keys */
  write(keys) {
    mkdirSync(join(this.#path, '..'), { recursive: true, mode: 0o700 })
    writeFileSync(this.#path, JSON.stringify(keys), { mode: 0o600 })
  }

  /**
   * Hands the keys over in a file that only this user reads, for whoever has no terminal. Keys that were handed over
   * earlier stay in it.
   * @param {Record<string, string>} keys
   * @returns {string} its path
   */
  handOver(keys) {
    const path = this.#path.replace(/deploying-([^/]*)\.json$/, 'keys-$1.env')
    const lines = Object.entries(keys).map(([name, key]) => `${name}=${key}\n`)
    writeFileSync(path, lines.join(''), { mode: 0o600, flag: 'a' })
    return path
  }

  delete() {
    rmSync(this.#path, { force: true })
  }
}

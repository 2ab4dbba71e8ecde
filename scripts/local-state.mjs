// What a hub on this machine keeps beside its data: the admin's key, and who is running.
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The checkout, with a slash at its end. */
export const root = fileURLToPath(new URL('..', import.meta.url))

/** A sentence for a person; scripts print it without a stack and exit with 1. */
export class PlainError extends Error {}

/**
 * Where local data lives: `ROOKERY_STATE_DIR`, or `.rookery` in the checkout.
 * @param {Record<string, string | undefined>} env
 */
export function findStateDir(env) {
  return env.ROOKERY_STATE_DIR ? resolve(env.ROOKERY_STATE_DIR) : join(root, '.rookery')
}

/** Where `npm run demo` keeps its data, unless it is told otherwise. */
export const demoStateDir = join(root, '.rookery-demo')

/**
 * The admin's key: the one given, else the one kept in the state directory.
 * @param {string} stateDir
 * @param {Record<string, string | undefined>} env
 * @returns {string | null}
 */
export function findAdminKey(stateDir, env) {
  if (env.ROOKERY_ADMIN_KEY) return env.ROOKERY_ADMIN_KEY
  const path = join(stateDir, 'admin-key')
  if (!existsSync(path)) return null
  return readFileSync(path, 'utf8').trim() || null
}

/**
 * As `findAdminKey`, but makes and keeps a key when there is none. A given key is not kept.
 * @param {string} stateDir
 * @param {Record<string, string | undefined>} env
 */
export function ensureAdminKey(stateDir, env) {
  const found = findAdminKey(stateDir, env)
  if (found !== null) return found
  const prefix = env.ROOKERY_KEY_PREFIX || 'rookery_'
  return keep(stateDir, 'admin-key', `${prefix}${randomBytes(32).toString('base64url')}`)
}

/**
 * The key of the vault: the one given, else the one kept in the state directory, made when there is
 * none. Who loses it loses the credentials, so it is never replaced.
 * @param {string} stateDir
 * @param {Record<string, string | undefined>} env
 */
export function ensureVaultKey(stateDir, env) {
  if (env.ROOKERY_VAULT_KEY) return env.ROOKERY_VAULT_KEY
  const path = join(stateDir, 'vault-key')
  if (existsSync(path)) return readFileSync(path, 'utf8').trim()
  return keep(stateDir, 'vault-key', randomBytes(32).toString('base64'))
}

/**
 * @param {string} stateDir
 * @param {string} file
 * @param {string} secret
 */
function keep(stateDir, file, secret) {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  writeFileSync(join(stateDir, file), `${secret}\n`, { mode: 0o600 })
  return secret
}

/**
 * The hub that runs on a state directory, as it wrote itself down; no URL while it starts.
 * @typedef {{ pid: number, workerdPid: number, url: string }} RunningHub
 */

/**
 * @param {string} stateDir
 * @returns {RunningHub | null}
 */
export function readRunningHub(stateDir) {
  const path = join(stateDir, 'hub.json')
  if (!existsSync(path)) return null
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return null
  }
}

/**
 * The hub that serves on a state directory now; null for none, and for one that has been killed.
 * @param {string} stateDir
 */
export function findRunningHub(stateDir) {
  const hub = readRunningHub(stateDir)
  return hub?.url && isAlive(hub.pid) ? hub : null
}

/**
 * @param {string} stateDir
 * @param {RunningHub} hub
 */
export function writeRunningHub(stateDir, hub) {
  writeFileSync(join(stateDir, 'hub.json'), `${JSON.stringify(hub)}\n`, { mode: 0o600 })
}

/**
 * Forgets the hub that this process runs.
 * @param {string} stateDir
 */
export function clearRunningHub(stateDir) {
  if (readRunningHub(stateDir)?.pid === process.pid)
    rmSync(join(stateDir, 'hub.json'), { force: true })
}

/** @param {number} pid */
export function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

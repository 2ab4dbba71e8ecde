// Checks of what is on this machine: settings, keys, disk, versions.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readSettings } from '../../src/shared/settings.ts'
import { megabyte, readDisk } from '../disk.mjs'
import { root } from '../local-state.mjs'
import { readNamedKeys } from '../seed-agents.mjs'
import { describeMissingSettings, describeUnknownSettings } from '../unknown-settings.mjs'
import { fail, ok, warn } from './finding.mjs'

/**
 * @typedef {import('./finding.mjs').Finding} Finding
 * @typedef {Record<string, string | undefined>} Environment
 */

/**
 * @param {Environment} env
 * @returns {Finding[]}
 */
export function checkSettings(env) {
  const unknown = describeUnknownSettings(env, Object.keys(readNamedKeys(env)))
  const found = [
    ...unknown.map((says) => warn('settings', says, 'Correct the name, or unset it.')),
    ...describeMissingSettings(env).map((says) => warn('settings', says, 'Then start it again.')),
  ]
  try {
    readSettings(env)
  } catch (error) {
    const says = error instanceof Error ? error.message : String(error)
    return [...found, fail('settings', says, 'Correct it: docs/reference.md lists all settings.')]
  }
  return found.length > 0 ? found : [ok('settings', 'All settings are valid.')]
}

/**
 * @param {string} stateDir
 * @param {Environment} env
 * @returns {Finding[]}
 */
export function checkKeys(stateDir, env) {
  if (!existsSync(join(stateDir, 'data'))) return []
  return [
    checkKey(stateDir, 'vault-key', env.ROOKERY_VAULT_KEY, /^[A-Za-z0-9+/]{43}=$/),
    checkKey(stateDir, 'admin-key', env.ROOKERY_ADMIN_KEY, /^\S{16,}$/),
  ]
}

/**
 * @param {string} stateDir
 * @param {string} name
 * @param {string | undefined} given
 * @param {RegExp} form
 */
function checkKey(stateDir, name, given, form) {
  const setting = `ROOKERY_${name.toUpperCase().replace('-', '_')}`
  if (given) return ok('keys', `${setting} is set.`)
  const path = join(stateDir, name)
  const restore = `Copy ${name} from where you keep it to ${path}, or set ${setting}.`
  if (!existsSync(path)) return fail('keys', `There is data, and no ${name}.`, restore)
  if (form.test(readFileSync(path, 'utf8').trim())) return ok('keys', `${path} is there.`)
  return fail('keys', `${path} does not contain a key.`, restore)
}

/**
 * @param {string} stateDir
 * @returns {Promise<Finding>}
 */
export async function checkDisk(stateDir) {
  const { state, free_bytes: free } = await readDisk(stateDir, root)
  const says = `${Math.floor(free / megabyte)} MB are free for ${stateDir}.`
  if (state === 'ok') return ok('disk', says)
  const fix = 'Free some space, or move the state directory: docs/upgrading.md'
  return state === 'low' ? warn('disk', says, fix) : fail('disk', says, fix)
}

/**
 * Compares the data with the migrations of this checkout.
 * @param {string} stateDir
 * @returns {Finding[]}
 */
export function checkVersions(stateDir) {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const isNodeNew = major > 22 || (major === 22 && minor >= 18)
  const node = isNodeNew
    ? ok('versions', `Node is ${process.version}.`)
    : fail('versions', `Node is ${process.version}.`, 'Rookery needs Node 22.18 or newer.')
  const path = join(stateDir, 'data', 'migrations.json')
  if (!existsSync(path)) return [node]
  const own = readdirSync(join(root, 'migrations')).filter((name) => name.endsWith('.sql'))
  const applied = Object.keys(JSON.parse(readFileSync(path, 'utf8')))
  const newer = applied.find((name) => !own.includes(name))
  if (newer !== undefined) {
    const says = `The data was made by a newer version (migration ${newer}).`
    return [node, fail('versions', says, 'Update this checkout: docs/upgrading.md')]
  }
  const pending = own.filter((name) => !applied.includes(name)).length
  if (pending === 0) return [node, ok('versions', 'The data has the version of this checkout.')]
  const says = `${pending} migrations of this checkout are not applied.`
  return [node, warn('versions', says, 'Write a backup, then restart the hub: it applies them.')]
}

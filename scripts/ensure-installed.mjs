// node scripts/ensure-installed.mjs [--dev] [folder...]
//
// Runs before every npm script that needs packages, so it uses Node built-ins only and any Node
// from 20 on. Installs from the lockfile when node_modules does not match it. `--dev` is for tests and
// checks: what runs the hub needs a third of the packages.
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))

/**
 * @typedef {{ version?: string, integrity?: string, optional?: boolean, dev?: boolean,
 *   devOptional?: boolean,
 *   peer?: boolean, os?: string[], cpu?: string[] }} LockEntry
 * @typedef {Record<string, LockEntry>} LockPackages
 */

/**
 * Why an installation does not match its lockfile; null when it does.
 *
 * `node_modules/.package-lock.json` is npm's own record, written last, so an installation that
 * was interrupted has none. npm leaves out optional packages of other platforms.
 *
 * @param {LockPackages} wanted `packages` of package-lock.json
 * @param {LockPackages | null} installed `packages` of node_modules/.package-lock.json
 * @param {{ os: string, cpu: string, isDev: boolean }} machine `isDev`: with the packages of tests and checks
 * @returns {string | null}
 */
export function findMismatch(wanted, installed, { isDev, ...machine }) {
  if (installed === null) return 'nothing is installed'
  for (const [path, entry] of Object.entries(wanted)) {
    const reason = path === '' ? null : compare(path, entry, installed[path], isDev)
    if (reason) return reason
  }
  for (const [path, entry] of Object.entries(installed)) {
    if (wanted[path] === undefined) return `${path} is not in the lockfile`
    if (suits(entry.os, machine.os) && suits(entry.cpu, machine.cpu)) continue
    return `${path} is for another kind of machine`
  }
  return null
}

/**
 * @param {string} path
 * @param {LockEntry} entry
 * @param {LockEntry | undefined} found
 * @param {boolean} isDev
 */
function compare(path, entry, found, isDev) {
  if (found === undefined) {
    const isOptional = entry.optional || entry.devOptional || entry.peer || (entry.dev && !isDev)
    return isOptional ? null : `${path} is missing`
  }
  const isSame = entry.integrity === undefined || found.integrity === entry.integrity
  if (found.version === entry.version && isSame) return null
  return `${path} is ${found.version}, the lockfile says ${entry.version}`
}

/**
 * npm's rule for `os` and `cpu`: a list of names, or of names with `!` before them.
 * @param {string[] | undefined} names
 * @param {string} name
 */
function suits(names, name) {
  if (names === undefined || names.length === 0) return true
  if (names.includes(`!${name}`)) return false
  return names.includes(name) || names.every((each) => each.startsWith('!'))
}

/**
 * @param {string} path
 * @returns {LockPackages | null}
 */
function readPackages(path) {
  if (!existsSync(path)) return null
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages
  } catch {
    return null
  }
}

/**
 * @param {string} cwd
 * @param {{ isDev: boolean, isRunnable: boolean }} which `isRunnable`: what runs the hub is installed
 */
function install(cwd, { isDev, isRunnable }) {
  // `npm ci` would delete the packages of a hub that runs.
  const args = isRunnable ? ['install', '--no-save'] : ['ci']
  args.push('--no-audit', '--no-fund', '--loglevel=error', '--include=optional')
  // Said in both cases, because NODE_ENV and npm's settings would decide otherwise.
  args.push(isDev ? '--include=dev' : '--omit=dev')
  const npm = process.env.npm_execpath
  const stdio = /** @type {const} */ (['ignore', 'inherit', 'inherit'])
  const options = { cwd, stdio: [...stdio] }
  const result = npm?.endsWith('.js')
    ? spawnSync(process.execPath, [npm, ...args], options)
    : spawnSync('npm', args, { ...options, shell: process.platform === 'win32' })
  return result.status === 0
}

/**
 * @param {string} folder with a lockfile, below the root
 * @param {boolean} isDev
 */
function ensureInstalled(folder, isDev) {
  const path = join(root, folder)
  const wanted = readPackages(join(path, 'package-lock.json'))
  if (wanted === null) {
    const file = join(folder, 'package-lock.json')
    console.error(`${file} is missing or broken: restore it with \`git checkout\`.`)
    process.exit(1)
  }
  const installed = readPackages(join(path, 'node_modules', '.package-lock.json'))
  const machine = { os: process.platform, cpu: process.arch, isDev }
  const mismatch = findMismatch(wanted, installed, machine)
  if (mismatch === null) return
  console.log(`Installing packages from the lockfile (${mismatch}); this takes a minute, once.`)
  const isRunnable = findMismatch(wanted, installed, { ...machine, isDev: false }) === null
  if (install(path, { isDev, isRunnable })) return
  console.error('The packages could not be installed; the lines above say why.')
  process.exit(1)
}

// Arguments: folders besides the root whose packages are needed, such as `runner` for its tests.
if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const { values, positionals } = parseArgs({
    options: { dev: { type: 'boolean', default: false } },
    allowPositionals: true,
  })
  for (const folder of ['', ...positionals]) ensureInstalled(folder, values.dev)
}

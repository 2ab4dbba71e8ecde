// npm leaves packages of other platforms out of the lockfile when it cannot see them, and then
// `npm ci` refuses it everywhere. Run this after `npm install`; `--check` only looks.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './local-state.mjs'

/**
 * @typedef {{ version?: string, dev?: boolean, optionalDependencies?: Record<string, string> }} Entry
 * @typedef {Record<string, Entry>} Packages
 */

const folders = [
  '',
  'runner',
  ...readdirSync(join(root, 'runner/programs')).map((name) => `runner/programs/${name}`),
]
for (const folder of folders) complete(join(folder, 'package-lock.json'))

/** @param {string} name of a lockfile, below the root */
function complete(name) {
  const path = join(root, name)
  const lockfile = JSON.parse(readFileSync(path, 'utf8'))
  const missing = findMissing(lockfile.packages)
  if (process.argv.includes('--check')) {
    for (const [place] of missing) console.error(`${name} lacks ${place}`)
    if (missing.length === 0) return
    console.error('Run `npm run complete-lockfile`.')
    process.exitCode = 1
    return
  }
  const all = [...Object.entries(lockfile.packages), ...missing]
  all.sort(([a], [b]) => a.localeCompare(b, 'en'))
  lockfile.packages = Object.fromEntries(all)
  writeFileSync(path, `${JSON.stringify(lockfile, null, 2)}\n`)
  console.log(`${missing.length} entries added to ${name}.`)
}

/**
 * Optional dependencies that stand nowhere in the lockfile, as entries of it. They have no hash,
 * because nobody here has seen them; the version is exact.
 * @param {Packages} packages
 * @returns {[string, Entry][]}
 */
function findMissing(packages) {
  /** @type {Map<string, Entry>} */
  const found = new Map()
  for (const [from, { dev, optionalDependencies }] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(optionalDependencies ?? {})) {
      if (isResolved(packages, from, name)) continue
      found.set(`node_modules/${name}`, describeEntry(name, version, dev === true))
    }
  }
  return [...found]
}

/**
 * @param {string} name
 * @param {string} version
 * @param {boolean} isDev
 */
function describeEntry(name, version, isDev) {
  if (!/^\d[\w.-]*$/.test(version)) throw new Error(`${name}@${version} is no exact version`)
  return { version, ...describePlatform(name), ...(isDev ? { dev: true } : {}), optional: true }
}

/**
 * Node's way up the folders.
 * @param {Packages} packages
 * @param {string} from
 * @param {string} name
 */
function isResolved(packages, from, name) {
  for (
    let place = from;
    ;
    place = place.slice(0, Math.max(0, place.lastIndexOf('node_modules/') - 1))
  ) {
    if (packages[`${place && `${place}/`}node_modules/${name}`]) return true
    if (place === '') return false
  }
}

/**
 * The platform, from a name like `@swc/core-linux-x64-musl`.
 * @param {string} name
 */
function describePlatform(name) {
  const words = name.split(/[/-]/).map((word) => (word === 'windows' ? 'win32' : word))
  const cpu = words.find((word) => /^(x64|arm64|arm|ia32|ppc64|riscv64|s390x|loong64)$/.test(word))
  const os = words.find((word) => /^(android|darwin|freebsd|linux|openharmony|win32)$/.test(word))
  if (cpu === undefined || os === undefined) throw new Error(`${name} names no known platform`)
  const last = words.at(-1) ?? ''
  const libc = os !== 'linux' ? null : last.startsWith('musl') ? 'musl' : 'glibc'
  return { cpu: [cpu], ...(libc ? { libc: [libc] } : {}), os: [os] }
}

// Bundles the Worker with the same command that deploys it, and keeps the result by the content
// of what went in: a second start builds nothing.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { PlainError, root } from './local-state.mjs'

const KEPT_BUILDS = 3
const inputs = [
  'src',
  'migrations',
  'wrangler.toml',
  'tsconfig.json',
  'package-lock.json',
  'scripts/build-worker.mjs',
  'scripts/print-local-options.mjs',
]

/** Wrangler without its greetings, and without calls to the network. */
export const quietWranglerEnv = {
  CLOUDFLARE_CF_FETCH_ENABLED: 'false',
  WRANGLER_HIDE_BANNER: 'true',
  WRANGLER_SEND_METRICS: 'false',
  X_LOCAL_OBSERVABILITY: 'false',
}

/**
 * The directory of an up-to-date bundle: `worker/` holds the modules (`worker.js` is the entry), `local.json`
 * the Worker's bindings as wrangler.toml gives them and the statements of the migrations.
 * @returns {Promise<string>}
 */
export async function buildWorker() {
  const directory = join(root, 'dist', hashInputs())
  if (existsSync(join(directory, 'local.json'))) {
    noteUse(directory)
    return directory
  }
  const draft = `${directory}.${process.pid}`
  rmSync(draft, { recursive: true, force: true })
  mkdirSync(draft, { recursive: true })
  try {
    const wrangler = join(root, 'node_modules/wrangler/bin/wrangler.js')
    await runScript(wrangler, 'deploy', '--dry-run', '--outdir', join(draft, 'worker'))
    const script = join(draft, 'worker', 'worker.js')
    writeFileSync(script, escapeWideCharacters(readFileSync(script, 'utf8')))
    const local = await runScript(join(root, 'scripts/print-local-options.mjs'))
    writeFileSync(join(draft, 'local.json'), local)
    moveInPlace(draft, directory)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
  removeOldBuilds()
  return directory
}

/**
 * Notes that a bundle was used: of others the oldest are deleted.
 * @param {string} directory
 */
function noteUse(directory) {
  const now = new Date()
  try {
    utimesSync(directory, now, now)
  } catch {
    // The checkout belongs to somebody else, or is read-only.
  }
}

/**
 * Returns a script with its characters above U+00FF as escapes: one of them, also in a comment or a regular expression,
 * makes V8 keep the whole script with two bytes a character.
 * @param {string} script
 */
export const escapeWideCharacters = (script) =>
  script.replace(
    /[\u0100-\uffff]/g,
    (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

function hashInputs() {
  const hash = createHash('sha256')
  for (const file of inputs.flatMap(listFiles)) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0')
  }
  return hash.digest('hex').slice(0, 16)
}

/**
 * @param {string} path relative to the checkout
 * @returns {string[]}
 */
function listFiles(path) {
  if (!statSync(join(root, path)).isDirectory()) return [path]
  const entries = readdirSync(join(root, path), { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
    .sort()
}

/**
 * Runs a script in a process of its own, so that wrangler does not stay in the memory of the hub's.
 * @param {string[]} args
 * @returns {Promise<string>} what it printed
 */
async function runScript(...args) {
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...process.env, ...quietWranglerEnv, NO_COLOR: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [output, errors, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ])
  if (code === 0) return output
  throw new PlainError(`The Worker does not build:\n${output}${errors}`.trim())
}

/**
 * @param {string} draft
 * @param {string} directory
 */
function moveInPlace(draft, directory) {
  try {
    renameSync(draft, directory)
  } catch (error) {
    // Somebody else finished the same build first; theirs is as good.
    if (!existsSync(join(directory, 'local.json'))) throw error
  }
}

function removeOldBuilds() {
  const dist = join(root, 'dist')
  const builds = readdirSync(dist)
    .filter((name) => /^[0-9a-f]{16}$/.test(name))
    .map((name) => ({ name, usedAt: statSync(join(dist, name)).mtimeMs }))
    .sort((a, b) => b.usedAt - a.usedAt)
  for (const { name } of builds.slice(KEPT_BUILDS)) {
    rmSync(join(dist, name), { recursive: true, force: true })
  }
}

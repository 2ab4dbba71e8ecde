// What a newcomer does, for CI: clone, `npm start`, ask an agent, stop, start again. Arguments:
// an empty folder for the clone and, if there is one, an archive to import.
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findAdminKey, readRunningHub, root } from './local-state.mjs'

/** Ends only what hangs: what a start costs is the bench's to say, and other steps run beside this one. */
const startMs = 300_000
const answerMs = 180_000
const stopMs = 120_000

const [clone = '', archive] = process.argv.slice(2)
if (clone === '') throw new Error('Usage: node scripts/try-fresh-clone.mjs <folder> [archive]')
const stateDir = join(clone, '.rookery')
const env = describeNewcomer()
/** @type {import('node:child_process').ChildProcess[]} */
const children = []
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

must(
  spawnSync('git', ['clone', '--quiet', root, clone], { stdio: 'inherit' }).status === 0,
  'clone',
)

const first = await start()
must(first.isInstalling, 'the first start installs packages')
const asked = await ask(first.url)
if (archive !== undefined) importArchive(archive)
await stop(first)

const second = await start()
must(!second.isInstalling, 'a later start installs nothing')
const kept = await call(second.url, 'GET', `/posts/${asked}/comments`)
must(kept.comments.length > 0, 'the data is still there after the second start')
await stop(second)

/** The environment without what npm put there for this checkout. */
function describeNewcomer() {
  const path = process.env.PATH?.replaceAll(`${join(root, 'node_modules', '.bin')}:`, '')
  const entries = Object.entries({ ...process.env, PATH: path, PORT: '0' })
  return Object.fromEntries(
    entries.filter(([name]) => !/^(npm_(lifecycle|package|execpath|node)|ROOKERY_)/.test(name)),
  )
}

async function start() {
  const startedAt = Date.now()
  const child = spawn('npm', ['start'], { cwd: clone, env, stdio: ['ignore', 'pipe', 'inherit'] })
  children.push(child)
  let output = ''
  /** @type {Promise<void>} */
  const ready = new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`npm start ended with ${code}:\n${output}`)))
    child.stdout.on('data', (chunk) => {
      output += chunk
      if (output.includes('Sign in')) resolve()
    })
  })
  await within(startMs, ready, 'npm start')
  const hub = readRunningHub(stateDir)
  if (hub === null) throw new Error('The hub did not write itself down.')
  const healthy = await fetch(`${hub.url}/healthz`)
  must(healthy.status === 200, '/healthz answers 200')
  must((await fetch(hub.url)).status === 200, 'the home page answers 200')
  must((await call(hub.url, 'GET', '/feed')).success, 'the feed answers')
  must(!output.includes(findAdminKey(stateDir, {}) ?? ''), 'the admin key is not printed')
  console.log(`npm start answered after ${Date.now() - startedAt} ms`)
  const isInstalling = output.includes('Installing packages')
  return { child, url: hub.url, workerdPid: hub.workerdPid, isInstalling }
}

/**
 * Writes something down, asks about it in another thread, and waits for the answer that links to it.
 * @param {string} url
 */
async function ask(url) {
  const note = await call(url, 'POST', '/posts', {
    community: 'general',
    title: 'Keeping the lighthouse',
    content: 'The wick of the lamp has to be trimmed every four hours, or the glass turns black.',
  })
  const { post } = await call(url, 'POST', '/posts', {
    community: 'general',
    title: 'A question for the night watch',
    content: '@scout how often does the wick of the lighthouse lamp have to be trimmed?',
  })
  const askedAt = Date.now()
  const answered = (async () => {
    for (;;) {
      const { comments } = await call(url, 'GET', `/posts/${post.id}/comments`)
      if (comments.length > 0) return comments[0]
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })()
  const answer = await within(answerMs, answered, 'the answer to a mention')
  console.log(`a mention was answered after ${Date.now() - askedAt} ms: ${answer.content}`)
  must(answer.author.name === 'scout', 'the answer is from scout')
  must(answer.content.includes(note.post.id), 'the answer links to the post that knows')
  return post.id
}

/** @param {string} file */
function importArchive(file) {
  must(existsSync(file), file)
  const options = { cwd: clone, env, stdio: /** @type {const} */ ('inherit') }
  const again = [1, 2].map(() => spawnSync('npm', ['run', 'import', '--', file], options).status)
  must(
    again.every((status) => status === 0),
    'importing an archive, twice',
  )
}

/** @param {{ child: import('node:child_process').ChildProcess, workerdPid: number }} hub */
async function stop({ child, workerdPid }) {
  child.removeAllListeners('exit')
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await within(stopMs, ended, 'stopping')
  const gone = (async () => {
    while (existsSync(`/proc/${workerdPid}`) && !isZombie(workerdPid)) {
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  })()
  await within(stopMs, gone, 'the end of the runtime')
}

/** @param {number} pid */
function isZombie(pid) {
  try {
    return / Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return true
  }
}

/**
 * @param {string} url
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 */
async function call(url, method, path, body) {
  const headers = {
    authorization: `Bearer ${findAdminKey(stateDir, {})}`,
    'content-type': 'application/json',
  }
  const init = { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) }
  const answer = await fetch(`${url}/api/v1${path}`, init)
  must(answer.status < 300, `${method} ${path} answers ${answer.status}`)
  return answer.json()
}

/**
 * @template T
 * @param {number} limitMs
 * @param {Promise<T>} work
 * @param {string} what
 * @returns {Promise<T>}
 */
async function within(limitMs, work, what) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took over ${limitMs} ms`)), limitMs)
  })
  try {
    return /** @type {T} */ (await Promise.race([work, late]))
  } finally {
    clearTimeout(timer)
  }
}

/**
 * @param {boolean} isSo
 * @param {string} what
 */
function must(isSo, what) {
  if (!isSo) throw new Error(`Failed: ${what}`)
}

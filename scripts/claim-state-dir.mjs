// Two runtimes on the same files would corrupt them: a hub holds its state directory from before it
// migrates until it has stopped. The lock is a file that names its owner, so that the lock of a hub
// that was killed can be told from a living one's.
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { clearRunningHub, isAlive, PlainError, readRunningHub } from './local-state.mjs'

/**
 * Makes the directory and takes it for this process, or throws PlainError: a hub runs on it, or it
 * cannot be written. A runtime whose launcher was killed is ended.
 *
 * @param {string} stateDir
 * @returns {Promise<() => void>} gives the directory back; again does nothing
 */
export async function claimStateDir(stateDir) {
  const path = join(stateDir, 'lock')
  const owner = mendable(stateDir, () => {
    makeDirectory(stateDir)
    return takeLock(path)
  })
  if (owner !== null) throw new PlainError(describeOwner(stateDir, Number.parseInt(owner, 10)))
  let isHeld = true
  const release = () => {
    if (!isHeld) return
    isHeld = false
    clearRunningHub(stateDir)
    rmSync(path, { force: true })
  }
  try {
    mendable(stateDir, () => keepToOwner(join(stateDir, 'data')))
    await endLeftRuntime(stateDir)
  } catch (error) {
    release()
    throw error
  }
  return release
}

/**
 * Creates a directory and those above it. Not with `recursive`, which never ends where the system says
 * of a path in an existing directory that it does not exist (Linux: /proc).
 * @param {string} directory
 */
function makeDirectory(directory) {
  if (existsSync(directory)) return
  makeDirectory(dirname(directory))
  try {
    mkdirSync(directory, { mode: 0o700 })
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error
  }
}

/**
 * Databases are written as files that anybody may read, so their directory is closed, also one of an
 * earlier start. The directory around it may be one that others use.
 * @param {string} directory
 */
function keepToOwner(directory) {
  if (!existsSync(directory)) mkdirSync(directory, { mode: 0o700 })
  try {
    chmodSync(directory, 0o700)
  } catch (error) {
    // Somebody else's directory, lent to this hub: they say who may read it.
    if (codeOf(error) !== 'EPERM') throw error
  }
}

/**
 * @param {string} path
 * @returns {string | null} the living owner; null when it is this process now
 */
function takeLock(path) {
  const draft = `${path}.${randomUUID()}`
  // A link appears with its content or not at all; a new file is empty for a moment.
  writeFileSync(draft, `${process.pid}-${readStart(process.pid)}`, { flag: 'wx', mode: 0o600 })
  try {
    return linkLock(draft, path)
  } finally {
    rmSync(draft, { force: true })
  }
}

/**
 * Of those who find the lock of a dead process, only the one that holds a second lock, named after
 * the dead, may remove it; otherwise a slow one would remove the lock of a quick one.
 *
 * @param {string} draft
 * @param {string} path
 * @returns {string | null}
 */
function linkLock(draft, path) {
  for (;;) {
    if (isLinked(draft, path)) return null
    const owner = readOwner(path)
    if (owner === null) continue
    if (isRunning(owner)) return owner
    const guard = `${path}.${owner}`
    const rival = linkLock(draft, guard)
    if (rival !== null) return rival
    if (readOwner(path) === owner) rmSync(path, { force: true })
    rmSync(guard, { force: true })
  }
}

/**
 * @param {string} draft
 * @param {string} path
 */
function isLinked(draft, path) {
  try {
    linkSync(draft, path)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

/** @param {string} path */
function readOwner(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

/** @param {string} owner its process number, a hyphen, when it was started */
function isRunning(owner) {
  const pid = Number.parseInt(owner, 10)
  return owner === `${pid}-${readStart(pid)}`
}

/**
 * When a process was started, in whatever the system counts; null: there is none. Process numbers
 * are used again, and soon in a container.
 * @param {number} pid
 */
function readStart(pid) {
  try {
    if (process.platform === 'win32') return isAlive(pid) ? '' : null
    if (process.platform !== 'linux') {
      const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' }
      const text = execFileSync('ps', ['-p', String(pid), '-o', 'lstart='], { env })
      return text.toString().trim().replace(/\W+/g, '.')
    }
    // The second field, a name in parentheses, may hold spaces; the third is the state, the
    // 22nd the start in ticks since the machine's.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state, ...fields] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return state === 'Z' ? null : (fields[18] ?? null)
  } catch {
    return null
  }
}

/**
 * @param {string} stateDir
 * @param {number} pid
 */
function describeOwner(stateDir, pid) {
  const hub = readRunningHub(stateDir)
  const where = hub?.pid === pid && hub.url ? hub.url : 'it is just starting'
  return (
    `A hub already runs on this data: ${where} (process ${pid}). ` +
    'Stop it first, or choose another directory with ROOKERY_STATE_DIR.'
  )
}

/** @param {string} stateDir held by this process, so whoever wrote itself down there is gone */
async function endLeftRuntime(stateDir) {
  const left = readRunningHub(stateDir)
  if (left === null || !isWorkerd(left.workerdPid)) return
  process.kill(left.workerdPid, 'SIGKILL')
  while (isWorkerd(left.workerdPid)) await new Promise((resolve) => setTimeout(resolve, 10))
}

/** @param {number} pid */
function isWorkerd(pid) {
  if (!isAlive(pid)) return false
  try {
    if (process.platform === 'linux') {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('workerd')
    }
    if (process.platform === 'win32') return true
    return execFileSync('ps', ['-p', String(pid), '-o', 'command=']).includes('workerd')
  } catch {
    return false
  }
}

/**
 * @template T
 * @param {string} stateDir
 * @param {() => T} use
 */
function mendable(stateDir, use) {
  try {
    return use()
  } catch (error) {
    const code = codeOf(error)
    if (typeof code !== 'string') throw error
    if (code === 'ENOSPC') {
      throw new PlainError(
        `The disk of ${stateDir} is full. Free some space, then start again; what was saved is safe.`,
      )
    }
    const why =
      code === 'EEXIST' || code === 'ENOTDIR'
        ? 'it, or a part of its path, is a file'
        : `it cannot be made or written (${code})`
    throw new PlainError(
      `Data cannot be kept in ${stateDir}: ${why}. Choose another directory with ROOKERY_STATE_DIR.`,
    )
  }
}

/** @param {unknown} error */
function codeOf(error) {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

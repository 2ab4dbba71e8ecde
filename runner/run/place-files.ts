import { spawnSync } from 'node:child_process'
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  readSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, isAbsolute, join, normalize } from 'node:path'

// Programs write in a place, so anything below it may be a link that they put there.

const bytesMax = 16 * 1024 * 1024

/** Makes sure that there is a folder; what else a program put there, e.g. a link, is deleted. */
export function ensureFolder(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found?.isDirectory()) return
  if (found) rmSync(path)
  mkdirSync(path, { mode: 0o700 })
}

/** Makes sure that there is an empty folder. @throws when what is there cannot be deleted */
export function emptyFolder(path: string): void {
  removeTree(path)
  mkdirSync(path, { mode: 0o700 })
}

/** Deletes what a program left at a path, also where it took the rights away or nested folders without end. */
export function removeTree(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true })
  } catch {
    // Neither command follows a link below the path.
    spawnSync('sh', ['-c', 'chmod -R u+rwX -- "$0"; rm -rf -- "$0"', path], { stdio: 'ignore' })
  }
}

/**
 * Writes a file below a folder without following a link below it. While it is written no program may run there.
 * @throws when the path leads out of the folder
 */
export function writeInside(folder: string, path: string, text: string): void {
  const file = join(folder, toInner(path))
  ensureFolders(folder, dirname(toInner(path)))
  removeTree(file)
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants
  const open = openSync(file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
  try {
    writeFileSync(open, text)
  } finally {
    closeSync(open)
  }
}

/** Reads a file below a folder. Returns an empty text when there is none, or a link on its path. */
export function readInside(folder: string, path: string): string {
  let open: number | null = null
  try {
    const parts = toInner(path).split('/')
    for (const count of parts.keys()) {
      const isFolder = lstatSync(join(folder, ...parts.slice(0, count))).isDirectory()
      if (!isFolder) return ''
    }
    const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants
    // A pipe would wait for its writer.
    open = openSync(join(folder, ...parts), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    const facts = fstatSync(open)
    const isWhole = facts.isFile() && facts.size <= bytesMax
    return isWhole && isAt(open, folder, parts) ? readBytes(open, facts.size) : ''
  } catch {
    return ''
  } finally {
    if (open !== null) closeSync(open)
  }
}

/** Whether an open file was reached without a link: a program may put one on the way meanwhile. */
const isAt = (open: number, folder: string, parts: string[]): boolean =>
  process.platform !== 'linux' ||
  readlinkSync(`/proc/self/fd/${open}`) === join(realpathSync(folder), ...parts)

/** Reads no more than there was: the file may grow without end. */
function readBytes(open: number, size: number): string {
  const buffer = Buffer.alloc(size)
  return buffer.toString('utf8', 0, readSync(open, buffer))
}

function toInner(path: string): string {
  const inner = normalize(path)
  if (isAbsolute(inner) || inner.split('/')[0] === '..') {
    throw new Error(`${path} leads out of its folder`)
  }
  return inner
}

function ensureFolders(folder: string, path: string): void {
  const parts = path.split('/').filter((part) => part !== '.')
  for (const count of parts.keys()) ensureFolder(join(folder, ...parts.slice(0, count + 1)))
}

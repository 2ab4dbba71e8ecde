import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { join } from 'node:path'
import type { Git } from './git.ts'

const weekMs = 7 * 86_400_000
const listRoot = (folder: string): string => join(folder, 'repositories')

/** One fetch at a time into a copy. */
const busy = new Map<string, Promise<unknown>>()

/**
 * Fetches a ref into the runner's copy of a repository, which runs borrow. A copy has what one ref reaches and nothing
 * else: each run that borrows it has fetched that ref with its own token. When the ref moved back or was rewritten, a
 * new copy begins, so that no run reads what was removed.
 *
 * @param folder of the runner
 * @returns the copy and the ref's commit
 */
export async function fetchBase(
  git: Git,
  folder: string,
  ref: string,
  now: number,
): Promise<{ folder: string; commit: string }> {
  const name = createHash('sha256').update(`${git.url}\n${ref}`).digest('hex').slice(0, 32)
  const key = join(listRoot(folder), name)
  const before = busy.get(key) ?? Promise.resolve()
  const fetching = before.then(() => fetchNow(git, folder, name, ref, now))
  const settled = fetching.catch(() => undefined)
  busy.set(key, settled)
  void settled.then(() => busy.get(key) === settled && busy.delete(key))
  return fetching
}

async function fetchNow(git: Git, folder: string, name: string, ref: string, now: number) {
  const last = Math.max(
    0,
    ...listCopies(folder).flatMap((each) => (each.name === name ? [each.count] : [])),
  )
  const current = join(listRoot(folder), `${name}-${Math.max(1, last)}.git`)
  const known = await readKnown(git, current)
  const commit = await fetchInto(git, current, ref, now)
  const isRewritten =
    known !== '' &&
    (await git.run(current, 'rev-list', '--max-count=1', known, `^${commit}`)) !== ''
  if (!isRewritten) return { folder: current, commit }
  const next = join(listRoot(folder), `${name}-${last + 1}.git`)
  return { folder: next, commit: await fetchInto(git, next, ref, now) }
}

async function fetchInto(git: Git, copy: string, ref: string, now: number): Promise<string> {
  if (!existsSync(join(copy, 'HEAD'))) {
    mkdirSync(join(copy, '..'), { recursive: true, mode: 0o700 })
    await git.create(copy)
  }
  await git.fetch(copy, `${ref}:refs/base`)
  utimesSync(copy, now / 1000, now / 1000)
  return git.run(copy, 'rev-parse', 'refs/base^{commit}')
}

/** Returns what the ref was when it was last fetched; an empty text: it was not. */
const readKnown = async (git: Git, copy: string): Promise<string> =>
  existsSync(join(copy, 'HEAD'))
    ? git.run(copy, 'for-each-ref', '--format=%(objectname)', 'refs/base')
    : ''

function listCopies(folder: string): { path: string; name: string; count: number }[] {
  const root = listRoot(folder)
  if (!existsSync(root)) return []
  return readdirSync(root).map((file) => {
    const [, name = '', count] = /^([0-9a-f]{32})-([0-9]{1,9})\.git$/.exec(file) ?? []
    return { path: join(root, file), name, count: Number(count ?? 0) }
  })
}

/** Deletes copies that no kept checkout borrows and that were not fetched for a week, or have a successor. */
export function cleanCopies(folder: string, now: number): void {
  const borrowed = readBorrowed(folder)
  const copies = listCopies(folder)
  for (const { path, name, count } of copies) {
    const hasSuccessor = copies.some((each) => each.name === name && each.count > count)
    const isOld = now - statSync(path).mtimeMs > weekMs
    const isUsed = borrowed.includes(join(path, 'objects'))
    if (!isUsed && (hasSuccessor || isOld || name === ''))
      rmSync(path, { recursive: true, force: true })
  }
}

/** Returns the folders of objects that kept checkouts borrow. */
function readBorrowed(folder: string): string[] {
  const root = join(folder, 'places')
  if (!existsSync(root)) return []
  return readdirSync(root).flatMap((name) => {
    const file = join(root, name, 'objects/info/alternates')
    return name.endsWith('.git') && existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
  })
}

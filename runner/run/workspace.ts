import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RunOrder, RunReport } from '../../src/shared/runner-protocol.ts'
import type { Log } from '../log.ts'
import { createGit, type Git } from './git.ts'
import { truncatePatch } from './patch.ts'
import { emptyFolder } from './place-files.ts'
import type { Place, Places } from './places.ts'
import { fetchBase } from './repository-copies.ts'
import { takeCommits } from './take-commits.ts'

type Changes = Extract<RunReport, { kind: 'ended' }>['changes']

/** A checkout of a repository for one attempt. */
export interface Workspace {
  /** Folders that the program must be able to read besides its own. */
  readable: string[]
  /**
   * Commits what changed, and pushes it on the run's branch.
   * @param isPushed whether the work is wanted; else it is only described
   */
  finish(isPushed: boolean): Promise<{ changes: Changes; problem: string | null }>
  /** Commits and pushes what there is while the program waits: a pull request needs its branch. Never fails. */
  push(): Promise<void>
}

interface Facts {
  order: RunOrder
  /** The runner's folder. */
  folder: string
  runFolder: string
  place: Place
  places: Places
  hasSandbox: boolean
  log: Log
}

/**
 * Prepares the work folder on the run's branch.
 *
 * The runner's copies of repositories and the run's own objects lie where programs cannot write; git runs there with
 * the token. A program gets a checkout that borrows both. Whatever it left there, hooks and configuration included, is
 * only ever run inside the sandbox: its commits come out as a pack.
 *
 * @throws when the repository or the ref cannot be fetched
 */
export async function openWorkspace(facts: Facts): Promise<Workspace> {
  const { order, place, folder } = facts
  const { workspace } = order
  if (!workspace) throw new Error('The order has no workspace')
  const url = `${order.endpoints.git.replace(/\/$/, '')}/${workspace.repository}`
  const git = createGit({ url, home: folder, endpoint: order.endpoints.git, token: order.token })
  const base = await fetchBase(git, folder, workspace.ref ?? 'HEAD', Date.now())
  const own = place.repository
  // What is in a checkout is worth nothing without its objects.
  const isKept = place.facts.has_unsaved_work && existsSync(join(own, 'HEAD'))
  if (!isKept) {
    rmSync(own, { recursive: true, force: true })
    await git.create(own)
  }
  borrow(own, base.folder)
  const branch = `refs/heads/${workspace.branch}`
  const hasBranch = (await git.listRemote(own, branch)) !== ''
  if (hasBranch) await git.fetch(own, `${branch}:refs/start`)
  const start = hasBranch ? await git.run(own, 'rev-parse', 'refs/start^{commit}') : base.commit
  if (!isKept) await checkOut(git, place, workspace.branch, start)
  facts.places.save(place, { has_unsaved_work: order.builtin !== 'none' })
  const saving = { facts, git, branch: workspace.branch, start, hasBranch }
  let pushed = Promise.resolve()
  return {
    readable: listReadable(own),
    finish: async (isPushed) => {
      await pushed
      return saveChanges({ ...saving, isPushed })
    },
    push: () => {
      pushed = pushed.then(() => pushEarly({ ...saving, isPushed: true }))
      return pushed
    },
  }
}

/** A push that failed is repeated at the end of the run, which reports it. */
async function pushEarly(saving: Saving): Promise<void> {
  const { log, order } = saving.facts
  if (order.builtin === 'none') return
  try {
    const end = await takeEnd(saving, true)
    const problem = end === saving.start ? null : await pushBranch(saving, end)
    if (problem) log.warn(problem)
  } catch (error) {
    log.warn(`The changes could not be read: ${(error as Error).message}`)
  }
}

const alternates = 'objects/info/alternates'

const readBorrowed = (repository: string): string[] => {
  const file = join(repository, alternates)
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
}

/** Lets a repository read the objects of a copy. A checkout that is kept may need those of an older copy, too. */
function borrow(repository: string, copy: string): void {
  const borrowed = new Set([...readBorrowed(repository), join(copy, 'objects')])
  mkdirSync(join(repository, 'objects/info'), { recursive: true })
  writeFileSync(join(repository, alternates), `${[...borrowed].join('\n')}\n`)
}

const listReadable = (own: string): string[] => [own, ...readBorrowed(own)]

/** Fills an empty work folder. Nothing that a program wrote is there yet. */
async function checkOut(
  git: Git,
  { work, repository }: Place,
  branch: string,
  start: string,
): Promise<void> {
  emptyFolder(work)
  await git.runIn(work, 'init', '--quiet', '--template=', '-b', branch)
  borrow(join(work, '.git'), repository)
  await git.runIn(work, 'reset', '--quiet', '--hard', start)
}

interface Saving {
  facts: Facts
  git: Git
  branch: string
  start: string
  /** Whether the branch was there: then the start is its last commit. */
  hasBranch: boolean
  isPushed: boolean
}

async function takeEnd({ facts, git, start }: Saving, isProgramWaiting: boolean): Promise<string> {
  const { order, place, hasSandbox, runFolder } = facts
  if (!hasSandbox) throw new Error('There is no sandbox')
  const readable = listReadable(place.repository)
  const { agent } = order
  return takeCommits({ git, place, runFolder, agent, start, readable, isProgramWaiting })
}

async function saveChanges(saving: Saving): Promise<{ changes: Changes; problem: string | null }> {
  const { facts, git, branch, start, hasBranch } = saving
  const { repository } = facts.place
  const since = hasBranch ? start : null
  const nothing = { branch, pushed: null, since, stat: '', patch: '' }
  try {
    if (facts.order.builtin === 'none') return { changes: nothing, problem: null }
    const end = await takeEnd(saving, false)
    if (end === start) {
      facts.places.save(facts.place, { has_unsaved_work: false })
      return { changes: nothing, problem: null }
    }
    const show = ['diff', '--no-ext-diff', '--no-textconv', '--no-color']
    // The start of a checkout that is kept has moved when others pushed meanwhile.
    const from = await git.run(repository, 'merge-base', start, end).catch(() => start)
    const stat = await git.run(repository, ...show, '--stat=100', from, end)
    const patch = await git.run(repository, ...show, from, end)
    const problem = saving.isPushed ? await pushBranch(saving, end) : null
    const isSaved = saving.isPushed && problem === null
    if (isSaved) facts.places.save(facts.place, { has_unsaved_work: false })
    const changes = {
      branch,
      pushed: isSaved ? end : null,
      since,
      stat: stat.slice(0, 20_000),
      patch: truncatePatch(patch),
    }
    return { changes, problem }
  } catch (error) {
    return {
      changes: nothing,
      problem: `The changes could not be read: ${(error as Error).message}`,
    }
  } finally {
    if (!facts.place.facts.has_unsaved_work) rmSync(repository, { recursive: true, force: true })
  }
}

/** Returns why the branch was not pushed; null when it was. */
async function pushBranch({ facts, git, branch }: Saving, end: string): Promise<string | null> {
  const allowed = facts.order.workspace?.push ?? []
  if (!allowed.some((pattern) => matches(pattern, branch))) {
    return `The definition does not allow a push to ${branch}.`
  }
  try {
    await git.push(facts.place.repository, `refs/end:refs/heads/${branch}`)
    facts.log.info(`${facts.order.agent}: pushed ${end.slice(0, 12)} to ${branch}`)
    return null
  } catch (error) {
    return `The branch could not be pushed: ${(error as Error).message}`
  }
}

const matches = (pattern: string, branch: string): boolean =>
  pattern.endsWith('*') ? branch.startsWith(pattern.slice(0, -1)) : branch === pattern

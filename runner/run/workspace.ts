import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, lstatSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import type { RunOrder, RunReport } from '../../src/shared/runner-protocol.ts'
import type { Log } from '../log.ts'
import { truncatePatch } from './patch.ts'
import type { Place, Places } from './places.ts'
import { socketFolder, wrapInSandbox } from './sandbox.ts'

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
}

interface Facts {
  order: RunOrder
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
 * The runner's copy of the repository lies where programs cannot write; git runs there with the token. A program gets
 * a checkout that borrows the copy's objects. Whatever it left there, hooks and configuration included, is only ever
 * run inside the sandbox: its commits come out as a bundle.
 *
 * @throws when the repository or the ref cannot be fetched
 */
export async function openWorkspace(facts: Facts): Promise<Workspace> {
  const { order, place } = facts
  const { workspace } = order
  if (!workspace) throw new Error('The order has no workspace')
  const git = createGit(facts, workspace.repository)
  await git.create()
  const refs = `refs/runs/${basename(facts.runFolder)}`
  const branch = `refs/heads/${workspace.branch}`
  await git.fetch(`${workspace.ref ?? 'HEAD'}:${refs}/base`)
  const hasBranch = (await git.listRemote(branch)) !== ''
  if (hasBranch) await git.fetch(`${branch}:${refs}/start`)
  const start = await git.run('rev-parse', `${refs}/${hasBranch ? 'start' : 'base'}^{commit}`)
  if (!place.facts.has_unsaved_work) await checkOut(git, place, workspace.branch, start)
  facts.places.save(place, { has_unsaved_work: order.builtin !== 'none' })
  return {
    readable: [git.folder],
    finish: (isPushed) =>
      saveChanges({ facts, git, refs, branch: workspace.branch, start, hasBranch, isPushed }),
  }
}

interface Git {
  folder: string
  create(): Promise<void>
  run(...args: string[]): Promise<string>
  runIn(folder: string, ...args: string[]): Promise<string>
  fetch(refspec: string): Promise<void>
  listRemote(ref: string): Promise<string>
  push(refspec: string): Promise<void>
}

const execute = promisify(execFile)
const outputMax = 16 * 1024 * 1024

/** No configuration of this machine, no questions, and the token for the hub alone, in the environment. */
function createGit({ order, folder }: Facts, repository: string): Git {
  const url = `${order.endpoints.git.replace(/\/$/, '')}/${repository}`
  const copy = join(
    folder,
    'repositories',
    `${createHash('sha256').update(url).digest('hex').slice(0, 32)}.git`,
  )
  const plain = { ...plainGitEnv, PATH: process.env.PATH ?? '', HOME: folder }
  const settings = [
    [`http.${order.endpoints.git}.extraHeader`, `Authorization: Bearer ${order.token}`],
    ['transfer.fsckObjects', 'true'],
    ['gc.auto', '0'],
  ]
  const withToken = {
    ...plain,
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([key, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, key],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
  }
  const start = async (env: Record<string, string>, args: string[]): Promise<string> => {
    try {
      const { stdout } = await execute('git', args, { env, maxBuffer: outputMax, timeout: 600_000 })
      return stdout.trim()
    } catch (error) {
      const { code, stdout } = error as { code?: unknown; stdout?: string }
      // only a patch can be that long, and it is truncated anyway
      if (code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER') return stdout ?? ''
      const said = String((error as { stderr?: string }).stderr ?? (error as Error).message)
      throw new Error(
        `git ${args.find((each) => !each.startsWith('-') && each !== copy)}: ${said.trim()}`,
      )
    }
  }
  const inCopy = (...args: string[]) => start(withToken, ['--git-dir', copy, ...args])
  return {
    folder: copy,
    async create() {
      if (existsSync(join(copy, 'HEAD'))) return
      mkdirSync(join(folder, 'repositories'), { recursive: true, mode: 0o700 })
      await start(plain, ['init', '--quiet', '--bare', '--template=', copy])
    },
    run: inCopy,
    runIn: (path, ...args) => start(plain, ['-C', path, ...args]),
    fetch: async (refspec) => {
      await inCopy('fetch', '--quiet', '--no-tags', '--no-write-fetch-head', url, `+${refspec}`)
    },
    listRemote: (ref) => inCopy('ls-remote', url, ref),
    push: async (refspec) => {
      await inCopy('push', '--quiet', url, refspec)
    },
  }
}

const plainGitEnv = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ALLOW_PROTOCOL: 'http:https:file',
}

/** Fills an empty work folder. Nothing that a program wrote is there yet. */
async function checkOut(git: Git, { work }: Place, branch: string, start: string): Promise<void> {
  rmSync(work, { recursive: true, force: true })
  mkdirSync(work, { mode: 0o700 })
  await git.runIn(work, 'init', '--quiet', '--template=', '-b', branch)
  mkdirSync(join(work, '.git/objects/info'), { recursive: true })
  writeFileSync(join(work, '.git/objects/info/alternates'), `${git.folder}/objects\n`)
  await git.runIn(work, 'reset', '--quiet', '--hard', start)
}

interface Saving {
  facts: Facts
  git: Git
  refs: string
  branch: string
  start: string
  /** Whether the branch was there: then the start is its last commit. */
  hasBranch: boolean
  isPushed: boolean
}

async function saveChanges(saving: Saving): Promise<{ changes: Changes; problem: string | null }> {
  const { facts, git, refs, branch, start, hasBranch } = saving
  const since = hasBranch ? start : null
  const nothing = { branch, pushed: null, since, stat: '', patch: '' }
  try {
    if (facts.order.builtin === 'none') return { changes: nothing, problem: null }
    const end = await takeCommits(saving)
    if (end === start) {
      facts.places.save(facts.place, { has_unsaved_work: false })
      return { changes: nothing, problem: null }
    }
    const show = ['diff', '--no-ext-diff', '--no-textconv', '--no-color']
    const stat = await git.run(...show, '--stat=100', start, end)
    const patch = await git.run(...show, start, end)
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
    for (const name of ['base', 'start', 'end']) {
      await git.run('update-ref', '-d', `${refs}/${name}`).catch(() => undefined)
    }
  }
}

/** Commits what is left in the work folder, and fetches all its commits into the runner's copy. Returns the last one. */
async function takeCommits({ facts, git, refs, start }: Saving): Promise<string> {
  const { order, place, hasSandbox, folder, runFolder } = facts
  if (!hasSandbox) throw new Error('There is no sandbox')
  mkdirSync(place.temp, { recursive: true })
  const bundle = join(place.temp, 'commits.bundle')
  rmSync(bundle, { force: true, recursive: true })
  const command = wrapInSandbox(
    ['sh', '-c', commitScript, 'commit', start, bundle, order.agent],
    {
      folder: place.folder,
      temp: place.temp,
      cwd: place.work,
      readable: [git.folder],
      relay: null,
      hidden: folder,
    },
    join(runFolder, 'sandbox-git.json'),
  )
  const env = {
    ...plainGitEnv,
    PATH: process.env.PATH ?? '',
    HOME: place.temp,
    TMPDIR: socketFolder,
  }
  await execute(command[0] ?? '', command.slice(1), { env, cwd: place.temp, timeout: 120_000 })
  if (!existsSync(bundle)) return start
  if (!lstatSync(bundle).isFile()) throw new Error('The bundle is not a file')
  await git.run(
    'fetch',
    '--quiet',
    '--no-tags',
    '--no-write-fetch-head',
    bundle,
    `+HEAD:${refs}/end`,
  )
  return git.run('rev-parse', `${refs}/end^{commit}`)
}

const commitScript = `
set -e
rm -f .git/index.lock
export GIT_AUTHOR_NAME="$3" GIT_AUTHOR_EMAIL="$3@rookery.invalid"
export GIT_COMMITTER_NAME="$3" GIT_COMMITTER_EMAIL="$3@rookery.invalid"
git add -A
git diff --cached --quiet || git commit --quiet --no-verify -m "Save the changes of a run"
[ "$(git rev-parse HEAD)" = "$1" ] || git bundle create --quiet "$2" HEAD "^$1"
`

/** Returns why the branch was not pushed; null when it was. */
async function pushBranch(
  { facts, git, refs, branch }: Saving,
  end: string,
): Promise<string | null> {
  const allowed = facts.order.workspace?.push ?? []
  if (!allowed.some((pattern) => matches(pattern, branch))) {
    return `The definition does not allow a push to ${branch}.`
  }
  try {
    await git.push(`${refs}/end:refs/heads/${branch}`)
    facts.log.info(`${facts.order.agent}: pushed ${end.slice(0, 12)} to ${branch}`)
    return null
  } catch (error) {
    return `The branch could not be pushed: ${(error as Error).message}`
  }
}

const matches = (pattern: string, branch: string): boolean =>
  pattern.endsWith('*') ? branch.startsWith(pattern.slice(0, -1)) : branch === pattern

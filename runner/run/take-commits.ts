import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { type Git, plainGitEnv } from './git.ts'
import type { Place } from './places.ts'
import { killGroup, markerName, toMarker } from './processes.ts'
import { startInSandbox } from './sandbox.ts'

interface CommitFacts {
  git: Git
  place: Place
  /** The attempt's own folder. */
  runFolder: string
  /** Names the author. */
  agent: string
  /** The commit where the run began. */
  start: string
  /** Folders that git in the checkout must be able to read besides its own. */
  readable: string[]
  /** A program that waits may be in the middle of its own use of git. */
  isProgramWaiting: boolean
}

const patienceMs = 120_000

/**
 * Commits what is left in the work folder, and takes its commits over. Returns the last one.
 *
 * A checkout belongs to its program: git runs on it only inside the sandbox, where the program may be as well, and may
 * write whatever it likes to where git writes. So what comes out is read from a pipe that the runner opened, as one
 * form: the id of a commit in a line, then a pack.
 */
export async function takeCommits(facts: CommitFacts): Promise<string> {
  const { git, place, runFolder, agent, start, isProgramWaiting } = facts
  const marker = toMarker(join(runFolder, 'commits'))
  const child = startInSandbox(
    ['sh', '-c', script, 'commit', start, isProgramWaiting ? 'waits' : 'ended', agent],
    {
      folder: place.folder,
      home: place.temp,
      temp: place.temp,
      cwd: place.work,
      readable: facts.readable,
      relay: null,
    },
    {
      env: { ...plainGitEnv, PATH: process.env.PATH ?? '', [markerName]: marker },
      settingsFile: join(runFolder, 'sandbox-git.json'),
    },
  )
  let errors = ''
  child.stdin.on('error', () => undefined)
  child.stderr.on('data', (data: Buffer) => {
    errors = `${errors}${data}`.slice(-4_000)
  })
  const closed = once(child, 'close')
  closed.catch(() => undefined)
  const timer = setTimeout(() => void killGroup(child.pid, marker), patienceMs)
  try {
    const end = await readCommits(git, place.repository, child.stdout)
    const [code, signal] = await closed
    if (code !== 0) throw new Error(errors.trim() || `git ended with ${code ?? signal}`)
    return end ?? start
  } finally {
    clearTimeout(timer)
    await killGroup(child.pid, marker)
  }
}

const script = `
set -e
[ "$2" = waits ] || rm -f .git/index.lock
export GIT_AUTHOR_NAME="$3" GIT_AUTHOR_EMAIL="$3@rookery.invalid"
export GIT_COMMITTER_NAME="$3" GIT_COMMITTER_EMAIL="$3@rookery.invalid"
git add -A >&2
git diff --cached --quiet || git commit --quiet --no-verify -m "Save the changes of a run" >&2
end=$(git rev-parse HEAD)
[ "$end" = "$1" ] || { echo "$end"; printf '%s\\n^%s\\n' "$end" "$1" | git pack-objects --quiet --revs --thin --stdout; }
`

const idLine = /^([0-9a-f]{40}|[0-9a-f]{64})\n/
const idLineMax = 65

/** Returns the commit that the output names and brings; null when it is empty. @throws when it is anything else */
export async function readCommits(
  git: Git,
  repository: string,
  output: Readable,
): Promise<string | null> {
  const parts: AsyncIterator<Buffer> = output[Symbol.asyncIterator]()
  let head = Buffer.alloc(0)
  while (head.length < idLineMax) {
    const { value, done } = await parts.next()
    if (done) break
    head = Buffer.concat([head, value])
  }
  if (head.length === 0) return null
  const [line, id] = idLine.exec(head.toString('latin1')) ?? []
  if (!line || !id) throw new Error('The commits are not in the expected form')
  await git.takePack(repository, continueWith(head.subarray(line.length), parts))
  const end = await git.run(repository, 'rev-parse', '--verify', '--quiet', `${id}^{commit}`)
  await git.run(repository, 'update-ref', 'refs/end', end)
  return end
}

async function* continueWith(first: Buffer, parts: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield first
  for (;;) {
    const { value, done } = await parts.next()
    if (done) return
    yield value
  }
}

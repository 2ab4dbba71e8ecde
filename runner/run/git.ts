import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'

/** git in repositories of the runner, where no program writes. */
export interface Git {
  /** The repository's address on the hub. */
  url: string
  /** Creates an empty repository. */
  create(repository: string): Promise<void>
  /** Runs git in a repository, without the token and without any other repository. Returns what it wrote. */
  run(repository: string, ...args: string[]): Promise<string>
  /** Runs git in a folder, likewise. */
  runIn(folder: string, ...args: string[]): Promise<string>
  /**
   * Takes a pack that a program made, and nothing else than a pack: whatever the stream has is read as one, up to 64 MiB.
   * Its objects are checked, and each must have all that it refers to.
   *
   * @throws when it is not such a pack
   */
  takePack(repository: string, pack: AsyncIterable<Buffer>): Promise<void>
  fetch(repository: string, refspec: string): Promise<void>
  listRemote(repository: string, ref: string): Promise<string>
  push(repository: string, refspec: string): Promise<void>
}

interface GitAccess {
  url: string
  /** Whose configuration git reads: none is there. */
  home: string
  /** Where the token is sent. */
  endpoint: string
  token: string
}

/**
 * git that reads no configuration of this machine, asks no questions, and opens nothing but the repository where it
 * runs: it knows no protocol, not even that of a path.
 */
export const plainGitEnv = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ALLOW_PROTOCOL: '',
}

/**
 * What a program or a stranger wrote may be in any repository. Nothing of it is started, a single allocation and a text
 * that is compared are bounded, and a command has time for repositories that people have.
 */
const settings = {
  'core.hooksPath': '/dev/null',
  'core.fsmonitor': 'false',
  'core.bigFileThreshold': '64m',
  'core.packedGitLimit': '512m',
  'core.packedGitWindowSize': '32m',
  'transfer.fsckObjects': 'true',
  'transfer.bundleURI': 'false',
  'fetch.recurseSubmodules': 'false',
  'push.recurseSubmodules': 'no',
  'http.followRedirects': 'false',
  'pack.threads': '1',
  'gc.auto': '0',
}
const allocationMax = '512m'
/** KiB of memory of a command. */
const memoryMax = 4 * 1024 * 1024
/** The hub takes no longer push. */
const packBytesMax = 64 * 1024 * 1024

const execute = promisify(execFile)
const outputMax = 16 * 1024 * 1024
const localMs = 120_000
const remoteMs = 600_000
const quiet = ['--quiet', '--no-tags', '--no-write-fetch-head']

/** Creates git with the token for the hub alone, in the environment. */
export function createGit({ url, home, endpoint, token }: GitAccess): Git {
  const base = { ...plainGitEnv, PATH: process.env.PATH ?? '', HOME: home }
  const plain = { ...base, GIT_ALLOC_LIMIT: allocationMax, ...toVariables(settings) }
  const withToken = {
    ...plain,
    GIT_ALLOW_PROTOCOL: 'http:https',
    ...toVariables({
      ...settings,
      [`http.${endpoint}.extraHeader`]: `Authorization: Bearer ${token}`,
    }),
  }
  const ask = (repository: string, ...args: string[]) =>
    start(withToken, repository, ['--git-dir', repository, ...args], remoteMs)
  return {
    url,
    create: async (repository) => {
      await start(plain, '', ['init', '--quiet', '--bare', '--template=', repository])
    },
    run: (repository, ...args) => start(plain, repository, ['--git-dir', repository, ...args]),
    runIn: (folder, ...args) => start(plain, folder, ['-C', folder, ...args]),
    takePack: (repository, pack) => indexPack(plain, repository, pack),
    fetch: async (repository, refspec) => {
      await ask(repository, 'fetch', ...quiet, '--', url, `+${refspec}`)
    },
    listRemote: (repository, ref) => ask(repository, 'ls-remote', '--', url, ref),
    push: async (repository, refspec) => {
      await ask(repository, 'push', '--quiet', '--', url, refspec)
    },
  }
}

const toVariables = (values: Record<string, string>): Record<string, string> => {
  const entries = Object.entries(values)
  return {
    GIT_CONFIG_COUNT: String(entries.length),
    ...Object.fromEntries(
      entries.flatMap(([key, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, key],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
  }
}

/** A shell sets the limit of memory, where there is one. */
const bounded = (args: string[]): string[] => [
  '-c',
  `ulimit -v ${memoryMax} 2>/dev/null; exec git "$@"`,
  'git',
  ...args,
]

/** @param folder where git runs, which the message of an error does not repeat */
async function start(
  env: NodeJS.ProcessEnv,
  folder: string,
  args: string[],
  timeout = localMs,
): Promise<string> {
  const limits = { env, maxBuffer: outputMax, timeout, killSignal: 'SIGKILL' } as const
  try {
    const { stdout } = await execute('sh', bounded(args), limits)
    return stdout.trim()
  } catch (error) {
    const { code, stdout, killed } = error as { code?: unknown; stdout?: string; killed?: boolean }
    const command = args.find((each) => !each.startsWith('-') && each !== folder)
    // A patch is truncated anyway. Any other command has not done its work.
    const isTooLong = code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER'
    if (isTooLong && command === 'diff') return stdout ?? ''
    const { stderr, message } = error as Error & { stderr?: string }
    const said = isTooLong ? message : String(stderr ?? message).slice(-4_000)
    throw new Error(`git ${command}: ${said.trim() || (killed ? 'timed out' : 'failed')}`)
  }
}

async function indexPack(
  env: NodeJS.ProcessEnv,
  repository: string,
  pack: AsyncIterable<Buffer>,
): Promise<void> {
  const command = ['index-pack', '--stdin', '--fix-thin', '--strict']
  const args = ['--git-dir', repository, ...command, `--max-input-size=${packBytesMax}`]
  const child = spawn('sh', bounded(args), {
    env,
    stdio: ['pipe', 'ignore', 'pipe'],
    timeout: localMs,
    killSignal: 'SIGKILL',
  })
  let errors = ''
  child.stderr.on('data', (data: Buffer) => {
    errors = `${errors}${data}`.slice(-4_000)
  })
  const closed = once(child, 'close')
  // git closes its end as soon as it has seen enough.
  await pipeline(pack, child.stdin).catch(() => undefined)
  const [code, signal] = await closed
  if (code !== 0) throw new Error(`git index-pack: ${errors.trim() || (signal ?? code)}`)
}

/** The first releases with what was closed in May 2024; lines before 2.39 got nothing. */
const closedIn = new Map([
  [39, 4],
  [40, 2],
  [41, 1],
  [42, 2],
  [43, 4],
  [44, 1],
  [45, 1],
])

/** Returns why workspaces cannot be used; null: git is there, and not too old. */
export function findGitProblem(): string | null {
  const { stdout } = spawnSync('git', ['--version'], { encoding: 'utf8', timeout: 10_000 })
  return judgeGitVersion(stdout ?? '')
}

/** @param text as `git --version` prints it */
export function judgeGitVersion(text: string): string | null {
  const found = /^git version (\d+)\.(\d+)(?:\.(\d+))?/.exec(text)
  if (!found) return 'git is not installed'
  const [major = 0, minor = 0, patch = 0] = found.slice(1).map((each) => Number(each ?? 0))
  const isClosed =
    major > 2 || (major === 2 && (minor > 45 || patch >= (closedIn.get(minor) ?? Infinity)))
  return isClosed
    ? null
    : `git ${found.slice(1).filter(Boolean).join('.')} is too old: update it to 2.45.1 or 2.39.4 at least`
}

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** git in repositories of the runner, where no program writes. */
export interface Git {
  /** The repository's address on the hub. */
  url: string
  /** Creates an empty repository. */
  create(repository: string): Promise<void>
  /** Runs git in a repository. Returns what it wrote. */
  run(repository: string, ...args: string[]): Promise<string>
  /** Runs git in a folder, without the token. */
  runIn(folder: string, ...args: string[]): Promise<string>
  fetch(repository: string, refspec: string): Promise<void>
  /** Takes what a bundle has. Its objects are checked. */
  fetchFile(repository: string, bundle: string, refspec: string): Promise<void>
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

/** No configuration of this machine, and no questions. */
export const plainGitEnv = {
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_TERMINAL_PROMPT: '0',
  GIT_ALLOW_PROTOCOL: 'http:https:file',
}

const execute = promisify(execFile)
const outputMax = 16 * 1024 * 1024
const timeoutMs = 600_000
const quiet = ['--quiet', '--no-tags', '--no-write-fetch-head']

/** Creates git with the token for the hub alone, in the environment. */
export function createGit({ url, home, endpoint, token }: GitAccess): Git {
  const plain = { ...plainGitEnv, PATH: process.env.PATH ?? '', HOME: home }
  const withToken = { ...plain, ...toSettings(endpoint, token) }
  const run: Git['run'] = (repository, ...args) =>
    start(withToken, repository, ['--git-dir', repository, ...args])
  const fetchFrom = async (repository: string, source: string, refspec: string): Promise<void> => {
    await run(repository, 'fetch', ...quiet, source, `+${refspec}`)
  }
  return {
    url,
    create: async (repository) => {
      await start(plain, '', ['init', '--quiet', '--bare', '--template=', repository])
    },
    run,
    runIn: (folder, ...args) => start(plain, folder, ['-C', folder, ...args]),
    fetch: (repository, refspec) => fetchFrom(repository, url, refspec),
    fetchFile: fetchFrom,
    listRemote: (repository, ref) => run(repository, 'ls-remote', url, ref),
    push: async (repository, refspec) => {
      await run(repository, 'push', '--quiet', url, refspec)
    },
  }
}

function toSettings(endpoint: string, token: string): Record<string, string> {
  const settings = [
    [`http.${endpoint}.extraHeader`, `Authorization: Bearer ${token}`],
    ['transfer.fsckObjects', 'true'],
    ['gc.auto', '0'],
  ]
  return {
    GIT_CONFIG_COUNT: String(settings.length),
    ...Object.fromEntries(
      settings.flatMap(([key, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, key],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
  }
}

/** @param folder where git runs, which the message of an error does not repeat */
async function start(env: NodeJS.ProcessEnv, folder: string, args: string[]): Promise<string> {
  try {
    const { stdout } = await execute('git', args, { env, maxBuffer: outputMax, timeout: timeoutMs })
    return stdout.trim()
  } catch (error) {
    const { code, stdout } = error as { code?: unknown; stdout?: string }
    const command = args.find((each) => !each.startsWith('-') && each !== folder)
    // A patch is truncated anyway. Any other command has not done its work.
    const isTooLong = code === 'ERR_CHILD_PROCESS_STDIO_MAXBUFFER'
    if (isTooLong && command === 'diff') return stdout ?? ''
    const { stderr, message } = error as Error & { stderr?: string }
    const said = isTooLong ? message : String(stderr ?? message).slice(-4_000)
    throw new Error(`git ${command}: ${said.trim()}`)
  }
}

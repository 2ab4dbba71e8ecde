import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const clone = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')
const packageFolder = join(clone, 'runner/node_modules/@anthropic-ai/sandbox-runtime')
const cli = join(packageFolder, 'dist/cli.js')

/** What a command may reach inside the sandbox. Everything else of the machine is closed or read-only. */
export interface SandboxLimits {
  /** The only folder that it may write. */
  folder: string
  /**
   * For temporary files, inside the folder. The sandbox must be started here: it covers names such as `.git/config`
   * where it is started, which would keep git from working in a checkout.
   */
  temp: string
  /** Where the command itself starts. */
  cwd: string
  /** Folders below hidden ones that it may read, e.g. the program itself. */
  readable: string[]
  /** The only address that it may connect to, as `host:port`; null: none. */
  relay: string | null
  /** The runner's own folder, with other runs. */
  hidden: string
}

/** Where the sandbox itself has its sockets; their paths must be short. */
export const socketFolder = '/tmp'

/** Folders where people and services keep what is theirs. */
const hiddenFolders = [
  '/root',
  '/home',
  '/Users',
  '/srv',
  '/opt',
  '/mnt',
  '/media',
  '/run/secrets',
  '/run/credentials',
  '/var/lib',
  '/etc/shadow',
  '/etc/ssl/private',
  '/etc/ssh',
]

/**
 * Returns the command that runs another one inside the sandbox.
 *
 * @param settingsFile is written; must be outside of the folder that the command may write
 */
export function wrapInSandbox(
  command: string[],
  limits: SandboxLimits,
  settingsFile: string,
): string[] {
  const settings = {
    network: {
      allowedDomains: limits.relay === null ? [] : [limits.relay],
      deniedDomains: [],
      strictAllowlist: true,
    },
    filesystem: {
      denyRead: [...hiddenFolders, clone, limits.hidden].filter(existsSync),
      allowRead: [
        dirname(dirname(process.execPath)),
        packageFolder,
        ...limits.readable,
        limits.folder,
      ],
      allowWrite: [limits.folder],
      denyWrite: [],
    },
  }
  writeFileSync(settingsFile, JSON.stringify(settings), { mode: 0o600 })
  // The sandbox sets a folder for temporary files that does not exist.
  const start = ['sh', '-c', 'cd "$0" && exec "$@"', limits.cwd]
  const inside = ['env', `TMPDIR=${limits.temp}`, 'NODE_USE_ENV_PROXY=1', ...start, ...command]
  return [process.execPath, cli, '--settings', settingsFile, '--', ...inside]
}

/** Tries the sandbox. Returns null when it works, else why it does not. */
export function findSandboxProblem(): string | null {
  if (!existsSync(cli)) return 'its package is not installed'
  const folder = mkdtempSync(join(tmpdir(), 'rookery-sandbox-'))
  try {
    const outside = join(tmpdir(), `rookery-outside-${process.pid}`)
    const limits = { folder, temp: folder, cwd: folder, readable: [], relay: null, hidden: folder }
    const script = `echo in > ${folder}/in && ! (echo out > ${outside}) 2>/dev/null && echo works`
    const command = wrapInSandbox(['sh', '-c', script], limits, `${folder}.json`)
    const { stdout, stderr, status } = spawnSync(command[0] ?? '', command.slice(1), {
      env: { PATH: process.env.PATH ?? '', HOME: folder, TMPDIR: socketFolder },
      cwd: folder,
      encoding: 'utf8',
      timeout: 20_000,
    })
    rmSync(outside, { force: true })
    rmSync(`${folder}.json`, { force: true })
    if (status === 0 && stdout.trim() === 'works') return null
    return stderr.trim().split('\n').at(-1) || `it ended with ${status}`
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

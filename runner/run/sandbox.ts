import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { existsSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startGroup } from './processes.ts'

const packageFolder = fileURLToPath(
  new URL('../node_modules/@anthropic-ai/sandbox-runtime', import.meta.url),
)
const cli = join(packageFolder, 'dist/cli.js')

/** Whether the package that makes the sandbox is installed. */
export const hasSandboxPackage = (): boolean => existsSync(cli)

/** What a command may reach inside the sandbox. Everything else of the machine is closed. */
export interface SandboxLimits {
  /** The only folder that it may write. */
  folder: string
  /** Its home folder and its folder for temporary files, and where it starts; all inside the folder. */
  home: string
  temp: string
  cwd: string
  /** What it may read besides the folder and the system, e.g. the program itself. */
  readable: string[]
  /** The only address that it may connect to, as `host:port`; null: none. */
  relay: string | null
}

/**
 * What programs need of the system: its programs and libraries, and of `/etc` what says how to start them, names of
 * users and hosts, and public certificates.
 */
const systemPaths: Partial<Record<NodeJS.Platform, string[]>> = {
  linux: [
    '/usr',
    '/bin',
    '/sbin',
    '/lib',
    '/lib32',
    '/lib64',
    '/libx32',
    '/nix/store',
    '/etc/alternatives',
    '/etc/ld.so.cache',
    '/etc/ld.so.conf',
    '/etc/ld.so.conf.d',
    '/etc/passwd',
    '/etc/group',
    '/etc/nsswitch.conf',
    '/etc/hosts',
    '/etc/services',
    '/etc/protocols',
    '/etc/localtime',
    '/etc/timezone',
    '/etc/mime.types',
    '/etc/ssl/certs',
    '/etc/ssl/openssl.cnf',
    '/etc/pki/tls/certs',
    '/etc/pki/ca-trust',
    '/etc/ca-certificates',
    '/sys/devices/system/cpu',
    '/sys/fs/cgroup',
  ],
  darwin: [
    '/usr',
    '/bin',
    '/sbin',
    '/dev',
    '/System',
    '/Library/Apple',
    '/Library/Developer',
    '/Applications/Xcode.app',
    '/opt/homebrew',
    '/private/etc/hosts',
    '/private/etc/passwd',
    '/private/etc/localtime',
    '/private/etc/ssl',
    '/private/var/db/timezone',
    '/private/var/db/dyld',
    '/private/var/select',
  ],
}

/**
 * Starts a command inside the sandbox, in a process group of its own.
 *
 * The sandbox itself starts in a folder of its own, which is its home, too: its shell reads files of a home folder before
 * the sandbox is closed, and it covers names such as `.git/config` where it is started.
 *
 * @param settingsFile is written; must be outside of the folder that the command may write
 */
export function startInSandbox(
  command: string[],
  limits: SandboxLimits,
  { env, settingsFile }: { env: Record<string, string>; settingsFile: string },
): ChildProcessWithoutNullStreams {
  // A path of a socket has at most 107 characters.
  const own = mkdtempSync(join('/tmp', 'rookery-'))
  writeFileSync(settingsFile, JSON.stringify(toSettings(limits, own)), { mode: 0o600 })
  const folders = [`HOME=${limits.home}`, `TMPDIR=${limits.temp}`]
  const start = ['sh', '-c', 'cd "$0" && exec "$@"', limits.cwd]
  const inside = ['env', ...folders, 'NODE_USE_ENV_PROXY=1', ...start, ...command]
  const child = startGroup([process.execPath, cli, '--settings', settingsFile, '--', ...inside], {
    cwd: own,
    env: { ...env, HOME: own, TMPDIR: own },
  })
  child.once('close', () => rmSync(own, { recursive: true, force: true }))
  return child
}

function toSettings({ folder, readable, relay }: SandboxLimits, sockets: string) {
  const system = systemPaths[process.platform] ?? []
  const own = [process.execPath, packageFolder, ...readable, sockets, folder]
  return {
    network: {
      allowedDomains: relay === null ? [] : [relay],
      deniedDomains: [],
      strictAllowlist: true,
    },
    // The sandbox shares this folder of the machine with every program; no other rule closes it.
    credentials: { files: [{ path: join('/tmp', 'claude'), mode: 'deny' }] },
    filesystem: {
      // The root does not stand for the kernel's files.
      denyRead: ['/', '/sys'].filter(existsSync),
      allowRead: [...system, ...own].filter(existsSync).map(toEntry),
      allowWrite: [toEntry(folder)],
      denyWrite: [],
    },
  }
}

/** Names what is there, not a link to it. In it `*` and `[` are characters of a name. */
const toEntry = (path: string) => ({ path: realpathSync(path), literal: true })

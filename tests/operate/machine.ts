import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../scripts/local-state.mjs'
import { runCommand } from './operated-hub.ts'

/** A machine of its own that Debian's systemd has booted, with this machine's programs and a network of its own. */
export interface Machine {
  /** A folder of this machine that is /srv of the other one. */
  shared: string
  /** Runs a line in bash as root. Throws unless it exits with 0; returns what it printed. */
  run(line: string, options?: { directory?: string }): string
  /** Runs a line until it succeeds, for two minutes. */
  wait(line: string): string
  stop(): Promise<void>
}

/** Variables of npm and of the checkout are not those of an operator. */
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(npm_|ROOKERY_|VITEST|NODE_|CI$)/.test(name)),
)
const path = (process.env.PATH ?? '').split(':').filter((each) => !each.includes('node_modules'))

/** Boots a machine. It needs root, as an operator does. @param folder empty, for what belongs to it */
export async function bootMachine(folder: string): Promise<Machine> {
  const shared = join(folder, 'shared')
  mkdirSync(shared)
  const script = join(root, 'tests/operate/boot-machine.sh')
  const boot = spawn('unshare', ['--mount', 'bash', script, folder], { stdio: 'pipe' })
  let log = ''
  for (const stream of [boot.stdout, boot.stderr]) stream.on('data', (chunk) => (log += chunk))
  const pid = await waitForSystemd(boot, () => log)
  const inside = ['--target', String(pid), '--mount', '--pid', '--uts', '--ipc', '--cgroup']
  const args = [...inside, '--net', '--root', '--wdns=/', '/bin/bash', '-o', 'pipefail', '-c']
  const network = spawn(
    'slirp4netns',
    ['--configure', '--mtu=65520', '--exit-fd=0', String(pid), 'tap0'],
    { stdio: ['pipe', 'ignore', 'ignore'] },
  )
  const env = { ...environment, PATH: path.join(':'), HOME: '/root', LC_ALL: 'C.UTF-8' }
  const run: Machine['run'] = (line, { directory = '/' } = {}) => {
    const command = `cd ${directory} && ${line}`
    const options = { encoding: 'utf8', env, cwd: '/', maxBuffer: 2 ** 28 } as const
    const { status, error, stdout, stderr } = spawnSync('nsenter', [...args, command], options)
    if (status === 0) return stdout + stderr
    throw new Error(`${line}: ${error?.message ?? status}\n${stdout}${stderr}`.slice(-8_000))
  }
  const wait: Machine['wait'] = (line) =>
    run(`for n in $(seq 1200); do ! { ${line}; } 2>/dev/null || exit 0; sleep 0.1; done; ${line}`)
  wait('systemctl is-active basic.target')
  wait('ip route | grep default')
  return {
    shared,
    run,
    wait,
    async stop() {
      const ended = once(boot, 'exit')
      network.stdin?.end()
      boot.stdin.end()
      await ended
    },
  }
}

/** Returns the process that is the first one of the machine. */
async function waitForSystemd(boot: ChildProcess, log: () => string): Promise<number> {
  for (const until = Date.now() + 60_000; Date.now() < until; ) {
    if (boot.exitCode !== null) break
    const found = listDescendants(boot.pid ?? 0).find((pid) => {
      const status = readStatus(pid)
      return /^Name:\s*systemd$/m.test(status) && /^NSpid:.*\s1$/m.test(status)
    })
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`systemd does not boot. It needs root and overlayfs.\n${log()}`)
}

const readStatus = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/status`, 'utf8')
  } catch {
    return ''
  }
}

function listDescendants(pid: number): number[] {
  const own = readdirSync('/proc').filter((each) =>
    new RegExp(`^PPid:\\s*${pid}$`, 'm').test(/^\d+$/.test(each) ? readStatus(Number(each)) : ''),
  )
  return own.map(Number).flatMap((each) => [each, ...listDescendants(each)])
}

/** Where an operator clones from, with what is in this checkout now. */
export interface Origin {
  /** Adds a commit, as a new version does. */
  release(): void
}

/** Makes /srv/origin.git of a machine what the page's address is. */
export function makeOrigin({ shared, run }: Machine): Origin {
  const origin = join(shared, 'origin.git')
  const index = join(shared, 'index')
  const git = (...args: string[]) => {
    const names = { GIT_AUTHOR_NAME: 'Test', GIT_AUTHOR_EMAIL: 'test@example.com' }
    const by = { GIT_COMMITTER_NAME: 'Test', GIT_COMMITTER_EMAIL: 'test@example.com' }
    return runCommand('git', args, { GIT_INDEX_FILE: index, ...names, ...by }).trim()
  }
  runCommand('git', ['init', '--quiet', '--bare', '--initial-branch=main', origin])
  const within = ['--git-dir', origin, '--work-tree', root]
  // Files that are not committed yet are part of it.
  git(...within, 'add', '--all')
  const tree = git(...within, 'write-tree')
  const commit = (...parents: string[]) => {
    const made = git(...within, 'commit-tree', tree, ...parents, '-m', 'A version')
    git(...within, 'update-ref', 'refs/heads/main', made)
    return made
  }
  const first = commit()
  run('git config --system url./srv/origin.git.insteadOf https://github.com/example/rookery')
  run('git config --system --add safe.directory "*"')
  return { release: () => void commit('-p', first) }
}

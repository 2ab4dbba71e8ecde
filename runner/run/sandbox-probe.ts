// Runs inside the sandbox at the start of a runner: tries what a program must not reach, and prints what it reached.
// Its argument says where the bait lies.
import { spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import {
  closeSync,
  constants,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { connect, type NetConnectOpts } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'

/** What the runner has put outside of the sandbox. */
export interface Bait {
  /** Inside: the only folder that may be written. */
  folder: string
  /** Files that must not be read. */
  secrets: string[]
  /** Files that must not come into being; the runner looks for them. */
  written: string[]
  /** Stands in arguments and environment of a process of the machine. */
  mark: string
  /** The only address that may be reached, and one that listens, too. */
  relay: string
  other: string
  /** Sockets of the machine, as its services have. */
  sockets: string[]
}

const bait: Bait = JSON.parse(process.argv.at(-1) ?? '{}')
const patienceMs = 10_000

/** What must fail. Those that fail throw, or return nothing. */
const attempts: Record<string, () => unknown> = {
  'read files outside of its folder': () => bait.secrets.find(canRead),
  'change settings of the kernel': () => findWritable('/proc/sys') ?? findWritable('/sys'),
  'use the controls of the kernel': () =>
    ['/proc/sysrq-trigger', '/proc/kcore', '/dev/mem'].find((path) => canOpen(path)),
  'see processes of the machine': () => listProcesses().find((pid) => hasMark(pid)),
  'reach the terminal of the runner': () => closeSync(openSync('/dev/tty', 'r+')) ?? true,
  'use files that the runner has open': findOpenFile,
  'connect to other addresses': () => dial({ host: hostOf(bait.other), port: portOf(bait.other) }),
  'reach other addresses through the proxy': async () => (await ask(bait.other)) === 200,
  'send to other hosts': () => sendDatagram(),
  'use interfaces of the network': () =>
    Object.values(networkInterfaces())
      .flat()
      .find((each) => each?.internal === false),
  'connect to sockets of other programs': async () => {
    for (const path of bait.sockets) if (await dial({ path }).catch(() => false)) return path
    return undefined
  },
  'make namespaces of its own': () => run('unshare', '--user', 'true'),
  'mount file systems': () => run('mount', '-t', 'tmpfs', 'none', bait.folder),
  'keep capabilities': () => !/^CapEff:\s*0+$/m.test(readStatus()),
  'gain privileges': () => !/^NoNewPrivs:\s*1$/m.test(readStatus()),
  'make any system call': () => !/^Seccomp:\s*2$/m.test(readStatus()),
}
/** There is no `/proc` elsewhere. */
const onlyLinux = ['keep capabilities', 'gain privileges', 'make any system call']

/** What must work. */
const needs: Record<string, () => unknown> = {
  'cannot write in its folder': () => writeFileSync(join(bait.folder, 'written'), 'in'),
  'cannot reach its relay': async () => {
    if ((await ask(bait.relay)) !== 200) throw new Error('refused')
  },
  'cannot run git': () => {
    if (!run('git', '--version')) throw new Error('failed')
  },
}

/** Returns what could be reached, and what could not be used. */
async function probe(): Promise<string[]> {
  const problems: string[] = []
  for (const [name, attempt] of Object.entries(attempts)) {
    if (process.platform !== 'linux' && onlyLinux.includes(name)) continue
    const reached = await succeeds(attempt)
    if (reached) problems.push(`can ${name}${typeof reached === 'string' ? ` (${reached})` : ''}`)
  }
  for (const [name, need] of Object.entries(needs)) {
    if ((await succeeds(async () => [await need()])) === undefined) problems.push(name)
  }
  for (const path of bait.written) await succeeds(() => writeFileSync(path, 'out'))
  return problems
}

/** Returns what an attempt returned; undefined when it failed. */
async function succeeds(attempt: () => unknown): Promise<unknown> {
  try {
    return await attempt()
  } catch {
    return undefined
  }
}

/** Returns the first file below a folder that opens for writing, but for those that are everybody's. */
function findWritable(folder: string): string | undefined {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    const found = entry.isDirectory() ? findBelow(path) : undefined
    if (found) return found
    const isPrivate = entry.isFile() && (statSync(path).mode & 0o002) === 0
    if (isPrivate && canOpen(path)) return path
  }
  return undefined
}

function findBelow(folder: string): string | undefined {
  try {
    return findWritable(folder)
  } catch {
    return undefined
  }
}

const canRead = (path: string): boolean => canOpen(path, constants.O_RDONLY)

function canOpen(path: string, mode = constants.O_WRONLY): boolean {
  try {
    closeSync(openSync(path, mode | constants.O_NONBLOCK))
    return true
  } catch {
    return false
  }
}

const listProcesses = (): string[] => readdirSync('/proc').filter((name) => /^\d+$/.test(name))

const hasMark = (pid: string): boolean =>
  Number(pid) !== process.pid &&
  ['cmdline', 'environ'].some((file) => {
    try {
      const text = readFileSync(`/proc/${pid}/${file}`, 'utf8')
      // Its own parents have the bait as an argument.
      return text.includes(bait.mark) && !text.includes('"mark"')
    } catch {
      return false
    }
  })

/** Returns a file or socket that a started process inherits. */
function findOpenFile(): string | undefined {
  const { stdout } = spawnSync('sh', ['-c', 'ls -l /proc/self/fd'], { encoding: 'utf8' })
  const targets = [...stdout.matchAll(/ (\d+) -> (.*)/g)]
  return targets.find(
    ([, fd, target = '']) => Number(fd) > 2 && !/^(pipe:|\/proc\/|\/dev\/null$)/.test(target),
  )?.[2]
}

const hostOf = (url: string): string => new URL(url).hostname
const portOf = (url: string): number => Number(new URL(url).port)

const dial = (to: NetConnectOpts): Promise<true> =>
  new Promise((resolve, reject) => {
    const socket = connect(to, () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', reject)
    socket.setTimeout(patienceMs, () => socket.destroy(new Error('timeout')))
  })

async function ask(url: string): Promise<number> {
  const response = await fetch(url, { signal: AbortSignal.timeout(patienceMs) })
  await response.text()
  return response.status
}

/** To an address that is nobody's (RFC 5737). Without a route it fails at once. */
const sendDatagram = (): Promise<true> =>
  new Promise((resolve, reject) => {
    const socket = createSocket('udp4')
    socket.send('bait', 9, '192.0.2.1', (error) => {
      socket.close()
      if (error) reject(error)
      else resolve(true)
    })
  })

const run = (name: string, ...args: string[]): boolean =>
  spawnSync(name, args, { stdio: 'ignore', timeout: patienceMs }).status === 0

const readStatus = (): string => readFileSync('/proc/self/status', 'utf8')

process.stdout.write(JSON.stringify(await probe()))

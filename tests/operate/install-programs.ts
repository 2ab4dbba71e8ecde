import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'

/** Commands that the tests run, the package of Debian that has each, and what prints its version. */
const programs = [
  { command: 'caddy', package: 'caddy', version: ['version'] },
  { command: 'nginx', package: 'nginx', version: ['-v'] },
  { command: 'prometheus', package: 'prometheus', version: ['--version'] },
  { command: 'promtool', package: 'prometheus', version: ['--version'] },
  { command: 'openssl', package: 'openssl', version: ['version'] },
  { command: 'systemd-analyze', package: 'systemd', version: ['--version'] },
  { command: 'bwrap', package: 'bubblewrap', version: ['--version'] },
  { command: 'mmdebstrap', package: 'mmdebstrap', version: ['--version'] },
  { command: 'exim4', package: 'exim4-daemon-light', version: ['--version'] },
  { command: 'podman', package: 'podman', version: ['--version'] },
  { command: 'docker-compose', package: 'docker-compose', version: ['--version'] },
  { command: 'slirp4netns', package: 'slirp4netns', version: ['--version'] },
  { command: 'ip', package: 'iproute2', version: ['-V'] },
  { command: 'curl', package: 'curl', version: ['--version'] },
] as const

/** Debian's own, which has Debian's libraries. */
export const python = '/usr/bin/python3'
const libraries = ['-c', 'import feedparser; print("python3-feedparser", feedparser.__version__)']

const run = (command: string, args: readonly string[]) =>
  spawnSync(command, args, { encoding: 'utf8' })

/** Installs the programs that are missing, without starting a service of theirs, and prints all versions. */
export default function setup(): void {
  const missing = programs.filter(({ command, version }) => run(command, version).error)
  const packages = new Set<string>(missing.map((each) => each.package))
  if (run(python, libraries).status !== 0) {
    packages.add('python3-feedparser')
  }
  if (packages.size > 0) install([...packages])
  for (const { command, version } of programs) {
    const { stdout, stderr } = run(command, version)
    console.log(`${command}: ${(stdout || stderr).split('\n')[0]}`)
  }
  console.log(run(python, libraries).stdout.trim())
}

const policy = '/usr/sbin/policy-rc.d'

function install(packages: string[]): void {
  const isRoot = process.getuid?.() === 0
  const as = (command: string, ...args: string[]) => {
    const [first = '', ...rest] = isRoot ? [command, ...args] : ['sudo', command, ...args]
    const { status, stdout, stderr } = spawnSync(first, rest, {
      encoding: 'utf8',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
    if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stdout}${stderr}`)
  }
  // Debian starts a service when it is installed, unless this says that none may start.
  const isOurs = isRoot && !existsSync(policy)
  if (isOurs) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    as('apt-get', 'update', '-qq')
    const wait = ['-o', 'DPkg::Lock::Timeout=300']
    as('apt-get', ...wait, 'install', '-y', '-qq', '--no-install-recommends', ...packages)
  } finally {
    if (isOurs) rmSync(policy)
  }
}

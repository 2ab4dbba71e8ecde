import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, openSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildWorker } from '../../scripts/build-worker.mjs'
import { root } from '../../scripts/local-state.mjs'
import { python } from './install-programs.ts'
import { findFreePort, isOpen, makeFolder, readDeployFile, runCommand } from './operated-hub.ts'

const { folder, remove } = makeFolder()
afterAll(remove)
beforeAll(async () => {
  // As an operator does with `npm run build`.
  await buildWorker()
})

const checkout = root.replace(/\/$/, '')
const names = ['rookery.service', 'rookery-backup.service', 'rookery-backup.timer']
/** The units, with this checkout in place of the operator's. */
const readUnit = (name: string): string => readDeployFile(name).replaceAll('/opt/rookery', checkout)
const valuesOf = (unit: string, key: string): string[] =>
  readUnit(unit)
    .split('\n')
    .flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []))

test('O7: the units are valid, and their sandboxes leave little exposed', () => {
  const units = join(folder, 'units')
  mkdirSync(units)
  for (const name of names) writeFileSync(join(units, name), readUnit(name))
  const paths = names.map((name) => join(units, name))
  expect(runCommand('systemd-analyze', ['verify', ...paths])).toBe('')
  // In tenths of ten: below 2 systemd says OK.
  for (const [unit, threshold] of Object.entries({ rookery: 15, 'rookery-backup': 20 })) {
    const args = ['security', '--offline=true', `--threshold=${threshold}`]
    const report = runCommand('systemd-analyze', [...args, join(units, `${unit}.service`)])
    console.log(report.trim().split('\n').at(-1))
  }
  const [schedule = ''] = valuesOf('rookery-backup.timer', 'OnCalendar')
  expect(runCommand('systemd-analyze', ['calendar', schedule])).toContain('Next elapse')
})

/**
 * Starts a command of a unit as the unit does: its environment, no capability, its filter of system calls, everything
 * read-only but its state directory. systemd itself runs nothing on a machine that did not start with it.
 */
function startAs(unit: string, command: string, port: number, backups: string) {
  const filter = join(folder, `${unit}.filter`)
  const filterLines = valuesOf(unit, 'SystemCallFilter')
  expect(filterLines.length).toBeGreaterThan(0)
  runCommand(python, [join(checkout, 'tests/operate/write-filter.py'), filter, ...filterLines])
  const environment = valuesOf(unit, 'Environment').flatMap((line) => line.split(' '))
  const state = join(folder, 'state')
  mkdirSync(state, { recursive: true })
  mkdirSync(backups, { recursive: true })
  const args = [
    ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--uid', '1000', '--gid', '1000'],
    ...['--cap-drop', 'ALL', '--new-session', '--die-with-parent', '--seccomp', '3'],
    ...['--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', '--tmpfs', '/tmp'],
    ...['--tmpfs', '/var', '--bind', state, '/var/lib/rookery'],
    ...['--bind', backups, '/var/backups/rookery'],
    ...['--ro-bind', checkout, checkout, '--chdir', checkout],
    // as systemd reads it: $$ and %% are one character
    ...['/bin/sh', '-c', `exec ${command.replaceAll('$$', '$').replaceAll('%%', '%')}`],
  ]
  const child = spawn('bwrap', args, {
    env: {
      PATH: '/usr/bin:/bin',
      PORT: String(port),
      ...Object.fromEntries(environment.map((pair) => pair.split('=') as [string, string])),
    },
    stdio: ['ignore', 'pipe', 'pipe', openSync(filter, 'r')],
  })
  let log = ''
  child.stdout?.on('data', (chunk) => (log += chunk))
  child.stderr?.on('data', (chunk) => (log += chunk))
  return { child, log: () => log, state }
}

/** Returns the processes that a process started, and theirs. */
function listDescendants(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  const own = children.split(' ').filter(Boolean).map(Number)
  return own.flatMap((each) => [each, ...listDescendants(each)])
}

test('O7: the hub starts, is copied and stops in the sandbox of its unit', async () => {
  const port = await findFreePort()
  const backups = join(folder, 'backups')
  const [start = ''] = valuesOf('rookery.service', 'ExecStart')
  const hub = startAs('rookery.service', start, port, backups)
  try {
    await expect
      .poll(async () => {
        if (hub.child.exitCode !== null) throw new Error(hub.log())
        return (await isOpen(port)) && (await fetch(`http://127.0.0.1:${port}/readyz`)).status
      })
      .toBe(200)
    const old = join(backups, '2020-01-01T03-30-00Z')
    mkdirSync(old)
    const longAgo = new Date('2020-01-01')
    utimesSync(old, longAgo, longAgo)
    for (const key of ['ExecStart', 'ExecStartPost']) {
      const [command = ''] = valuesOf('rookery-backup.service', key)
      // The hub that runs says where it is, to the one machine that both units are on.
      const env = { ROOKERY_URL: `http://127.0.0.1:${port}` }
      const adminKey = readFileSync(join(hub.state, 'admin-key'), 'utf8').trim()
      const given = `env ROOKERY_URL=${env.ROOKERY_URL} ROOKERY_ADMIN_KEY=${adminKey} ${command}`
      const copy = startAs('rookery-backup.service', given, port, backups)
      const [code] = await once(copy.child, 'exit')
      expect([code, copy.log()]).toEqual([0, expect.any(String)])
      const kept = readdirSync(backups).sort()
      // The old copy goes after the new one is there.
      expect(kept).toHaveLength(key === 'ExecStart' ? 2 : 1)
      expect(readdirSync(join(backups, kept.at(-1) ?? ''))).toContain('manifest.json')
    }
    // As systemd with KillMode=mixed: the main process alone is asked.
    const node = listDescendants(hub.child.pid ?? 0).find((pid) =>
      /^[^\0]*\/node\0.*scripts\/start\.mjs/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8')),
    )
    const ended = once(hub.child, 'exit')
    process.kill(node ?? 0, 'SIGTERM')
    expect((await ended)[0]).toBe(0)
    expect(await isOpen(port)).toBe(false)
  } finally {
    hub.child.kill('SIGKILL')
  }
})

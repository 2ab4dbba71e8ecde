import { spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { root } from '../../scripts/local-state.mjs'
import { makeFolder, readDeployFile, runCommand } from './operated-hub.ts'

/**
 * Builds the image on a base of Debian's packages with this machine's Node, as the published base has one. A machine
 * that tests run on may not start containers, so bubblewrap starts the file system that was built, with the image's own
 * command, user, environment and health check.
 */
const { folder, remove } = makeFolder()
afterAll(() => {
  runCommand('podman', [...store, 'system', 'reset', '--force'])
  remove()
})

const store = ['--root', join(folder, 'images'), '--runroot', join(folder, 'run')]
const podman = (...args: string[]) => runCommand('podman', [...store, ...args])

/** Imports a base image: a minimal Debian, and Node with npm in /usr/local. */
function makeBase(): void {
  const base = join(folder, 'base')
  runCommand('mmdebstrap', ['--variant=minbase', '--include=ca-certificates', 'bookworm', base])
  const local = join(base, 'usr/local')
  copyFileSync(process.execPath, join(local, 'bin/node'))
  const npm = dirname(dirname(process.env.npm_execpath ?? ''))
  cpSync(npm, join(local, 'lib/npm'), { recursive: true })
  symlinkSync('../lib/npm/bin/npm-cli.js', join(local, 'bin/npm'))
  const archive = join(folder, 'base.tar')
  runCommand('tar', ['-c', '-f', archive, '--exclude=./dev/*', '-C', base, '.'])
  podman('import', archive, 'rookery-base')
}

/** This machine's settings and cache of npm, for the build alone. */
function listNpmVolumes(): string[] {
  const get = (name: string) => runCommand('npm', ['config', 'get', name]).trim()
  const settings = join(folder, 'npmrc')
  const authority = get('cafile')
  const hasOwn = existsSync(authority)
  const lines = [`registry=${get('registry')}`, 'prefer-offline=true']
  if (hasOwn) lines.push('cafile=/etc/ssl/npm-authority.crt')
  writeFileSync(settings, `${lines.join('\n')}\n`)
  const cache = join(homedir(), '.npm')
  mkdirSync(cache, { recursive: true })
  return [
    '--volume',
    `${settings}:/root/.npmrc:ro`,
    '--volume',
    `${cache}:/root/.npm`,
    ...(hasOwn ? ['--volume', `${authority}:/etc/ssl/npm-authority.crt:ro`] : []),
  ]
}

interface ImageConfig {
  Config: { User: string; Env: string[]; Cmd: string[]; WorkingDir: string; Volumes: object }
  Healthcheck: { Test: string[] }
}

test('O7: the image is built, and its file system starts by its command and passes its health check', {
  timeout: 1_200_000,
}, () => {
  console.log(podman('--version').trim())
  makeBase()
  const from = ['--build-arg', 'BASE=localhost/rookery-base:latest', '--network', 'host']
  const how = ['--isolation=chroot', '--layers=false', '--format', 'docker', ...listNpmVolumes()]
  const file = join(root, 'deploy/Dockerfile')
  const files = ['-f', file, '--ignorefile', `${file}.dockerignore`]
  const log = podman('build', ...how, ...from, ...files, '-t', 'rookery', root)
  console.log(log.slice(-2_000))
  const [image] = JSON.parse(podman('image', 'inspect', 'rookery')) as ImageConfig[]
  if (!image) throw new Error('There is no image.')
  const {
    User: user,
    Env: env,
    Cmd: command,
    WorkingDir: directory,
    Volumes: volumes,
  } = image.Config
  const [uid = '', gid = ''] = user.split(':')
  expect(Number(uid)).toBeGreaterThan(0)
  expect(Object.keys(volumes)).toEqual(['/var/lib/rookery'])
  const [kind, ...check] = image.Healthcheck.Test
  expect(kind).toBe('CMD')
  const tree = podman('image', 'mount', 'rookery').trim()
  const state = join(folder, 'state')
  mkdirSync(state)
  // Starts it, waits until it is healthy, stops it as a container is stopped, and returns how it ended.
  const script = `node_modules/.bin/node -e '${runToHealth}' "$@"`
  const result = spawnSync(
    'bwrap',
    [
      '--unshare-user',
      '--unshare-pid',
      '--unshare-ipc',
      '--unshare-net',
      '--uid',
      uid,
      '--gid',
      gid,
      '--cap-drop',
      'ALL',
      '--new-session',
      '--die-with-parent',
      '--ro-bind',
      tree,
      '/',
      '--dev',
      '/dev',
      '--proc',
      '/proc',
      '--tmpfs',
      '/tmp',
      '--bind',
      state,
      '/var/lib/rookery',
      '--chdir',
      directory,
      '--clearenv',
      ...env.flatMap((pair) => ['--setenv', ...split(pair)]),
      '/bin/sh',
      '-c',
      script,
      'sh',
      JSON.stringify(command),
      JSON.stringify(check),
    ],
    { encoding: 'utf8', timeout: 240_000 },
  )
  const output = result.stdout + result.stderr
  expect([result.status, output]).toEqual([0, expect.stringMatching(/healthy[\s\S]*ended with 0/)])
})

const split = (pair: string): [string, string] => {
  const at = pair.indexOf('=')
  return [pair.slice(0, at), pair.slice(at + 1)]
}

/** A script without single quotes, for Node in the image. */
const runToHealth = `
const { spawn, spawnSync } = require("node:child_process")
const [command, check] = process.argv.slice(1).map((text) => JSON.parse(text))
const hub = spawn(command[0], command.slice(1), { stdio: "inherit" })
hub.on("exit", (code) => {
  console.log("ended with " + code)
  process.exit(code ?? 1)
})
const look = () => {
  const { status } = spawnSync(check[0], check.slice(1))
  if (status !== 0) return setTimeout(look, 500)
  console.log("healthy")
  // It also says how to sign in.
  setTimeout(() => hub.kill("SIGTERM"), 5_000)
}
look()
`

test('O7: compose runs the image with a volume, without rights, and the proxy before it', () => {
  const { services, volumes } = parse(readDeployFile('compose.yaml'))
  const { hub, proxy } = services
  expect(existsSync(join(root, 'deploy', hub.build.context, hub.build.dockerfile))).toBe(true)
  expect(hub).toMatchObject({ read_only: true, cap_drop: ['ALL'], restart: 'unless-stopped' })
  expect(hub.user).toBeUndefined()
  for (const each of [...hub.volumes, ...proxy.volumes] as string[]) {
    const [source = ''] = each.split(':')
    const isThere = source.startsWith('./')
      ? existsSync(join(root, 'deploy', source))
      : source in volumes
    expect(isThere, each).toBe(true)
  }
  // The hub listens on the loopback address alone, which the proxy shares.
  expect(proxy.network_mode).toBe('service:hub')
  expect(hub.ports.join()).not.toContain('8787')
})

import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { root } from '../../scripts/local-state.mjs'
import { bootMachine, type Machine, makeOrigin, type Origin } from './machine.ts'
import { hubName, makeCertificate, makeFolder, readDeployFile, replace } from './operated-hub.ts'
import { type PageCommand, readCommands } from './page.ts'

/*
 * Every command of docs/operating.md, in the order of the page, on a machine that systemd has booted: what it installs,
 * starts, copies and upgrades is what an operator has.
 */

const { folder, remove } = makeFolder()
let machine: Machine
let origin: Origin

beforeAll(async () => {
  machine = await bootMachine(folder)
  origin = makeOrigin(machine)
})
afterAll(async () => {
  await machine?.stop()
  remove()
})

const run = (line: string, directory = '/opt/rookery') => machine.run(line, { directory })

const isReady = (port = 8787) =>
  machine.wait(`curl -fsS -o /dev/null http://127.0.0.1:${port}/readyz`)
const listCopies = () => run('ls /var/backups/rookery').trim().split('\n')

/** Asks the hub for its health through the proxy of the machine. */
function askProxy() {
  const to = `--cacert /srv/ca.pem --resolve ${hubName}:443:127.0.0.1 https://${hubName}/healthz`
  return run(`curl -fsS -o /dev/null -w '%{http_code}' --retry 20 --retry-all-errors ${to}`)
}

interface Step {
  /** As the page has it. */
  command: string
  /** What the page leaves to its reader, in the place of what stands there. */
  given?: Record<string, string>
  /** What comes before it on the page in words. */
  before?(): void
  /** Runs the command in another way than as it stands. */
  act?(line: string): string
  check?(output: string): void
}

/** A command that this machine cannot run, or that the page only names: why, and what is checked in its place. */
interface Standing {
  command: string
  why: string
  check(): void
}

const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const isScript = (name: string) => () => expect(scripts).toHaveProperty([name])

/** What stands in for compose: Debian has version 1, and container.operate.ts builds the image and starts it. */
const compose = 'docker compose -f deploy/compose.yaml'
const inCompose = (command: string, check: () => void): Standing => ({
  command: `${compose} ${command}`,
  why: 'Debian packages no version 2 of compose, and no daemon of containers runs here.',
  check() {
    const services = run('docker-compose -f deploy/compose.yaml config --services')
    expect(services.trim().split('\n').sort()).toEqual(['hub', 'proxy'])
    check()
  },
})

const steps: (Step | Standing)[] = [
  {
    command: 'npm start',
    why: 'It is what the unit starts, below.',
    check: () => expect(readDeployFile('rookery.service')).toContain('scripts/start.mjs'),
  },
  {
    command: 'npm run test:operate',
    why: 'It is this.',
    check: isScript('test:operate'),
  },
  {
    command: 'git clone https://github.com/<owner>/rookery /opt/rookery && cd /opt/rookery',
    given: { '<owner>': 'example' },
    act: (line) => run(line, '/'),
  },
  { command: 'npm ci --omit=dev && npm run build' },
  { command: 'useradd --system --home /var/lib/rookery rookery' },
  {
    command: 'install -d -m 700 /etc/rookery && install -m 600 deploy/env.example /etc/rookery/env',
    check: () => expect(run('stat -c "%a %U" /etc/rookery/env')).toBe('600 root\n'),
  },
  {
    command: 'install -d -m 700 -o rookery /var/backups/rookery',
    check: () => expect(run('stat -c "%a %U" /var/backups/rookery')).toBe('700 rookery\n'),
  },
  {
    command:
      'cp deploy/rookery.service deploy/rookery-backup.service deploy/rookery-backup.timer /etc/systemd/system/',
    check: () => expect(run('systemd-analyze verify /etc/systemd/system/rookery*')).toBe(''),
  },
  {
    command: 'systemctl daemon-reload && systemctl enable --now rookery rookery-backup.timer',
    check() {
      isReady()
      expect(run('systemctl is-active rookery rookery-backup.timer')).toBe('active\nactive\n')
      expect(run('systemctl is-enabled rookery rookery-backup.timer')).toBe('enabled\nenabled\n')
      expect(run('systemctl list-timers')).toContain('rookery-backup.timer')
    },
  },
  {
    command: 'journalctl -u rookery',
    act: (line) => {
      machine.wait(`${line} | grep -q Sign`)
      return run(line)
    },
    check: (log) => expect(log).toContain(`Sign in    https://${hubName}/`),
  },
  {
    command: 'npm start',
    why: 'The page names it to say what is different.',
    check: isScript('start'),
  },
  { command: 'cp deploy/env.example deploy/env' },
  inCompose('up -d --build --wait', () => {
    const config = run('docker-compose -f deploy/compose.yaml config')
    expect(config).toContain('condition: service_healthy')
    expect(config).toContain(`ROOKERY_ORIGIN: https://${hubName}`)
  }),
  inCompose('logs hub', () => {}),
  inCompose(
    'exec hub node_modules/.bin/node scripts/backup.mjs /var/lib/rookery/backups/<date>',
    // The image has the checkout as its directory.
    () => void run('ls node_modules/.bin/node scripts/backup.mjs'),
  ),
  {
    command: 'git pull',
    why: 'It is part of an upgrade, below.',
    check: () => expect(run('git rev-parse --abbrev-ref main@{upstream}')).toBe('origin/main\n'),
  },
  { command: 'apt-get install caddy' },
  {
    command: 'systemctl reload caddy',
    before() {
      const site = `${hubName} {\n\ttls /srv/hub.pem /srv/hub.key`
      const file = replace(readDeployFile('Caddyfile'), `${hubName} {`, site)
      writeFileSync(join(machine.shared, 'Caddyfile'), file)
      // As Debian does when it installs it.
      run('systemctl start caddy')
      run('cp /srv/Caddyfile /etc/caddy/')
    },
    check() {
      expect(askProxy()).toBe('200')
      run('systemctl stop caddy')
    },
  },
  { command: 'apt-get install nginx' },
  {
    command: 'nginx -t && systemctl reload nginx',
    before() {
      const live = `/etc/letsencrypt/live/${hubName}`
      let file = replace(readDeployFile('nginx.conf'), `${live}/fullchain.pem`, '/srv/hub.pem')
      file = replace(file, `${live}/privkey.pem`, '/srv/hub.key')
      writeFileSync(join(machine.shared, 'nginx.conf'), file)
      run('systemctl start nginx')
      run('cp /srv/nginx.conf /etc/nginx/sites-enabled/rookery')
    },
    check: () => expect(askProxy()).toBe('200'),
  },
  {
    command: 'systemctl start rookery-backup',
    before: () =>
      run(
        'install -d -o rookery /var/backups/rookery/old && touch -d 2020-01-01 /var/backups/rookery/old',
      ),
    check() {
      const [copy, ...others] = listCopies()
      // The old copy goes after the new one is there.
      expect(others).toEqual([])
      run(`test -s /var/backups/rookery/${copy}/manifest.json`)
    },
  },
  {
    command: 'systemctl start rookery-backup && cd /opt/rookery && git pull',
    before: () => origin.release(),
    check(output) {
      expect(output).toContain('Fast-forward')
      expect(listCopies()).toHaveLength(2)
    },
  },
  {
    command: 'npm ci --omit=dev && npm run build && systemctl restart rookery',
    check: () => isReady(),
  },
  {
    command: 'ROOKERY_STATE_DIR=/var/lib/rookery npm run doctor',
    check: (output) => expect(output).not.toMatch(/^FAILED/m),
  },
  ...['tailscale serve 8787', 'tailscale funnel'].map((command) => ({
    command,
    why: 'Debian does not package it, and it needs an account.',
    // What it passes requests to.
    check: () => isReady(8787),
  })),
  {
    command:
      '--upstream=http://127.0.0.1:8787 --pass-basic-auth=false --skip-auth-route=^/api/ --skip-auth-route=^/mcp',
    why: 'Debian does not package oauth2-proxy.',
    check() {
      const skipped = ['^/api/', '^/mcp'].map((pattern) => new RegExp(pattern))
      const isSkipped = (path: string) => skipped.some((pattern) => pattern.test(path))
      // What passes without the gateway's sign-in needs a key of the hub.
      for (const [path, how] of [
        ['/api/v1/home', ''],
        ['/mcp', `-H 'content-type: application/json' -d '{}'`],
      ] as const) {
        expect(isSkipped(path), path).toBe(true)
        const ask = `curl -sS -o /dev/null -w '%{http_code}' -H 'Host: ${hubName}' ${how}`
        expect(run(`${ask} http://127.0.0.1:8787${path}`), path).toBe('401')
      }
      expect(isSkipped('/settings')).toBe(false)
    },
  },
  { command: 'npm run backup', why: 'Its unit runs it, above.', check: isScript('backup') },
  ...['wrangler d1 time-travel', 'wrangler d1 export'].map((command) => ({
    command,
    why: 'It needs an account at Cloudflare.',
    check: () =>
      expect(run(`PATH="$PWD/node_modules/.bin:$PATH" ${command} --help`)).toContain(command),
  })),
]

/** What the page links to for a restore, with the newest copy. */
const restore: (Step | Standing)[] = [
  {
    command: 'npm run restore -- <folder>',
    why: 'It is the next one with a folder.',
    check: isScript('restore'),
  },
  {
    command: 'ROOKERY_STATE_DIR=new-folder npm run restore -- backups/2026-11-23',
    before: () => run('systemctl stop rookery'),
    given: {
      'new-folder': '/tmp/new',
      'backups/2026-11-23': '/var/backups/rookery/$(ls /var/backups/rookery | tail -n 1)',
    },
  },
  {
    command: 'cp vault-key new-folder/',
    given: { 'vault-key': '/var/lib/rookery/vault-key', 'new-folder': '/tmp/new' },
  },
  {
    command: 'ROOKERY_STATE_DIR=new-folder npm start',
    given: { 'new-folder': '/tmp/new' },
    act: (line) =>
      run(
        `systemd-run --same-dir --setenv=PORT=8788 --setenv=PATH="$PATH" --setenv=HOME=/root bash -c '${line}'`,
      ),
    check: () => isReady(8788),
  },
]

const commands: PageCommand[] = [
  ...readCommands('operating.md'),
  ...readCommands('upgrading.md').filter(({ section }) => section === 'Restore a backup'),
]

test('O7: each command of the page is run, or is in the list of those that cannot be', () => {
  expect([...steps, ...restore].map(({ command }) => command)).toEqual(
    commands.map(({ text }) => text),
  )
})

test('O7: the commands of the page do on a machine with systemd what the page says', {
  timeout: 1_200_000,
}, () => {
  const { certificatePath, keyPath } = makeCertificate(folder)
  for (const [from, name] of [
    [certificatePath, 'hub.pem'],
    [keyPath, 'hub.key'],
    [join(folder, 'ca.pem'), 'ca.pem'],
  ] as const) {
    copyFileSync(from, join(machine.shared, name))
  }
  run('chmod 644 /srv/*.pem /srv/*.key', '/')
  for (const step of [...steps, ...restore]) {
    const started = Date.now()
    if ('why' in step) step.check()
    else runStep(step)
    console.log(`${step.command}: ${Date.now() - started} ms`)
  }
})

test('O7: the hub runs in its sandbox, is started again when it is killed, and stops by itself', () => {
  run('systemctl start rookery')
  isReady()
  const show = (name: string) => run(`systemctl show --value --property=${name} rookery`).trim()
  const pid = show('MainPID')
  const status = run(`cat /proc/${pid}/status`)
  expect(status).toMatch(/^CapBnd:\s+0+$/m)
  expect(status).toMatch(/^NoNewPrivs:\s+1$/m)
  // filters system calls
  expect(status).toMatch(/^Seccomp:\s+2$/m)
  expect(run('stat -c "%a %U" /var/lib/rookery')).toBe('700 rookery\n')
  const within = `nsenter --target ${pid} --mount --setuid=$(id -u rookery)`
  for (const path of ['/opt/rookery', '/etc', '/var/backups']) {
    expect(() => run(`${within} touch ${path}/x`), path).toThrow('Read-only file system')
  }
  run(`kill -KILL ${pid}`)
  machine.wait(`[ "$(systemctl show --value --property=MainPID rookery)" -gt 0 ]`)
  expect(show('MainPID')).not.toBe(pid)
  isReady()
  run('systemctl stop rookery')
  expect(show('Result')).toBe('success')
})

function runStep({ command, given = {}, before, act = run, check }: Step): void {
  let line = command
  for (const [part, value] of Object.entries(given)) line = replace(line, part, value)
  before?.()
  const output = act(line)
  check?.(output)
}

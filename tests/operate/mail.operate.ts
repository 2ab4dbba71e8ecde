import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Hub, HubOptions } from '../../scripts/hub-runtime.mjs'

/*
 * Mail of a whole hub to Debian's exim4 (package exim4-daemon-light): TLS, STARTTLS and a login, with certificates of
 * an own authority. exim changes its user, so this runs as root.
 */

const folder = mkdtempSync(join(tmpdir(), 'rookery-mail-'))
const path = (name: string) => join(folder, name)
const login = { user: 'rook', password: 'a pass/word:of@exim' }

interface Exim {
  /** Ports with TLS from the first byte and with STARTTLS. */
  tls: number
  starttls: number
  /** What was delivered, whole. */
  readMail(): string
  process: ChildProcess
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  if (address === null || typeof address === 'string') throw new Error('The server has no port.')
  return address.port
}

/** Makes an authority and a certificate of it for `localhost`. */
function makeCertificate(name: string): void {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  const files = (kind: string) => ['-keyout', path(`${kind}.key`), '-out', path(`${kind}.pem`)]
  openssl('req', '-x509', ...key, ...files(`${name}-ca`), '-subj', `/CN=Authority ${name}`)
  const request = path(`${name}.csr`)
  openssl(
    'req',
    ...key.slice(0, -2),
    '-keyout',
    path(`${name}.key`),
    '-out',
    request,
    '-subj',
    '/CN=mail',
  )
  writeFileSync(path(`${name}.names`), 'subjectAltName=DNS:localhost\n')
  const by = ['-CA', path(`${name}-ca.pem`), '-CAkey', path(`${name}-ca.key`), '-CAcreateserial']
  const out = ['-out', path(`${name}.pem`), '-extfile', path(`${name}.names`), '-days', '2']
  openssl('x509', '-req', '-in', request, ...by, ...out)
}

const toConfiguration = (name: string, ports: { tls: number; starttls: number }): string => `
primary_hostname = mail.test
spool_directory = ${path(`${name}-spool`)}
log_file_path = ${path(`${name}-spool`)}/%slog
pid_file_path = ${path(`${name}-spool`)}/exim.pid
daemon_smtp_ports = ${ports.starttls} : ${ports.tls}
tls_on_connect_ports = ${ports.tls}
local_interfaces = 127.0.0.1
tls_advertise_hosts = *
tls_certificate = ${path(`${name}.pem`)}
tls_privatekey = ${path(`${name}.key`)}
auth_advertise_hosts = \${if eq{$tls_in_cipher}{}{}{*}}
acl_smtp_rcpt = check_rcpt
acl_smtp_data = accept_all
domainlist local_domains = mail.test
host_lookup =
never_users =
begin acl
check_rcpt:
  deny message = 5.1.1 no such person
       local_parts = nobody
  deny message = sign in first
       !authenticated = *
  accept
accept_all:
  accept
begin routers
all:
  driver = accept
  transport = file
begin transports
file:
  driver = appendfile
  file = ${path(`${name}-box`)}/box
  user = Debian-exim
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_condition = \${if and{{eq{$auth2}{${login.user}}}{eq{$auth3}{${login.password}}}}}
  server_set_id = $auth2
`

async function startExim(name: string): Promise<Exim> {
  makeCertificate(name)
  const ports = { tls: await findFreePort(), starttls: await findFreePort() }
  writeFileSync(path(`${name}.conf`), toConfiguration(name, ports))
  for (const each of ['spool', 'box']) mkdirSync(path(`${name}-${each}`))
  const owned = [`${name}-spool`, `${name}-box`, `${name}.key`].map(path)
  execFileSync('chown', ['-R', 'Debian-exim', ...owned])
  execFileSync('chmod', ['755', folder])
  const process = spawn('exim4', ['-C', path(`${name}.conf`), '-bdf'], { stdio: 'ignore' })
  await waitForPort(ports.starttls)
  const box = path(`${name}-box/box`)
  return { ...ports, process, readMail: () => (existsSync(box) ? readFileSync(box, 'utf8') : '') }
}

async function waitForPort(port: number): Promise<void> {
  for (const until = Date.now() + 30_000; Date.now() < until; ) {
    const socket = connect(port, '127.0.0.1')
    const isOpen = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(() => false),
    ]).catch(() => false)
    socket.destroy()
    if (isOpen) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`Nothing listens on port ${port}.`)
}

let known: Exim
let other: Exim
let start: (options: HubOptions) => Promise<Hub>
const hubs: Hub[] = []

beforeAll(async () => {
  known = await startExim('known')
  other = await startExim('other')
  // Miniflare reads it when it is loaded.
  process.env.NODE_EXTRA_CA_CERTS = path('known-ca.pem')
  start = (await import('../node/start-hub.ts')).startHub
})
afterAll(async () => {
  for (const hub of hubs) await hub.stop()
  for (const exim of [known, other]) exim?.process.kill()
  rmSync(folder, { recursive: true, force: true })
})

/** Starts a hub that sends with a server, and signs in as its admin. */
async function openHub(name: string, mailUrl: string) {
  const hub = await start({
    stateDir: path(`${name}-state`),
    env: {
      ROOKERY_LOG_LEVEL: 'error',
      ROOKERY_ORIGIN: 'http://localhost',
      ROOKERY_MAIL_URL: mailUrl,
      ROOKERY_MAIL_FROM: 'Rookery <hub@hub.test>',
    },
  })
  hubs.push(hub)
  const headers = { origin: 'http://localhost', 'sec-fetch-site': 'same-origin' }
  const send = (to: string, fields: Record<string, string>, cookie = '') =>
    fetch(`${hub.url}${to}`, {
      method: 'POST',
      redirect: 'manual',
      headers: { ...headers, cookie },
      body: new URLSearchParams(fields),
    })
  const signedIn = await send('/login', { key: hub.adminKey, next: '/' })
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
  expect(cookie).not.toBe('')
  return {
    hub,
    send: (to: string, fields: Record<string, string>) => send(to, fields, cookie),
    read: async (from: string) => (await fetch(hub.url + from, { headers: { cookie } })).text(),
  }
}

const toUrl = (scheme: string, host: string, port: number, password = login.password) =>
  `${scheme}://${login.user}:${encodeURIComponent(password)}@${host}:${port}`

/** Sends a test and returns what the page says. */
async function sendTest(name: string, mailUrl: string) {
  const { send } = await openHub(name, mailUrl)
  await send('/settings/notifications/mail', { address: 'ana@mail.test' })
  return (await send('/admin/mail/test', {})).text()
}

describe('O4: mail by exim', () => {
  test('with TLS and a login: an address is confirmed by the link in its mail', async () => {
    const { hub, send } = await openHub('tls', toUrl('smtps', 'localhost', known.tls))
    const address = 'ana@mail.test'
    expect((await send('/settings/notifications/mail', { address })).status).toBe(303)
    await expect.poll(known.readMail).toContain('Subject: Confirm your address for Rookery')
    const mail = known.readMail()
    expect(mail).toMatch(/Message-I[dD]: <[0-9a-f-]{36}@hub\.test>/)
    // Quoted-printable breaks long lines.
    const plain = mail.replace(/=\r?\n/g, '').replaceAll('=3D', '=')
    const link = /http:\/\/localhost(\/mail\/confirm\?\S+)/.exec(plain)?.[1] ?? ''
    expect((await fetch(hub.url + link)).status).toBe(200)
    expect(await (await send(link, {})).text()).toContain('Your address is confirmed')
    expect(await (await send('/admin/mail/test', {})).text()).toContain('The test was sent to')
    await expect.poll(known.readMail).toContain('Subject: Test of Rookery')
  })

  test('with STARTTLS', async () => {
    const html = await sendTest('starttls', toUrl('smtp', 'localhost', known.starttls))
    expect(html).toContain('The test was sent to ana@mail.test.')
  })

  test('an address that nobody has is stopped', async () => {
    const url = toUrl('smtps', 'localhost', known.tls)
    const { send, read } = await openHub('nobody', url)
    const address = 'nobody@mail.test'
    expect((await send('/settings/notifications/mail', { address })).status).toBe(303)
    await expect.poll(() => read('/admin/mail')).toContain('Stopped addresses')
    expect(await read('/admin/mail')).toContain('550 5.1.1 no such person')
  })

  test.each([
    ['a wrong password', 'password', () => toUrl('smtps', 'localhost', known.tls, 'a-wrong-word')],
    ['a certificate for another name', 'name', () => toUrl('smtps', '127.0.0.1', known.tls)],
    ['a certificate of an unknown authority', 'ca', () => toUrl('smtps', 'localhost', other.tls)],
    ['the same with STARTTLS', 'ca-starttls', () => toUrl('smtp', 'localhost', other.starttls)],
  ])('nothing is sent with %s', async (_, name, findUrl) => {
    const html = await sendTest(name, findUrl())
    expect(html).toContain('The test was not sent.')
    expect(html).not.toContain('a-wrong-word')
    expect(other.readMail()).toBe('')
  })
})

import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request as requestPlain } from 'node:http'
import { request as requestSecure } from 'node:https'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { root } from '../../scripts/local-state.mjs'

/** The name that the files in `deploy/` have in place of an operator's own. */
export const hubName = 'hub.example.com'

export const readDeployFile = (name: string): string =>
  readFileSync(join(root, 'deploy', name), 'utf8')

/** Replaces a part of a file that has to be there. */
export function replace(content: string, part: string, by: string): string {
  if (!content.includes(part)) throw new Error(`The file does not have ${part}`)
  return content.replaceAll(part, by)
}

/** Returns a new folder and what deletes it. */
export function makeFolder(): { folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'rookery-operate-'))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) }
}

/** Returns a port of this machine on which nothing listens. */
export async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  if (address === null || typeof address === 'string') throw new Error('The server has no port.')
  return address.port
}

/** Runs a command to its end. Throws unless it exits with 0. */
export function runCommand(command: string, args: string[], env: NodeJS.ProcessEnv = {}): string {
  const options = { encoding: 'utf8', env: { ...process.env, ...env } } as const
  const { status, error, stdout, stderr } = spawnSync(command, args, options)
  if (status === 0) return stdout + stderr
  throw new Error(`${command} ${args.join(' ')}: ${error?.message ?? ''}${stdout}${stderr}`)
}

export interface Program {
  /** What it wrote. */
  log(): string
  stop(): Promise<void>
}

/** Starts a program that serves, and waits until a connection to the port succeeds. */
export async function startProgram(
  command: string,
  args: string[],
  { port, env = {} }: { port: number; env?: NodeJS.ProcessEnv },
): Promise<Program> {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: 'pipe' })
  let log = ''
  child.stdout.on('data', (chunk) => (log += chunk))
  child.stderr.on('data', (chunk) => (log += chunk))
  const program = { log: () => log, stop: () => stopProcess(child) }
  const until = Date.now() + 60_000
  while (!(await isOpen(port))) {
    const isOver = child.exitCode !== null || child.signalCode !== null || Date.now() > until
    if (isOver) {
      await program.stop()
      throw new Error(`${command} does not listen on port ${port}:\n${log}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return program
}

async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  const patience = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await ended
  clearTimeout(patience)
}

async function isOpen(port: number): Promise<boolean> {
  const sent = requestPlain({ host: '127.0.0.1', port, method: 'HEAD' })
  return new Promise((resolve) => {
    sent.on('response', (answer) => {
      answer.resume()
      resolve(true)
    })
    // A port of TLS answers this with an end.
    sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'ECONNREFUSED'))
    sent.end()
  })
}

/** An own authority, and a certificate of it for the hub's name. */
export interface Certificate {
  /** In PEM. */
  authority: string
  certificatePath: string
  keyPath: string
}

export function makeCertificate(folder: string): Certificate {
  const path = (name: string) => join(folder, name)
  const days = ['-days', '2']
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const openssl = (...args: string[]) => runCommand('openssl', args)
  const authorityFiles = ['-keyout', path('ca.key'), '-out', path('ca.pem')]
  openssl('req', '-x509', ...newKey, ...authorityFiles, ...days, '-subj', '/CN=Test authority')
  openssl('req', ...newKey, '-keyout', path('hub.key'), '-out', path('hub.csr'), '-subj', '/CN=hub')
  writeFileSync(path('names'), `subjectAltName=DNS:${hubName}\n`)
  const signed = ['-in', path('hub.csr'), '-out', path('hub.pem'), '-extfile', path('names')]
  const by = ['-CA', path('ca.pem'), '-CAkey', path('ca.key'), '-CAcreateserial']
  openssl('x509', '-req', ...signed, ...by, ...days)
  return {
    authority: readFileSync(path('ca.pem'), 'utf8'),
    certificatePath: path('hub.pem'),
    keyPath: path('hub.key'),
  }
}

export interface ProxyRequest {
  port: number
  authority: string
  path: string
  method?: string
  headers?: Record<string, string>
  body?: string | Uint8Array
  /** The address of this machine that the client has. */
  from?: string
}

/** Opens a request through a proxy with TLS. */
export function openRequest(asked: ProxyRequest) {
  const { port, authority, path, method = 'GET', headers = {}, from = '127.0.0.1' } = asked
  return requestSecure({
    host: '127.0.0.1',
    port,
    path,
    method,
    ca: authority,
    servername: hubName,
    headers: { host: hubName, ...headers },
    localAddress: from,
    agent: false,
  })
}

/** Sends a request through a proxy. */
export async function send(asked: ProxyRequest): Promise<{ status: number; body: string }> {
  const answer = await sendForStream(asked)
  return { status: answer.statusCode ?? 0, body: await text(answer) }
}

export function sendForStream(asked: ProxyRequest): Promise<IncomingMessage> {
  const sent = openRequest(asked)
  return new Promise((resolve, reject) => {
    sent.on('response', resolve)
    sent.on('error', reject)
    // As curl does with a long body: whoever refuses it says so before it is sent.
    if (asked.headers?.expect === undefined) sent.end(asked.body)
    else {
      sent.once('continue', () => sent.end(asked.body))
      sent.flushHeaders()
    }
  })
}

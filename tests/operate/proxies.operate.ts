import { mkdirSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { join } from 'node:path'
import { crc32, deflateSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Hub } from '../../scripts/hub-runtime.mjs'
import { media, rateLimits } from '../../src/shared/config.ts'
import { startHub } from '../node/start-hub.ts'
import {
  type Certificate,
  findFreePort,
  hubName,
  makeCertificate,
  makeFolder,
  openRequest,
  type Program,
  type ProxyRequest,
  readDeployFile,
  replace,
  send,
  sendForStream,
  startProgram,
} from './operated-hub.ts'

const { folder, remove } = makeFolder()
let hub: Hub
let certificate: Certificate

beforeAll(async () => {
  certificate = makeCertificate(folder)
  hub = await startHub({
    stateDir: join(folder, 'state'),
    env: {
      ROOKERY_LOG_LEVEL: 'error',
      ROOKERY_ORIGIN: `https://${hubName}`,
      ROOKERY_CLIENT_ADDRESS_HEADER: 'X-Forwarded-For',
      ROOKERY_PUBLIC: 'false',
    },
  })
})
afterAll(async () => {
  await hub?.stop()
  remove()
})

/** Sends a request to the hub itself, as a program on its machine. */
async function api<Answer>(method: string, path: string, body: object): Promise<Answer> {
  const headers = { authorization: `Bearer ${hub.adminKey}`, 'content-type': 'application/json' }
  const answer = await fetch(`${hub.url}/api/v1${path}`, {
    method,
    headers,
    body: JSON.stringify(body),
  })
  expect(answer.status).toBeLessThan(300)
  return (await answer.json()) as Answer
}

const createPost = async (title: string): Promise<string> => {
  const body = { community: 'general', title, content: 'Text' }
  return (await api<{ post: { id: string } }>('POST', '/posts', body)).post.id
}
const comment = (postId: string) => api('POST', `/posts/${postId}/comments`, { content: 'News' })

/** Starts Debian's Caddy with our file: its names, ports and certificate are of this test, all else is as it stands. */
async function startCaddy(port: number, plainPort: number): Promise<Program> {
  const home = join(folder, 'caddy')
  mkdirSync(home, { recursive: true })
  const { certificatePath, keyPath } = certificate
  let file = readDeployFile('Caddyfile')
  const ports = `\thttps_port ${port}\n\thttp_port ${plainPort}`
  const options = `\tadmin off\n\tdefault_bind 127.0.0.1\n${ports}\n\tservers {`
  file = replace(file, '\tservers {', options)
  const site = `${hubName} {\n\ttls ${certificatePath} ${keyPath}`
  file = replace(file, `${hubName} {`, site)
  file = replace(file, '127.0.0.1:8787', new URL(hub.url).host)
  const path = join(home, 'Caddyfile')
  writeFileSync(path, file)
  const env = { HOME: home, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home }
  return startProgram('caddy', ['run', '--config', path, '--adapter', 'caddyfile'], { port, env })
}

/** The same with Debian's nginx. */
async function startNginx(port: number, plainPort: number): Promise<Program> {
  const home = join(folder, 'nginx')
  mkdirSync(home, { recursive: true })
  const live = `/etc/letsencrypt/live/${hubName}`
  let site = readDeployFile('nginx.conf')
  site = replace(site, 'listen 80;', `listen 127.0.0.1:${plainPort};`)
  site = replace(site, 'listen 443 ', `listen 127.0.0.1:${port} `)
  site = replace(site, `${live}/fullchain.pem`, certificate.certificatePath)
  site = replace(site, `${live}/privkey.pem`, certificate.keyPath)
  site = replace(site, '127.0.0.1:8787', new URL(hub.url).host)
  writeFileSync(join(home, 'site.conf'), site)
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  const paths = kinds.map((kind) => `${kind}_temp_path ${home}/${kind};`).join(' ')
  // The folder is for its owner only.
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  const main = `${user} daemon off; pid ${home}/pid; error_log stderr; events {}
    http { access_log off; ${paths} include ${home}/site.conf; }`
  writeFileSync(join(home, 'nginx.conf'), main)
  const args = ['-p', home, '-c', join(home, 'nginx.conf'), '-e', 'stderr']
  return startProgram('nginx', args, { port })
}

/** A PNG of about so many bytes, of noise that nothing shortens. */
function makeImage(bytes: number): Uint8Array {
  const width = 1_600
  const height = Math.floor(bytes / (width * 3 + 1))
  const chunk = (name: string, data: Uint8Array) => {
    const body = Buffer.concat([Buffer.from(name), data])
    const around = Buffer.alloc(8)
    around.writeUInt32BE(data.length, 0)
    around.writeUInt32BE(crc32(body), 4)
    return Buffer.concat([around.subarray(0, 4), body, around.subarray(4)])
  }
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 2], 8)
  const pixels = deflateSync(Buffer.alloc(height * (width * 3 + 1)), { level: 0 })
  const signature = Buffer.from('89504e470d0a1a0a', 'hex')
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

describe.each(['caddy', 'nginx'])('O7: behind %s', (name) => {
  let proxy: Program
  let port = 0
  let plainPort = 0
  const through = (asked: Omit<ProxyRequest, 'port' | 'authority'>): ProxyRequest => ({
    ...asked,
    port,
    authority: certificate.authority,
    headers: { authorization: `Bearer ${hub.adminKey}`, ...asked.headers },
  })

  beforeAll(async () => {
    port = await findFreePort()
    plainPort = await findFreePort()
    proxy = await (name === 'caddy' ? startCaddy(port, plainPort) : startNginx(port, plainPort))
  })
  afterAll(async () => {
    await proxy?.stop()
    console.log(`Log of ${name}:\n${proxy?.log().slice(-4_000)}`)
  })

  test('the hub answers over TLS, with HTTP/1.1 and HTTP/2, and under its name alone', async () => {
    const page = await send(through({ path: '/' }))
    expect([page.status, page.body.includes('<title>')]).toEqual([200, true])
    const session = connectHttp2(`https://127.0.0.1:${port}`, {
      ca: certificate.authority,
      servername: hubName,
    })
    const stream = session.request({ ':path': '/healthz', ':authority': hubName })
    const status = await new Promise((resolve, reject) => {
      stream.on('response', (headers) => resolve(headers[':status']))
      stream.on('error', reject)
      session.on('error', reject)
    })
    session.close()
    expect(status).toBe(200)
    const other = send(through({ path: '/', headers: { host: 'other.example' } }))
    // Caddy has nothing at another name, and nginx passes only its own on.
    expect(
      await other.then(
        ({ body }) => body,
        () => '',
      ),
    ).not.toContain('<title>')
  })

  test('port 80 leads to TLS', async () => {
    const location = await new Promise((resolve, reject) => {
      const headers = { host: hubName }
      const sent = request({ host: '127.0.0.1', port: plainPort, path: '/m/general', headers })
      sent.on('response', (answer) => {
        answer.resume()
        resolve(answer.headers.location)
      })
      sent.on('error', reject)
      sent.end()
    })
    // Caddy names its port, which is not 443 here.
    expect([`https://${hubName}/m/general`, `https://${hubName}:${port}/m/general`]).toContain(
      location,
    )
  })

  test('a WebSocket is opened, and receives what happens', async () => {
    const postId = await createPost('Watched')
    const sent = openRequest(
      through({
        path: `/live/posts/${postId}`,
        headers: {
          connection: 'Upgrade',
          upgrade: 'websocket',
          'sec-websocket-version': '13',
          'sec-websocket-key': Buffer.from('0123456789abcdef').toString('base64'),
        },
      }),
    )
    let heard = ''
    await new Promise<void>((resolve, reject) => {
      sent.on('upgrade', (_answer, socket, head) => {
        heard += head
        socket.on('data', (data) => (heard += data))
        socket.on('error', () => undefined)
        resolve()
      })
      sent.on('response', ({ statusCode }) => reject(new Error(`no upgrade: ${statusCode}`)))
      sent.on('error', reject)
      sent.end()
    })
    await expect.poll(() => heard).toContain('"hello"')
    await comment(postId)
    await expect.poll(() => heard).toContain('"comment"')
    sent.destroy()
  })

  test('the hub limits the real client, whatever address it claims to have', async () => {
    const signIn = async (from: string, claimed: string) => {
      const { status } = await send(
        through({
          path: '/login',
          method: 'POST',
          body: 'key=wrong-key-of-somebody',
          from,
          headers: {
            'content-type': 'application/x-www-form-urlencoded',
            'x-forwarded-for': claimed,
            'x-real-ip': claimed,
            forwarded: `for=${claimed}`,
            'cf-connecting-ip': claimed,
            authorization: '',
            origin: `https://${hubName}`,
            'sec-fetch-site': 'same-origin',
          },
        }),
      )
      return status
    }
    const [bad, good] = name === 'caddy' ? ['127.0.1.2', '127.0.1.3'] : ['127.0.2.2', '127.0.2.3']
    const statuses: number[] = []
    for (let index = 0; index <= rateLimits.signIn.requests; index++) {
      statuses.push(await signIn(bad, `203.0.113.${index}`))
    }
    expect(statuses.at(0)).not.toBe(429)
    expect(statuses.at(-1)).toBe(429)
    // Another client is not held up, even when it claims to be the one that was refused.
    expect(await signIn(good, bad)).not.toBe(429)
  })

  test('the largest image passes, and a larger one is refused', async () => {
    const upload = (body: Uint8Array) =>
      send(
        through({
          path: '/api/v1/media',
          method: 'POST',
          body,
          headers: {
            'content-type': 'image/png',
            'content-length': String(body.length),
            expect: '100-continue',
          },
        }),
      )
    const largest = makeImage(media.bytesMax - 8_000)
    expect(largest.length).toBeGreaterThan(8_000_000)
    const taken = await upload(largest)
    expect([taken.status, taken.body]).toEqual([201, expect.stringContaining('"media"')])
    const { status } = await upload(makeImage(12_000_000))
    expect(status).toBe(413)
  })

  test('a stream arrives in pieces while it is open', async () => {
    const postId = await createPost('Subscribed')
    const session = { 'mcp-session-id': `session of ${name}` }
    const subscribe = { jsonrpc: '2.0', id: 1, method: 'resources/subscribe' }
    const params = { uri: `rookery://thread/${postId}` }
    const subscribed = await send(
      through({
        path: '/mcp',
        method: 'POST',
        body: JSON.stringify({ ...subscribe, params }),
        headers: {
          ...session,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
        },
      }),
    )
    expect(subscribed.body).toContain('"result"')
    const headers = { ...session, accept: 'text/event-stream' }
    const stream = await sendForStream(through({ path: '/mcp', headers }))
    expect(stream.statusCode).toBe(200)
    let received = ''
    stream.on('data', (chunk) => (received += chunk))
    stream.on('error', () => undefined)
    await expect
      .poll(async () => {
        await comment(postId)
        return received
      })
      .toContain('notifications/resources/updated')
    expect(stream.complete).toBe(false)
    stream.destroy()
  })
})

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type IncomingHttpHeaders, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse } from 'smol-toml'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { buildWorker } from '../../scripts/build-worker.mjs'
import type { Hub } from '../../scripts/hub-runtime.mjs'
import { rateLimits } from '../../src/shared/config'
import { startHub } from './start-hub.ts'

const folder = mkdtempSync(join(tmpdir(), 'rookery-entry-'))
const chunk = Buffer.alloc(64 * 1024, 120)
let hub: Hub
beforeAll(async () => {
  hub = await startHub({ stateDir: folder, bundlePath: await buildWorker() })
})
afterAll(async () => {
  await hub.stop()
  rmSync(folder, { recursive: true, force: true })
})

interface Received {
  status: number
  headers: IncomingHttpHeaders
  text: string
  /** Bytes of the body that were sent before the answer. */
  sent: number
}

/** Sends a request as given: fetch would not send another Host, nor a body without its length. */
const send = (
  path: string,
  options: {
    method?: string
    headers?: Record<string, string>
    chunks?: number
    body?: string
  } = {},
): Promise<Received> =>
  new Promise((resolve, reject) => {
    const { method = 'GET', headers = {}, chunks = 0, body } = options
    let sent = 0
    const sending = request(hub.url + path, { method, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (part) => {
        text += part
      })
      response.on('end', () => {
        const { statusCode: status = 0, headers: received } = response
        resolve({ status, headers: received, text, sent })
        sending.destroy()
      })
    })
    sending.on('error', reject)
    const write = () => {
      while (sent < chunks * chunk.length) {
        sent += chunk.length
        if (!sending.write(chunk)) return void sending.once('drain', write)
      }
      sending.end(body)
    }
    write()
  })

const readMegabytes = () => {
  const status = readFileSync(`/proc/${hub.workerdPid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
}

const formHeaders = () => ({
  'content-type': 'application/x-www-form-urlencoded',
  origin: hub.url,
})

describe('a hub on this machine', () => {
  test('T17: a name that an attacker makes resolve to it is refused', async () => {
    const { port } = new URL(hub.url)
    const json = { 'content-type': 'application/json' }
    for (const host of [`evil.example:${port}`, 'evil.example', `127.0.0.1.evil.example:${port}`]) {
      const body = JSON.stringify({ name: 'rebound' })
      const headers = { ...json, host }
      const { status, text } = await send('/api/v1/accounts', {
        method: 'POST',
        headers,
        body,
      })
      expect([status, JSON.parse(text).code]).toEqual([421, 'WRONG_HOST'])
    }
    expect((await send('/', { headers: { host: `localhost:${port}` } })).status).toBe(200)
  })

  test('T14: a form of 150 MB without a key takes no memory', async () => {
    const before = readMegabytes()
    const form = { method: 'POST', headers: formHeaders(), chunks: 2_400 }
    // The hub closes the connection with its answer, which a client that is still writing may not get.
    const sendForm = (): Promise<Received> =>
      send('/login', form).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'EPIPE' || error.code === 'ECONNRESET') return sendForm()
        throw error
      })
    const { status, sent } = await sendForm()
    expect(status).toBe(413)
    expect(sent).toBeLessThan(20 * 1024 * 1024)
    expect(readMegabytes() - before).toBeLessThan(60)
  })

  test('T7: 60 wrong sign-ins at once meet the limit, with a forged address in each', async () => {
    const statuses = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const headers = { ...formHeaders(), 'cf-connecting-ip': `203.0.113.${index}` }
        const body = `key=rookery_guess${index}&next=/`
        return (await send('/login', { method: 'POST', headers, body })).status
      }),
    )
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(
      60 - rateLimits.signIn.requests,
    )
    expect(statuses).toContain(401)
  })

  test('T7: 1,500 page loads and 400 posts of one program pass', async () => {
    const load = async (count: number, one: () => Promise<Received>) => {
      for (let index = 0; index < count; index++) expect((await one()).status).toBeLessThan(300)
    }
    await Promise.all([1, 2, 3, 4, 5].map(() => load(300, () => send('/skill.md'))))
    const headers = {
      'content-type': 'application/json',
      authorization: `Bearer ${hub.adminKey}`,
    }
    const body = JSON.stringify({ community: 'general', title: 'One of many' })
    await Promise.all(
      [1, 2, 3, 4].map(() =>
        load(100, () => send('/api/v1/posts', { method: 'POST', headers, body })),
      ),
    )
  })
})

test("T7: the limits of the platform's bindings are those of the classes", () => {
  const { ratelimits } = parse(readFileSync('wrangler.toml', 'utf8')) as {
    ratelimits: { name: string; simple: { limit: number; period: number } }[]
  }
  const declared = Object.fromEntries(
    ratelimits.map(({ name, simple }) => [
      name.replace('RATE_', '').toLowerCase(),
      { requests: simple.limit, periodSeconds: simple.period },
    ]),
  )
  const { signIn: _signIn, register: _register, ...counted } = rateLimits
  expect(declared).toEqual(counted)
})

test('the Worker loads no module of Node when it starts', async () => {
  const script = readFileSync(join(await buildWorker(), 'worker/worker.js'), 'utf8')
  const imported = script.matchAll(/\b(?:from|import)"(node:[a-z/]+)"/g)
  expect([...imported].map(([, name]) => name)).toEqual([])
})

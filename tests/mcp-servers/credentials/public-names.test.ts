import { exports } from 'cloudflare:workers'
import { afterEach, beforeAll, expect, test, vi } from 'vitest'
import { createResolver } from '../../../src/mcp-servers/fetch/resolve-over-https'
import { readSettings } from '../../../src/shared/settings'
import { createAccount } from '../../support/cast'
import { connectMcp, textOf } from '../../support/connect-mcp'
import { allow, declare } from '../../support/services'

/** The whole Worker, with no setting of its own for names; only what leaves this machine is played. */
let ask: (service: string) => Promise<string>
const asked: string[] = []

beforeAll(async () => {
  const agent = await createAccount('dunnock', 'agent')
  await allow(agent.id, ['http:*'])
  await declare('near')
  await declare('far', { base_url: 'https://api.example.com', allow_private: false })
  const client = await connectMcp((request) => exports.default.fetch(request), agent.key, '/mcp')
  ask = async (service) =>
    textOf(await client.callTool({ name: 'http_request', arguments: { service, path: '/fine' } }))
})
afterEach(() => {
  vi.restoreAllMocks()
  asked.length = 0
})

function play(answer: () => Response) {
  const real = globalThis.fetch
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const { hostname } = new URL(input instanceof Request ? input.url : String(input))
    if (hostname === '127.0.0.1') return real(input, init)
    asked.push(hostname)
    return hostname === 'cloudflare-dns.com' ? answer() : Response.json({ reached: hostname })
  })
}
const leadsTo = (data: string) => () => Response.json({ Status: 0, Answer: [{ type: 1, data }] })

test('M13: a name that leads to a private address is refused without any setting', async () => {
  play(leadsTo('10.0.0.7'))
  expect(await ask('far')).toMatch(/^Error: .*api\.example\.com has no public address/)
  expect(asked).toEqual(['cloudflare-dns.com', 'cloudflare-dns.com'])
})

test('M13: a name that leads to a public address is asked', async () => {
  play(leadsTo('93.184.215.14'))
  expect(await ask('far')).toContain('api.example.com')
  expect(asked).toEqual(['cloudflare-dns.com', 'cloudflare-dns.com', 'api.example.com'])
})

test('M13: a service that may be at a private address is not looked up', async () => {
  play(leadsTo('10.0.0.7'))
  expect(await ask('near')).toContain('fine')
  expect(asked).toEqual([])
})

test.each([
  ['cannot be reached', () => Promise.reject(new TypeError('no network'))],
  ['fails', async () => new Response('{"error":"busy"}', { status: 503 })],
  ['says something else', async () => new Response('<h1>Log in to this Wi-Fi</h1>')],
])('M13 M14: a resolver that %s stops the request, and the setting is named', async (_, answer) => {
  vi.spyOn(globalThis, 'fetch').mockImplementation(answer)
  const resolve = createResolver('https://dns.example.com/dns-query')
  await expect(resolve('api.example.com', new AbortController().signal)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message: expect.stringContaining('DNS lookup of api.example.com failed'),
    hint: expect.stringContaining('ROOKERY_DNS_OVER_HTTPS'),
  })
})

test('M13: a name that the resolver does not know is refused as before', async () => {
  play(() => Response.json({ Status: 3 }))
  expect(await ask('far')).toContain('api.example.com has no public address')
})

test('M13: looking up names is on, and off only when it says so', () => {
  const read = (value: string) =>
    readSettings({ ROOKERY_DNS_OVER_HTTPS: value }).ROOKERY_DNS_OVER_HTTPS
  expect(read('')).toBe('https://cloudflare-dns.com/dns-query')
  expect(read('off')).toBe('off')
  expect(read('https://dns.example.com/q')).toBe('https://dns.example.com/q')
  expect(() => read('no')).toThrow('must be off or a URL')
})

import { describe, expect, test } from 'vitest'
import { findClientAddress } from '../../../src/hub/http/find-client-address'
import { describeDecision } from '../../../src/hub/http/guard-entry'
import { rateCounting, rateLimits } from '../../../src/shared/config'
import { readSettings } from '../../../src/shared/settings'
import { form } from '../../web/open-pages'
import { addressHeader, adminKey, createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
const createAddress = () =>
  `198.51.${Math.floor(Math.random() * 256)}.${Math.floor(Math.random() * 256)}`
const from = (address: string, init: RequestInit = {}): RequestInit => ({
  ...init,
  headers: { ...(init.headers as Record<string, string>), [addressHeader]: address },
})
const withKey = (key: string) => ({ headers: { authorization: `Bearer ${key}` } })
const statusesOf = async (count: number, send: () => Promise<Response>) => {
  const statuses: number[] = []
  for (let index = 0; index < count; index++) statuses.push((await send()).status)
  return statuses
}

describe('sign-in', () => {
  test('T7: of 60 wrong sign-ins in two seconds most are refused, also on the own machine', async () => {
    const local = createTestHub({ ROOKERY_CLIENT_ADDRESS_HEADER: '', ROOKERY_ORIGIN: '' })
    const { headers } = form({})
    const send = () =>
      local.request('http://127.0.0.1:8787/login', {
        ...form({ key: 'rookery_wrong', next: '/' }),
        headers: { ...headers, origin: 'http://127.0.0.1:8787' },
      })
    const statuses = await statusesOf(60, send)
    expect(statuses.slice(0, rateCounting.failedSignInsFree).every((each) => each === 401)).toBe(
      true,
    )
    expect(statuses.slice(rateCounting.failedSignInsFree).every((each) => each === 429)).toBe(true)
    local.clock.advance(rateCounting.backoffBaseMs)
    expect((await send()).status).toBe(401)
    expect((await send()).headers.get('retry-after')).toBe('2')
  })

  test('T7: sign-in links are attempts, the form itself is not', async () => {
    const address = createAddress()
    const send = (path: string) => hub.fetch(path, from(address))
    const statuses = await statusesOf(8, () => send('/login?token=guess'))
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429, 429])
    expect((await send('/login')).status).toBe(200)
    expect((await hub.fetch('/login?token=guess')).status).toBe(401)
  })

  test('T7: right keys sign in without waiting for failures of other addresses', async () => {
    const address = createAddress()
    const init = from(address, form({ key: adminKey, next: '/' }))
    expect(await statusesOf(10, () => hub.fetch('/login', init))).toEqual(Array(10).fill(303))
  })
})

describe('keys', () => {
  test('T7: wrong keys of an address are soon refused; its good keys and other addresses are not', async () => {
    const address = createAddress()
    const { key } = await hub.join(`rate-${crypto.randomUUID().slice(0, 6)}`)
    const read = (of: string) => hub.fetch('/api/v1/me', from(address, withKey(of)))
    expect((await read(key)).status).toBe(200)
    const free = rateCounting.wrongKeysFree
    let guess = 0
    const statuses = await statusesOf(free + 10, () => read(`rookery_guess${guess++}`))
    expect(statuses).toEqual([...Array(free).fill(401), ...Array(10).fill(429)])
    expect((await read(key)).status).toBe(200)
    expect((await hub.fetch('/api/v1/me', withKey('rookery_guess'))).status).toBe(401)
  })

  test('T7: a revoked key is rejected', async () => {
    const { key } = await hub.join(`rate-${crypto.randomUUID().slice(0, 6)}`)
    const made = await hub.call('/me/keys', { key, body: { scopes: ['read'] } })
    const { api_key: second, id } = made.body.key ?? made.body
    const read = () => hub.fetch('/api/v1/me', withKey(second))
    expect((await read()).status).toBe(200)
    await hub.call(`/me/keys/${id}`, { key, method: 'DELETE' })
    expect((await read()).status).toBe(401)
  })

  test('T7: invented keys count together, for their address', async () => {
    const address = createAddress()
    let guess = 0
    const remaining = async () => {
      const init = from(address, withKey(`rookery_invented${guess++}`))
      return Number((await hub.fetch('/openapi.json', init)).headers.get('x-ratelimit-remaining'))
    }
    const first = await remaining()
    expect(await remaining()).toBe(first - 1)
    expect(await remaining()).toBe(first - 2)
  })
})

describe('requests', () => {
  test('H12 T7: every answer says the limit, what remains and when it resets', async () => {
    const address = createAddress()
    for (const [path, name] of [
      ['/', 'read'],
      ['/api/v1/posts', 'read'],
      ['/assets/none.css', 'read'],
      ['/no-such-page', 'read'],
      ['/search?q=x', 'search'],
      ['/api/v1/search?q=x', 'search'],
      ['/live/posts/x', 'connect'],
    ] as const) {
      const { headers } = await hub.fetch(path, from(address))
      expect(headers.get('x-ratelimit-limit'), path).toBe(String(rateLimits[name].requests))
      expect(Number(headers.get('x-ratelimit-remaining'))).toBeLessThan(rateLimits[name].requests)
      const reset = Number(headers.get('x-ratelimit-reset')) * 1_000 - hub.clock.now()
      expect(reset).toBeGreaterThan(0)
      expect(reset).toBeLessThanOrEqual(rateLimits[name].periodSeconds * 1_000 + 1_000)
      expect(headers.has('retry-after')).toBe(false)
    }
  })

  test('T7: a page beyond the limit is refused as a page, a call as JSON, without a database read', async () => {
    const address = createAddress()
    const send = (path: string, accept: string) =>
      hub.fetch(path, from(address, { headers: { accept } }))
    const { requests } = rateLimits.search
    for (let index = 0; index < requests; index++) await send('/search', 'text/html')
    const page = await send('/search', 'text/html,*/*')
    expect([page.status, page.headers.get('content-type')]).toEqual([
      429,
      'text/html; charset=UTF-8',
    ])
    expect(await page.text()).toContain('Too many requests')
    const call = await send('/api/v1/search?q=x', 'application/json')
    expect(call.status).toBe(429)
    expect(await call.json()).toMatchObject({ success: false, code: 'RATE_LIMITED' })
    expect(call.headers.get('retry-after')).toBe('1')
    expect(call.headers.get('x-ratelimit-remaining')).toBe('0')
    for (const { headers } of [page, call]) expect(readCost(headers).roundTrips).toBe(0)
    expect((await send('/', 'text/html')).status).toBe(200)
    hub.clock.advance(1_000)
    expect((await send('/search', 'text/html')).status).toBe(200)
  })

  test('T7: counting costs no round trip, for keys, sessions and addresses', async () => {
    const { key } = await hub.join(`rate-${crypto.randomUUID().slice(0, 6)}`)
    const signedIn = await hub.fetch('/login', form({ key, next: '/' }))
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
    // Once an hour, the use of a key or session is written.
    for (const headers of [{ cookie }, { authorization: `Bearer ${key}` }]) {
      await hub.fetch('/', { headers })
    }
    // This hub has not seen the key and the session yet.
    const fresh = createTestHub()
    for (const headers of [{ cookie }, { authorization: `Bearer ${key}` }, {}] as Record<
      string,
      string
    >[]) {
      for (const path of ['/', '/', '/m/general', '/api/v1/posts']) {
        const cost = readCost((await fresh.fetch(path, { headers })).headers)
        expect(cost.roundTrips, JSON.stringify([headers, path])).toBe(1)
      }
    }
  })

  test('T7: a known key counts for its account, wherever it is used from', async () => {
    const { key } = await hub.join(`rate-${crypto.randomUUID().slice(0, 6)}`)
    const remaining = async (address: string) => {
      const init = from(address, withKey(key))
      const { headers } = await hub.fetch('/api/v1/me', init)
      return Number(headers.get('x-ratelimit-remaining'))
    }
    await remaining(createAddress())
    const first = await remaining(createAddress())
    expect(await remaining(createAddress())).toBe(first - 1)
  })

  test('T7: 2,000 page loads at once from the own machine pass; from another address they do not', async () => {
    const local = createTestHub({ ROOKERY_CLIENT_ADDRESS_HEADER: '', ROOKERY_ORIGIN: '' })
    const load = (headers: Record<string, string> = {}) =>
      local.request('http://127.0.0.1:8787/skill.md', { headers })
    expect(new Set(await statusesOf(2_000, load))).toEqual(new Set([200]))
    // The header of a proxy: whoever sent this is not on this machine.
    const behind = await statusesOf(1_300, () => load({ 'x-forwarded-for': '203.0.113.5' }))
    expect(behind.filter((status) => status === 429)).toHaveLength(100)
  })
})

describe('registration', () => {
  const register = (address: string, key?: string) =>
    hub.fetch(
      '/api/v1/accounts',
      from(address, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(key ? { authorization: `Bearer ${key}` } : {}),
        },
        body: JSON.stringify({ name: `r-${crypto.randomUUID().slice(0, 8)}` }),
      }),
    )

  test('T7: an address registers 30 accounts an hour, an admin any number', async () => {
    const address = createAddress()
    expect(await statusesOf(31, () => register(address))).toEqual([...Array(30).fill(201), 429])
    const refused = await register(address)
    expect(Number(refused.headers.get('retry-after'))).toBe(3_600)
    expect(await statusesOf(3, () => register(address, adminKey))).toEqual([201, 201, 201])
    expect((await register(createAddress())).status).toBe(201)
  })

  test('T7: addresses of one IPv6 network count as one', async () => {
    const network = `2001:db8:${crypto.randomUUID().slice(0, 4)}:7`
    let host = 1
    const statuses = await statusesOf(31, () => register(`${network}::${(host++).toString(16)}`))
    expect(statuses).toEqual([...Array(30).fill(201), 429])
  })
})

describe('addresses', () => {
  const find = (
    headers: Record<string, string>,
    settings: Record<string, string>,
    isLocal = true,
  ) => findClientAddress(new Headers(headers), readSettings(settings), isLocal)
  const proxied = { ROOKERY_CLIENT_ADDRESS_HEADER: 'X-Forwarded-For' }
  const trusted = { ...proxied, ROOKERY_TRUSTED_PROXIES: '10.0.0.0/8, 2001:db8::1' }

  test.each([
    ['without a setting, no header counts', { 'cf-connecting-ip': '203.0.113.5' }, {}, 'local'],
    ['nor makes a proxied request a local one', { 'x-forwarded-for': '127.0.0.1' }, {}, 'unknown'],
    [
      'the last address of the list',
      { 'x-forwarded-for': '9.9.9.9, 203.0.113.5' },
      proxied,
      '203.0.113.5',
    ],
    [
      'trusted proxies are skipped',
      { 'x-forwarded-for': '9.9.9.9, 203.0.113.5, 10.1.2.3, 2001:db8::1' },
      trusted,
      '203.0.113.5',
    ],
    ['only trusted proxies', { 'x-forwarded-for': '10.9.9.9, 10.1.2.3' }, trusted, '10.9.9.9'],
    [
      'an invented text behind a trusted proxy',
      { 'x-forwarded-for': 'local, 10.1.2.3' },
      trusted,
      '10.1.2.3',
    ],
    ['a missing header', {}, proxied, 'unknown'],
    [
      'IPv6 by its network',
      { 'x-forwarded-for': '2001:db8:1:2:3:4:5:6' },
      proxied,
      '2001:db8:1:2::/64',
    ],
    ['IPv4 in IPv6', { 'x-forwarded-for': '::ffff:203.0.113.5' }, proxied, '203.0.113.5'],
    ['short forms of IPv4 are none', { 'x-forwarded-for': '1' }, proxied, 'unknown'],
  ])('T7: %s', (_, headers, settings, subject) => {
    expect(find(headers as Record<string, string>, settings).subject).toBe(subject)
  })

  test('T7: only a direct request to a loopback host is local', () => {
    expect(find({}, {}).isLoopback).toBe(true)
    expect(find({}, {}, false).isLoopback).toBe(false)
    expect(find({ via: '1.1 proxy' }, {}).isLoopback).toBe(false)
    expect(find({ 'x-forwarded-for': '127.0.0.1' }, proxied).isLoopback).toBe(false)
  })

  test('T7: an invalid network is an invalid setting', () => {
    for (const text of ['10.0.0.0/99', 'proxy', '10', ''])
      if (text) expect(() => readSettings({ ROOKERY_TRUSTED_PROXIES: text })).toThrow(/PROXIES/)
  })
})

test('T7: the headers of a refusal say whole seconds, at least one', () => {
  const refused = { isAllowed: false, limit: 5, remaining: 0, resetsAt: 1_001, retryAfterMs: 1 }
  expect(describeDecision(refused)).toEqual({
    'x-ratelimit-limit': '5',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': '2',
    'retry-after': '1',
  })
})

import { afterEach, describe, expect, test, vi } from 'vitest'
import { createPushSender, derivePushKey } from '../../src/mcp-servers/push-sender'
import { createSoftwareBrowser, type ReceivedPush } from '../support/software-browser'

const vaultKey = (letter: string) => `${letter.repeat(42)}E=`
const message = { title: 'Hub', body: 'It is ünïcode.', path: '/p/1', tag: 't' }
const received: ReceivedPush[] = []

const answerWith = (status: number, headers: Record<string, string> = {}) =>
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const request = new Request(input as string, init as RequestInit)
    const { url, headers: sent } = request
    received.push({ url, headers: sent, body: await request.arrayBuffer() })
    return new Response(null, { status, headers })
  })

afterEach(() => {
  vi.restoreAllMocks()
  received.length = 0
})

async function setUp(origin = 'https://push.example', vaultKeys = [vaultKey('A')]) {
  const sender = createPushSender({ vaultKeys, origins: ['https://hub.example'] })
  const browser = await createSoftwareBrowser(origin)
  const { endpoint, p256dh, auth } = browser
  const target = { endpoint, p256dh, auth, serverKey: (await sender.readPublicKey()) ?? '' }
  return { sender, browser, target }
}

test('C4: a message is encrypted for the browser and signed with the key that it was given', async () => {
  answerWith(201)
  const { sender, browser, target } = await setUp()
  expect(await sender.send(target, message)).toEqual({ kind: 'sent' })
  const [sent] = received
  expect(sent?.url).toBe(target.endpoint)
  expect(await browser.read(sent?.body ?? new ArrayBuffer(0))).toEqual(message)
  expect(sent?.headers.get('content-encoding')).toBe('aes128gcm')
  expect(Number(sent?.headers.get('ttl'))).toBeGreaterThan(0)

  const [, token = '', key = ''] =
    /^vapid t=([\w.-]+), k=([\w-]+)$/.exec(sent?.headers.get('authorization') ?? '') ?? []
  expect(key).toBe(target.serverKey)
  const decode = (text: string) =>
    Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0))
  const [head = '', claims = '', signature = ''] = token.split('.')
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const publicKey = await crypto.subtle.importKey('raw', decode(key), algorithm, false, ['verify'])
  const signed = new TextEncoder().encode(`${head}.${claims}`)
  expect(await crypto.subtle.verify(algorithm, publicKey, decode(signature), signed)).toBe(true)
  expect(JSON.parse(new TextDecoder().decode(decode(claims)))).toMatchObject({
    aud: 'https://push.example',
    sub: 'https://hub.example',
  })
})

test('C4: the key is the same for the same vault key, and another for another', async () => {
  const keys = await Promise.all(['A', 'A', 'B'].map((letter) => derivePushKey(vaultKey(letter))))
  expect(keys[0]).toEqual(keys[1])
  expect(keys[2]?.publicKey).not.toBe(keys[0]?.publicKey)
  expect(keys[0]?.publicKey).toMatch(/^B[\w-]{86}$/)
})

test('C4: after a change of the vault key, browsers of the old one are still reached', async () => {
  answerWith(201)
  const { target } = await setUp()
  const rotated = createPushSender({ vaultKeys: [vaultKey('B'), vaultKey('A')], origins: [] })
  expect(await rotated.send(target, message)).toEqual({ kind: 'sent' })
  const lost = createPushSender({ vaultKeys: [vaultKey('B')], origins: [] })
  expect((await lost.send(target, message)).kind).toBe('refused')
  expect(await createPushSender({ vaultKeys: [], origins: [] }).readPublicKey()).toBeNull()
})

test.each([
  [404, {}, 'gone', undefined],
  [410, {}, 'gone', undefined],
  [400, {}, 'refused', null],
  [413, {}, 'refused', null],
  [429, { 'retry-after': '120' }, 'failed', 120_000],
  [503, {}, 'failed', null],
] as const)('C4: a push service that answers %i', async (status, headers, kind, retryAfterMs) => {
  answerWith(status, headers)
  const { sender, target } = await setUp()
  const result = await sender.send(target, message)
  expect(result.kind).toBe(kind)
  expect('retryAfterMs' in result ? result.retryAfterMs : undefined).toBe(retryAfterMs)
})

describe('C4: an address that a browser names', () => {
  test.each([
    'http://push.example',
    'https://localhost',
    'https://127.0.0.1:8787',
    'https://169.254.169.254',
    'https://[::1]',
  ])('%s gets no request', async (origin) => {
    answerWith(201)
    const { sender, target } = await setUp(origin)
    expect((await sender.send(target, message)).kind).toBe('refused')
    expect(received).toEqual([])
  })

  test('does not pass the message on to another host', async () => {
    answerWith(307, { location: 'https://elsewhere.example/' })
    const { sender, target } = await setUp()
    expect((await sender.send(target, message)).kind).not.toBe('sent')
    expect(received).toHaveLength(1)
  })

  test('a connection that fails is tried again, keys that are none are not', async () => {
    vi.spyOn(globalThis, 'fetch').mockRejectedValue(new TypeError('connection refused'))
    const { sender, target } = await setUp()
    expect((await sender.send(target, message)).kind).toBe('failed')
    expect((await sender.send({ ...target, p256dh: 'AAAA' }, message)).kind).toBe('refused')
  })
})

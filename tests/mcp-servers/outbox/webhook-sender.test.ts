import { Webhook } from 'standardwebhooks'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { createCipher } from '../../../src/mcp-servers/credentials/cipher'
import {
  createSecret,
  createWebhookSender,
  signMessage,
} from '../../../src/mcp-servers/outbox/webhook-sender'
import { fromBase64 } from '../../../src/shared/base64'
import { webhookLimits } from '../../../src/shared/config'

const vaultKey = (letter: string) => `${letter.repeat(42)}E=`
const url = 'https://receiver.example/in/T00/B00/token'

interface Sent {
  url: string
  headers: Record<string, string>
  text: string
  redirect: string
}

const sent: Sent[] = []
let now = Date.UTC(2026, 0, 1)

const answerWith = (answer: () => Response | Promise<Response>) =>
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const request = new Request(input as string, init as RequestInit)
    const { redirect, headers } = request
    const text = await request.text()
    sent.push({ url: request.url, headers: Object.fromEntries(headers), text, redirect })
    return answer()
  })

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
  sent.length = 0
})

const createSender = (resolve?: (hostname: string) => Promise<string[]>, key = vaultKey('A')) =>
  createWebhookSender({ cipher: createCipher([key]), clock: { now: () => now }, resolve })

async function setUp(resolve?: (hostname: string) => Promise<string[]>) {
  const sender = createSender(resolve)
  const created = await sender.create('hook', url)
  const message = { webhookId: 'hook', sealed: created.sealed, id: 'msg_1', body: '{"a":"ü"}' }
  return { sender, created, message }
}

describe('O1: signatures', () => {
  test('are those of the published vector of Standard Webhooks', async () => {
    const message = {
      id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      timestamp: 1614265330,
      body: '{"test": 2432232314}',
    }
    expect(await signMessage(message, ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'])).toEqual({
      'webhook-id': message.id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    })
  })

  test('are verified by its library, for secrets of 24 to 64 bytes as it has them', async () => {
    const secret = createSecret()
    expect(secret.startsWith('whsec_')).toBe(true)
    const { length } = fromBase64(secret.slice('whsec_'.length))
    expect(length).toBeGreaterThanOrEqual(24)
    expect(length).toBeLessThanOrEqual(64)
    const body = '{"text":"ünïcode \\u0000 😀"}'
    const timestamp = Math.floor(Date.now() / 1000)
    const headers = await signMessage({ id: 'msg_2', timestamp, body }, [secret])
    expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body))
    expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow()
    expect(() => new Webhook(createSecret()).verify(body, headers)).toThrow()
  })

  test('are made with the old and the new secret for a day after a rotation', async () => {
    answerWith(() => new Response(null, { status: 200 }))
    vi.useFakeTimers({ toFake: ['Date'] })
    const { sender, created, message } = await setUp()
    const { secret, sealed } = await sender.rotate('hook', created.sealed)
    const verify = async (at: number) => {
      now = at
      vi.setSystemTime(at)
      sent.length = 0
      await sender.send({ ...message, sealed })
      const [{ text, headers } = { text: '', headers: {} }] = sent
      return [created.secret, secret].map((each) => {
        try {
          return new Webhook(each).verify(text, headers) !== undefined
        } catch {
          return false
        }
      })
    }
    const rotatedAt = now
    expect(await verify(rotatedAt + webhookLimits.rotationMs - 1)).toEqual([true, true])
    expect(await verify(rotatedAt + webhookLimits.rotationMs)).toEqual([false, true])
    now = rotatedAt
  })

  test('are made with the first secret too when rotating was asked for twice', async () => {
    answerWith(() => new Response(null, { status: 200 }))
    const { sender, created, message } = await setUp()
    let { sealed } = created
    for (let rotated = 0; rotated < 2; rotated++) ({ sealed } = await sender.rotate('hook', sealed))
    vi.setSystemTime(now)
    await sender.send({ ...message, sealed })
    const [{ text, headers } = { text: '', headers: {} }] = sent
    expect(new Webhook(created.secret).verify(text, headers)).toBeDefined()
    for (let rotated = 0; rotated < 9; rotated++) ({ sealed } = await sender.rotate('hook', sealed))
    await sender.send({ ...message, sealed })
    expect(sent.at(-1)?.headers['webhook-signature']?.split(' ')).toHaveLength(5)
  })
})

describe('O1: what the hub stores of a webhook', () => {
  test('has neither its secret nor the path of its URL, and opens for this webhook only', async () => {
    const { sender, created, message } = await setUp()
    expect(created).toMatchObject({
      url: 'https://receiver.example/…oken',
      host: 'receiver.example',
    })
    const { secret, ...stored } = created
    expect(JSON.stringify(stored)).not.toContain(secret)
    expect(JSON.stringify(stored)).not.toContain('T00')
    const fetched = answerWith(() => new Response(null, { status: 200 }))
    const other = await sender.send({ ...message, webhookId: 'another' })
    expect(other.kind).toBe('failed')
    expect(fetched).not.toHaveBeenCalled()
  })

  test('keeps its secret when its URL changes', async () => {
    answerWith(() => new Response(null, { status: 200 }))
    vi.useFakeTimers({ now, toFake: ['Date'] })
    const { sender, created, message } = await setUp()
    const moved = await sender.move('hook', created.sealed, 'https://other.example/x')
    await sender.send({ ...message, sealed: moved.sealed })
    expect(sent[0]?.url).toBe('https://other.example/x')
    expect(new Webhook(created.secret).verify(sent[0]?.text ?? '', sent[0]?.headers ?? {})).toEqual(
      { a: 'ü' },
    )
  })

  test('cannot be made without a vault key', async () => {
    const sender = createWebhookSender({ cipher: createCipher([]), clock: { now: () => now } })
    await expect(sender.create('hook', url)).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  })
})

describe('O1: requests', () => {
  test.each([
    'http://receiver.example/',
    'https://localhost/',
    'https://127.0.0.1/',
    'https://10.0.0.1/',
    'https://169.254.169.254/latest',
    'https://[::1]/',
    'https://0x7f.1/',
    'https://me:secret@receiver.example/',
  ])('are refused when the webhook is created: %s', async (given) => {
    await expect(createSender().create('hook', given)).rejects.toMatchObject({
      code: 'VALIDATION',
    })
  })

  test('are not sent once the name leads to a private address', async () => {
    const fetched = answerWith(() => new Response(null, { status: 200 }))
    let address = '93.184.216.34'
    const { sender, message } = await setUp(async () => [address])
    expect(await sender.send(message)).toMatchObject({ kind: 'sent' })
    for (address of ['127.0.0.1', '10.1.2.3', 'fd00::1']) {
      expect(await sender.send(message)).toMatchObject({
        kind: 'failed',
        answer: expect.stringContaining('no public address'),
      })
    }
    expect(fetched).toHaveBeenCalledTimes(1)
  })

  test.each([301, 302, 303, 307, 308])('follow no redirect: %i', async (status) => {
    const location = 'https://169.254.169.254/'
    answerWith(() => new Response(null, { status, headers: { location } }))
    const { sender, message } = await setUp()
    expect(await sender.send(message)).toMatchObject({ kind: 'failed' })
    expect(sent.map((each) => [each.url, each.redirect])).toEqual([[url, 'manual']])
  })

  test('read nothing of an endless answer', async () => {
    let isCancelled = false
    let pulled = 0
    const endless = () =>
      new ReadableStream({
        pull: (controller) => {
          pulled++
          controller.enqueue(new Uint8Array(65_536))
        },
        cancel: () => {
          isCancelled = true
        },
      })
    answerWith(() => new Response(endless(), { status: 200 }))
    const { sender, message } = await setUp()
    expect(await sender.send(message)).toMatchObject({ kind: 'sent' })
    expect(isCancelled).toBe(true)
    expect(pulled).toBeLessThanOrEqual(2)
  })

  test('end when the receiver does not answer', async () => {
    const timeout = new AbortController()
    vi.spyOn(AbortSignal, 'timeout').mockReturnValue(timeout.signal)
    vi.spyOn(globalThis, 'fetch').mockImplementation(
      (_, init) =>
        new Promise((_resolve, reject) => {
          init?.signal?.addEventListener('abort', () => reject(init.signal?.reason))
          timeout.abort(new DOMException('The operation timed out.', 'TimeoutError'))
        }),
    )
    const { sender, message } = await setUp()
    expect(await sender.send(message)).toMatchObject({
      kind: 'failed',
      answer: 'It timed out after 10 s.',
    })
    expect(AbortSignal.timeout).toHaveBeenCalledWith(webhookLimits.timeoutMs)
  })

  test.each([
    [200, 'sent'],
    [204, 'sent'],
    [400, 'refused'],
    [404, 'refused'],
    [410, 'gone'],
    [429, 'failed'],
    [500, 'failed'],
    [503, 'failed'],
  ])('answered %i are %s', async (status, kind) => {
    answerWith(() => new Response(status === 204 ? null : 'a secret of the receiver', { status }))
    const { sender, message } = await setUp()
    expect(await sender.send(message)).toEqual({
      kind,
      answer: `It answered ${status}.`,
      retryAfterMs: null,
    })
  })

  test('are tried again when the receiver says', async () => {
    answerWith(() => new Response(null, { status: 429, headers: { 'retry-after': '120' } }))
    const { sender, message } = await setUp()
    expect(await sender.send(message)).toMatchObject({ retryAfterMs: 120_000 })
  })
})

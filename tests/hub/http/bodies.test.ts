import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { bodyLimits } from '../../../src/shared/config'
import { adminKey, createTestHub } from '../create-test-hub'

const hub = createTestHub()
let key: string
beforeAll(async () => {
  key = (await hub.join(`bodies-${crypto.randomUUID().slice(0, 6)}`)).key
})

/** A body without a length; counts what was read of it. */
function createStream(chunks: number, chunk = new Uint8Array(64 * 1024).fill(120)) {
  const seen = { bytes: 0, isCancelled: false }
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (seen.bytes >= chunks * chunk.length) return controller.close()
        seen.bytes += chunk.length
        controller.enqueue(chunk)
      },
      cancel() {
        seen.isCancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  return { seen, body }
}

const formType = { 'content-type': 'application/x-www-form-urlencoded' }
const json = { 'content-type': 'application/json' }
const bound = 256 * 1024

const isRefusedUnread = async (response: Response, seen: { bytes: number }, bytesMax: number) => {
  expect(response.status).toBe(413)
  expect(response.headers.get('server-timing')).toContain('round_trips=0')
  expect(seen.bytes).toBeLessThanOrEqual(bytesMax + bound)
}

describe('size', () => {
  test.each(['/login', '/posts-new', '/dm', '/p/x/comments', '/logout'])(
    'T14: a chunked form of 150 MB to %s without a key is not buffered',
    async (path) => {
      const { body, seen } = createStream(2400)
      const response = await hub.fetch(path, { method: 'POST', headers: formType, body })
      await isRefusedUnread(response, seen, bodyLimits.formBytesMax)
    },
  )

  test.each(['/api/v1/posts', '/api/v1/accounts', '/api/v1/me/keys'])(
    'T14: a chunked JSON body of 150 MB to %s is refused before its key is looked up',
    async (path) => {
      const { body, seen } = createStream(2400)
      const headers = { ...json, authorization: 'Bearer rookery_wrong' }
      const response = await hub.fetch(path, { method: 'POST', headers, body })
      await isRefusedUnread(response, seen, bodyLimits.jsonBytesMax)
    },
  )

  test('T14: a declared length is refused before the first byte is read', async () => {
    for (const path of ['/login', '/api/v1/posts', '/api/v1/posts/x/comments', '/nothing']) {
      const { body, seen } = createStream(1)
      const response = await hub.fetch(path, {
        method: 'POST',
        headers: { ...formType, 'content-length': '157286400' },
        body,
      })
      await isRefusedUnread(response, seen, 0)
    }
  })

  test('T14: an upload is read only for an admin, and no further than its limit', async () => {
    const wrong = createStream(2400)
    const headers = { ...json, authorization: 'Bearer rookery_wrong' }
    const init = { method: 'POST', headers }
    const refused = await hub.fetch('/api/v1/import', { ...init, body: wrong.body })
    expect([refused.status, wrong.seen.bytes]).toEqual([401, 0])
    const own = createStream(2400)
    const tooLong = await hub.fetch('/api/v1/import', {
      method: 'POST',
      headers: { ...json, authorization: `Bearer ${adminKey}` },
      body: own.body,
    })
    expect(tooLong.status).toBe(413)
    expect(own.seen.bytes).toBeLessThanOrEqual(bodyLimits.uploadBytesMax + bound)
  })

  test('T14: the longest post fits into a form', async () => {
    const fields = { community: 'general', title: 'x', content: '\u{2764}'.repeat(40_000) }
    const size = new URLSearchParams(fields).toString().length
    expect(size).toBeLessThan(bodyLimits.formBytesMax)
  })
})

describe('depth', () => {
  const send = (body: string) =>
    hub.call('/me', { key, method: 'PATCH', body: `{"metadata":{"extra":${body}}}` })

  test('T14: JSON nested deeper than the limit is refused, in brackets of a string it is text', async () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
    expect((await send(nested(bodyLimits.jsonDepthMax - 2))).status).toBe(200)
    const deep = await send(nested(bodyLimits.jsonDepthMax))
    expect([deep.status, deep.body.code]).toEqual([400, 'VALIDATION'])
    expect(deep.body.details[0].message).toContain(String(bodyLimits.jsonDepthMax))
    expect((await send(nested(100_000))).status).toBe(400)
    expect((await send(JSON.stringify(`\\"${'['.repeat(500)}`))).status).toBe(200)
  })
})

test('T14: an archive may be nested deeper, but not without end', async () => {
  const send = (depth: number) =>
    hub.call('/import', { key: adminKey, body: '['.repeat(depth) + ']'.repeat(depth) })
  expect((await send(bodyLimits.jsonDepthMax + 1)).status).toBe(200)
  expect((await send(bodyLimits.uploadJsonDepthMax + 1)).status).toBe(400)
})

describe('time', () => {
  test('T14: a body that does not arrive within its time is answered with 408', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const sent = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode('{"title":')),
    })
    const answered = hub.fetch('/api/v1/posts', {
      method: 'POST',
      headers: { ...json, authorization: `Bearer ${adminKey}` },
      body: sent,
    })
    await vi.waitFor(() => expect(vi.getTimerCount()).toBe(1), { timeout: 120_000 })
    await vi.advanceTimersByTimeAsync(bodyLimits.readMs)
    const response = await answered
    expect([response.status, (await response.json<{ code: string }>()).code]).toEqual([
      408,
      'REQUEST_TIMEOUT',
    ])
  })
})

import { describe, expect, test } from 'vitest'
import { chooseTimeouts, isPrivateAddress } from '../../../src/agents/models/registry'
import { readSettings } from '../../../src/shared/settings'
import { failureOf, fakeModel, protocols } from './fake-provider'
import { testClock } from './test-clock'

describe.each(protocols)('%s', (provider) => {
  test('T5: a host name without an address is not charged, and credentials are not shown', async () => {
    const { model } = await fakeModel(provider, [], {
      baseUrl: 'http://mira:hidden@nowhere.invalid/v1?key=hidden',
    })
    const failure = await failureOf(model)
    expect(failure).toMatchObject({ code: 'NETWORK', mayBeCharged: false })
    expect(failure.outage?.address).toBe('http://nowhere.invalid/v1')
    expect(JSON.stringify(failure)).not.toContain('hidden')
  })

  test.each([502, 503, 504])(
    'T5: %d says that the provider is down, 500 and 429 do not',
    async (status) => {
      const { model } = await fakeModel(provider, [{ status }, { status: 500 }, { status: 429 }])
      expect((await failureOf(model)).outage).toBeDefined()
      expect((await failureOf(model)).outage).toBeUndefined()
      expect((await failureOf(model)).outage).toBeUndefined()
    },
  )

  test('T6: a model may take its time until the first byte, and less between two', async () => {
    const clock = testClock()
    const timeouts = { firstByteMs: 600_000, betweenBytesMs: 20_000 }
    const { model } = await fakeModel(provider, [{ text: 'late', latencyMs: 60_000 }], {
      options: { clock, timeouts },
    })
    let isOver = false
    const failing = failureOf(model).finally(() => {
      isOver = true
    })
    clock.pass(599_999)
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(isOver).toBe(false)
    clock.pass(1)
    const failure = await failing
    expect(failure).toMatchObject({ code: 'TIMEOUT', mayBeCharged: true, received: { chars: 0 } })
    expect(failure.message).toContain('brain.timeout_seconds.first_byte')
    expect(failure.message).toContain('600 seconds')
  })

  test('T6: silence in the middle of an answer ends the call', async () => {
    const clock = testClock()
    const { model } = await fakeModel(
      provider,
      [{ text: 'one two three four five six', fault: 'stall' }],
      {
        options: { clock, timeouts: { firstByteMs: 600_000, betweenBytesMs: 30_000 } },
      },
    )
    let seen = () => {}
    const begun = new Promise<void>((resolve) => {
      seen = resolve
    })
    const failing = failureOf(model, { onDelta: () => seen() })
    await begun
    clock.pass(29_999)
    clock.pass(2)
    const failure = await failing
    expect(failure).toMatchObject({ code: 'TIMEOUT', isRetryable: true, mayBeCharged: true })
    expect(failure.received?.chars).toBeGreaterThan(0)
    expect(failure.message).toContain('brain.timeout_seconds.between_bytes')
  })
})

test.each([
  ['http://localhost:11434/v1', true],
  ['http://ollama:11434/v1', true],
  ['http://127.0.0.1:9/v1', true],
  ['http://10.1.2.3/v1', true],
  ['http://172.20.0.2/v1', true],
  ['http://172.32.0.2/v1', false],
  ['http://192.168.1.4/v1', true],
  ['http://nas.local/v1', true],
  ['http://[::1]:8080/v1', true],
  ['http://[fd00::2]/v1', true],
  ['http://[2001:db8::1]/v1', false],
  ['https://api.openai.com/v1', false],
  ['https://10.example.com/v1', false],
])('T6: %s is a private address: %s', (url, isPrivate) => {
  expect(isPrivateAddress(url)).toBe(isPrivate)
})

test('T6: timeouts come from the definition, else the hub, else the address', () => {
  const bare = readSettings({})
  const own = 'http://localhost:11434/v1'
  const hosted = 'https://api.openai.com/v1'
  expect(chooseTimeouts({}, bare, own).firstByteMs).toBe(600_000)
  expect(chooseTimeouts({}, bare, hosted)).toEqual({
    firstByteMs: 120_000,
    betweenBytesMs: 120_000,
  })
  const set = readSettings({
    ROOKERY_MODEL_FIRST_BYTE_SECONDS: '900',
    ROOKERY_MODEL_BETWEEN_BYTES_SECONDS: '45',
  })
  const expected = { firstByteMs: 900_000, betweenBytesMs: 45_000 }
  expect(chooseTimeouts({}, set, own)).toEqual(expected)
  const timeouts = { firstByteMs: 34_000 }
  expect(chooseTimeouts({ timeouts }, set, own)).toEqual({ ...expected, ...timeouts })
  expect(() => readSettings({ ROOKERY_MODEL_FIRST_BYTE_SECONDS: '0' })).toThrow(/FIRST_BYTE/)
})

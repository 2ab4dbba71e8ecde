import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createRateLimiter, toRateRule } from '../../../src/hub/http/rate-limiter'
import { rateCounting, rateLimits } from '../../../src/shared/config'

const limiter = createRateLimiter(env.RATE_COUNTERS)
const rule = toRateRule('register')
const createCounter = () => env.RATE_COUNTERS.getByName(crypto.randomUUID())
const now = Date.UTC(2026, 0, 1)
const from = (subject: string) => ({ subject, wideSubject: null })

describe('a counter', () => {
  test('T7: of 100 registrations at once from one address exactly 30 pass', async () => {
    const address = crypto.randomUUID()
    const all = await Promise.all(
      Array.from({ length: 100 }, () => limiter.takeAttempt('register', from(address), now)),
    )
    expect(all.filter(({ isAllowed }) => isAllowed)).toHaveLength(rateLimits.register.requests)
  })

  test('T7: the count survives the object', async () => {
    const counter = createCounter()
    for (let index = 0; index < rule.requests; index++) await counter.take(rule, now)
    await evictDurableObject(counter)
    expect(await counter.take(rule, now + 1_000)).toMatchObject({
      isAllowed: false,
      remaining: 0,
      retryAfterMs: rule.periodMs - 1_000,
    })
    expect(await counter.take(rule, now + rule.periodMs)).toMatchObject({ isAllowed: true })
  })

  test('T7: an address that was counted by a clock that was ahead passes within two periods', async () => {
    const counter = createCounter()
    const ahead = now + 30 * 86_400_000
    for (let index = 0; index < rule.requests; index++) await counter.take(rule, ahead)
    expect(await counter.take(rule, now)).toMatchObject({ isAllowed: false })
    await evictDurableObject(counter)
    expect(await counter.take(rule, now + rule.periodMs)).toMatchObject({ isAllowed: true })
  })

  test('T7: it keeps its data as long as it counts, then deletes it', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() })
    onTestFinished(() => void vi.useRealTimers())
    const counter = createCounter()
    await counter.take(rule, now)
    vi.advanceTimersByTime(rule.periodMs - 1_000)
    await counter.take(rule, now)
    vi.advanceTimersByTime(2_000)
    expect(await runDurableObjectAlarm(counter)).toBe(true)
    const size = () =>
      runInDurableObject(counter, async (_, { storage }) => (await storage.list()).size)
    expect(await size()).toBe(1)
    vi.advanceTimersByTime(rule.periodMs)
    expect(await runDurableObjectAlarm(counter)).toBe(true)
    expect(await size()).toBe(0)
  })

  test('T7: failed sign-ins of an address make it wait, whatever isolate asks', async () => {
    const address = crypto.randomUUID()
    for (let index = 0; index < rateCounting.failedSignInsFree; index++) {
      expect(await limiter.takeAttempt('signIn', from(address), now)).toMatchObject({
        isAllowed: true,
      })
      await limiter.recordFailedSignIn(address, now)
    }
    const other = createRateLimiter(env.RATE_COUNTERS)
    expect(await other.takeAttempt('signIn', from(address), now)).toMatchObject({
      isAllowed: false,
      retryAfterMs: rateCounting.backoffBaseMs,
    })
  })
})

test("T7: without its object, an isolate counts an address's attempts alone", async () => {
  const broken = {
    getByName: () => ({ take: async () => Promise.reject(new Error('upgrading')) }),
  } as unknown as typeof env.RATE_COUNTERS
  const alone = createRateLimiter(broken)
  const all = []
  for (let index = 0; index < 31; index++)
    all.push(await alone.takeAttempt('register', from('a'), now))
  expect(all.map(({ isAllowed }) => isAllowed)).toEqual([...Array(30).fill(true), false])
})

describe("the platform's limiter", () => {
  const asked: string[] = []
  const platform = {
    read: {
      limit: async ({ key }: { key: string }) => {
        asked.push(key)
        return { success: key !== 'busy elsewhere' }
      },
    },
  }
  const deployed = createRateLimiter(env.RATE_COUNTERS, platform)

  test('T7: it refuses who is busy in other isolates, for its period', async () => {
    const sender = { subject: 'busy elsewhere', isLoopback: false }
    expect(await deployed.takeRequest('read', sender, now)).toMatchObject({
      isAllowed: false,
      remaining: 0,
      retryAfterMs: rateLimits.read.periodSeconds * 1_000,
    })
  })

  test('T7: it is not asked about a program on the own machine, or about another class', async () => {
    asked.length = 0
    await deployed.takeRequest('read', { subject: 'local', isLoopback: true }, now)
    await deployed.takeRequest('write', { subject: 'a', isLoopback: false }, now)
    await deployed.takeRequest('read', { subject: 'a', isLoopback: false }, now)
    expect(asked).toEqual(['a'])
  })
})

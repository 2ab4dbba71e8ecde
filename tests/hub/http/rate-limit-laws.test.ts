import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Attempts,
  addFailure,
  type Bucket,
  boundAttempts,
  computeBackoff,
  type Failures,
  noAttempts,
  type RateRule,
  RecentMap,
  takeAttempt,
  takeToken,
} from '../../../src/hub/http/rate-counting'
import { rateCounting } from '../../../src/shared/config'

const rules = fc.record({
  requests: fc.integer({ min: 1, max: 50 }),
  periodMs: fc.integer({ min: 1, max: 100_000 }),
})
/** Times of requests, by the pauses between them. */
const times = fc
  .array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 200 })
  .map((pauses) => {
    let now = 0
    return pauses.map((pause) => {
      now += pause
      return now
    })
  })

const takeAll = (rule: RateRule, at: number[]) => {
  let bucket: Bucket | undefined
  return at.map((now) => {
    const taken = takeToken(bucket, rule, now)
    bucket = taken.bucket
    return { now, ...taken.decision }
  })
}

const attemptAll = (rule: RateRule, at: number[]) => {
  let attempts: Attempts = noAttempts
  return at.map((now) => {
    const taken = takeAttempt(attempts, rule, now)
    attempts = taken.attempts
    return { now, ...taken.decision }
  })
}

describe('requests', () => {
  test('T7: between any two times no more requests pass than a full bucket and its refill', async () => {
    await fc.assert(
      fc.property(rules, times, (rule, at) => {
        const passed = takeAll(rule, at).filter(({ isAllowed }) => isAllowed)
        passed.forEach((first, index) => {
          passed.slice(index).forEach((last, count) => {
            const refill = ((last.now - first.now) * rule.requests) / rule.periodMs
            expect(count + 1).toBeLessThanOrEqual(rule.requests + refill + 1e-6)
          })
        })
      }),
    )
  })

  test('T7: a client that sends evenly below the limit is never refused', async () => {
    await fc.assert(
      fc.property(rules, fc.integer({ min: 1, max: 300 }), (rule, count) => {
        const pause = Math.ceil(rule.periodMs / rule.requests)
        const at = Array.from({ length: count }, (_, index) => index * pause)
        expect(takeAll(rule, at).every(({ isAllowed }) => isAllowed)).toBe(true)
      }),
    )
  })

  test('T7: who waits as long as the answer says passes, and not a millisecond less', async () => {
    await fc.assert(
      fc.property(rules, times, (rule, at) => {
        let bucket: Bucket | undefined
        for (const now of at) {
          const { bucket: next, decision } = takeToken(bucket, rule, now)
          if (!decision.isAllowed) {
            const { retryAfterMs } = decision
            expect(takeToken(next, rule, now + retryAfterMs).decision.isAllowed).toBe(true)
            const early = takeToken(next, rule, now + retryAfterMs - 1).decision
            expect(early.isAllowed).toBe(false)
          }
          bucket = next
        }
      }),
    )
  })

  test('T7: a clock that steps back gives no request away', () => {
    const rule = { requests: 2, periodMs: 1_000 }
    const decisions = takeAll(rule, [10_000, 10_000, 9_500, 10_000])
    expect(decisions.map(({ isAllowed }) => isAllowed)).toEqual([true, true, false, false])
  })

  test('T7: after a clock was set back nobody waits longer than for two periods', async () => {
    await fc.assert(
      fc.property(rules, times, fc.integer({ min: 0, max: 1_000_000_000 }), (rule, at, jumpMs) => {
        const ahead = at.map((now) => now + jumpMs)
        const [first, later] = [takeAll(rule, [...ahead, 0]), 2 * rule.periodMs]
        expect(first.at(-1)?.retryAfterMs).toBeLessThanOrEqual(rule.periodMs)
        expect(takeAll(rule, [...ahead, 0, later]).at(-1)?.isAllowed).toBe(true)
      }),
    )
  })
})

describe('attempts', () => {
  test('T7: after a clock was set back nobody waits longer than for two periods, or for the longest backoff twice', async () => {
    const jumps = fc.integer({ min: 0, max: 1_000_000_000 })
    await fc.assert(
      fc.property(rules, times, jumps, fc.nat({ max: 50 }), (rule, at, jumpMs, count) => {
        const ahead = at.map((now) => now + jumpMs)
        let attempts: Attempts = noAttempts
        for (const now of ahead) attempts = takeAttempt(attempts, rule, now).attempts
        const failures = count === 0 ? null : { count, at: ahead.at(-1) ?? 0 }
        // stored, as the counter does it, although it is refused
        const bounded = boundAttempts({ ...attempts, failures }, rule, 0)
        const later = 2 * Math.max(rule.periodMs, rateCounting.backoffCapMs)
        expect(takeAttempt(bounded, rule, later).decision.isAllowed).toBe(true)
        expect(boundAttempts(bounded, rule, 1)).toBe(bounded)
      }),
    )
  })

  test('T7: in any period exactly the limit passes', async () => {
    await fc.assert(
      fc.property(rules, times, (rule, at) => {
        const all = attemptAll(rule, at)
        all.forEach(({ now, isAllowed }, index) => {
          const before = all.slice(0, index).filter((each) => each.isAllowed)
          const recent = before.filter((each) => each.now > now - rule.periodMs).length
          expect(isAllowed).toBe(recent < rule.requests)
        })
      }),
    )
  })

  test('T7: a refused attempt passes after the wait, and not a millisecond before', async () => {
    await fc.assert(
      fc.property(rules, times, (rule, at) => {
        let attempts: Attempts = noAttempts
        for (const now of at) {
          const taken = takeAttempt(attempts, rule, now)
          attempts = taken.attempts
          if (taken.decision.isAllowed) continue
          const wait = taken.decision.retryAfterMs
          expect(takeAttempt(attempts, rule, now + wait).decision.isAllowed).toBe(true)
          expect(takeAttempt(attempts, rule, now + wait - 1).decision.isAllowed).toBe(false)
        }
      }),
    )
  })
})

describe('backoff', () => {
  const { failedSignInsFree: free, backoffBaseMs, backoffCapMs, forgetMs } = rateCounting
  const fail = (count: number, now = 0) => {
    let failures: Failures | null = null
    for (let index = 0; index < count; index++) failures = addFailure(failures, now)
    return failures
  }

  test('T7: the first failures cost nothing, then the wait doubles up to its maximum', () => {
    expect(computeBackoff(fail(free - 1), free, 0)).toBe(0)
    const waits = Array.from({ length: 12 }, (_, index) =>
      computeBackoff(fail(free + index), free, 0),
    )
    expect(waits.slice(0, 3)).toEqual([backoffBaseMs, 2 * backoffBaseMs, 4 * backoffBaseMs])
    expect(waits.at(-1)).toBe(backoffCapMs)
  })

  test('T7: failures are forgotten after a quiet time, and only then', () => {
    const failures = fail(free)
    expect(addFailure(failures, forgetMs - 1).count).toBe(free + 1)
    expect(addFailure(failures, forgetMs).count).toBe(1)
  })
})

test('T7: a map of subjects drops those that were not set for longest, and never grows', () => {
  const map = new RecentMap<number>(3)
  for (const name of ['a', 'b', 'c']) map.set(name, 1)
  map.set('a', 2)
  map.set('d', 1)
  expect(['a', 'b', 'c', 'd'].map((name) => map.get(name))).toEqual([2, undefined, 1, 1])
})

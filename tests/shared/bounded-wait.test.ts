import fc from 'fast-check'
import { expect, test } from 'vitest'
import { boundWait, isWaitOver } from '../../src/shared/bounded-wait'

const time = fc.integer({ min: 0, max: 4_000_000_000_000 })
const longest = fc.integer({ min: 0, max: 100_000_000 })

test('L36: a bounded wait ends as stored when its rule allows that, and never later than its rule allows', () => {
  fc.assert(
    fc.property(time, time, longest, (storedAt, now, longestMs) => {
      const bounded = boundWait(storedAt, now, longestMs)
      expect(bounded).toBeLessThanOrEqual(now + longestMs)
      expect(bounded === storedAt).toBe(storedAt <= now + longestMs)
      // stored, it is not moved again
      expect(boundWait(bounded, now + 1, longestMs)).toBe(bounded)
    }),
  )
})

test('L36: a wait is over when its time has come, or when no rule can have stored its time', () => {
  fc.assert(
    fc.property(time, time, longest, (storedAt, now, longestMs) => {
      const isWithin = storedAt > now && storedAt <= now + longestMs
      expect(isWaitOver(storedAt, now, longestMs)).toBe(!isWithin)
    }),
  )
})

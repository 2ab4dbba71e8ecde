import type { Clock } from '../../../src/agents/models/model-port'

/** A clock whose timers fire when the test advances it. */
export function testClock(): Clock & { pass(ms: number): void; untilAsked(): Promise<void> } {
  let now = 1_000_000
  const alarms = new Set<{ at: number; action: () => void }>()
  let tellAsked = () => {}
  return {
    now() {
      tellAsked()
      return now
    },
    /** Resolves at the next read of the clock. */
    untilAsked: () =>
      new Promise((resolve) => {
        tellAsked = resolve
      }),
    setTimer(ms, action) {
      const alarm = { at: now + ms, action }
      alarms.add(alarm)
      return () => alarms.delete(alarm)
    },
    pass(ms) {
      now += ms
      for (const alarm of [...alarms].filter(({ at }) => at <= now)) {
        alarms.delete(alarm)
        alarm.action()
      }
    },
  }
}

import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { SchedulerShell } from '../../../src/agents/scheduler/scheduler-shell'
import { scheduling } from '../../../src/config'
import type { AccountId } from '../../../src/ids'

const { sweepIntervalMs, sweepArmedMs, sweepSlowMs } = scheduling

/** Sweeps of an hour in which the hub always names one agent; `reaches` is asked at each. */
const sweepFor = (name: string, reaches: (sweep: number) => boolean) =>
  runInDurableObject(env.SCHEDULER.getByName(name), async (_object, state) => {
    const clock = { at: 1_000_000, now: () => clock.at, newId: <Id>() => '' as Id }
    const sweeps: number[] = []
    let alarmAt = clock.at
    const setAlarm = async (at: number) => {
      alarmAt = at
    }
    const scheduler = new SchedulerShell(
      { sql: state.storage.sql, setAlarm },
      {
        hub: {
          sweep: async () => {
            sweeps.push(clock.at)
            return { wake: ['lost' as AccountId], running: 1 }
          },
          giveScheduled: async () => {},
        },
        wake: async () => reaches(sweeps.length),
        offerTurns: async () => true,
        clock,
        mode: 'notification',
        capacity: 5,
      },
    )
    const end = clock.at + 3_600_000
    while (alarmAt < end) {
      clock.at = Math.max(clock.at, alarmAt)
      await scheduler.alarm()
    }
    return sweeps
  })

test('S6: an agent that a sweep could not reach is tried again within seconds', async () => {
  const [first = 0, second = 0, third = 0] = await sweepFor('once-lost', (sweep) => sweep !== 1)
  expect(second - first).toBe(sweepIntervalMs)
  expect(third - second).toBe(sweepIntervalMs)
})

test('S6: an agent that can never be reached does not keep the scheduler busy', async () => {
  const sweeps = await sweepFor('ever-lost', () => false)
  const burst = sweepArmedMs / sweepIntervalMs + 2
  expect(sweeps.length).toBeLessThanOrEqual((3_600_000 / sweepSlowMs + 1) * burst)
  expect(Math.max(...sweeps.map((at, index) => at - (sweeps[index - 1] ?? at)))).toBeGreaterThan(
    sweepSlowMs / 2,
  )
})

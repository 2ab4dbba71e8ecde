import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { expect, test } from 'vitest'
import { SchedulerShell } from '../../../src/agents/scheduler/scheduler-shell'
import type { DueSchedule, SweepQuery, SweepReport } from '../../../src/hub/contract/hub'
import { scheduling } from '../../../src/shared/config'
import type { AccountId } from '../../../src/shared/ids'

const { sweepIntervalMs, sweepArmedMs, sweepSlowMs } = scheduling
const hour = 3_600_000
const lost = 'lost' as AccountId

interface World {
  /** Returns the hub's answer to a sweep, by its number; can throw. */
  report?: (sweep: number, now: number) => Omit<SweepReport, 'exploration'>
  /** Whether wake-ups arrive. */
  wake?: (sweep: number) => boolean | Promise<boolean>
}

/** Runs a scheduler on an object's own SQLite; time advances alarm by alarm. */
const inScheduler = (
  name: string,
  { report = () => ({ wake: [lost], running: 1 }), wake = () => true }: World,
  story: (day: ReturnType<typeof createDay>) => Promise<void>,
) =>
  runInDurableObject(env.SCHEDULER.getByName(name), (_object, state) =>
    story(createDay(state, report, wake)),
  )

function createDay(
  state: DurableObjectState,
  report: NonNullable<World['report']>,
  wake: NonNullable<World['wake']>,
) {
  const clock = { at: 1_000_000, now: () => clock.at, newId: <Id>() => '' as Id }
  const sweeps: number[] = []
  let alarmAt = clock.at
  const setAlarm = async (at: number) => {
    alarmAt = at
  }
  const sweep = async (now: number) => report(sweeps.push(now), now)
  const boot = () =>
    new SchedulerShell(
      { sql: state.storage.sql, setAlarm },
      {
        hub: { sweep, createScheduledTasks: async () => {} },
        wake: async () => wake(sweeps.length),
        offerExplorations: async () => true,
        clock,
        mode: 'notification',
        capacity: 5,
      },
    )
  const pass = async (shell: SchedulerShell, ms: number) => {
    const end = clock.at + ms
    while (alarmAt < end) {
      clock.at = Math.max(clock.at, alarmAt)
      await shell.alarm()
    }
    clock.at = end
  }
  return { clock, sweeps, boot, pass }
}

const nothing = { wake: [], running: 0 }

test('S6: an agent that a sweep could not reach is retried within seconds', () =>
  inScheduler('once-lost', { wake: (sweep) => sweep !== 2 }, async ({ sweeps, boot, pass }) => {
    const shell = boot()
    await pass(shell, sweepSlowMs * 2)
    const [, second = 0, third = 0] = sweeps
    expect(third - second).toBe(sweepIntervalMs)
  }))

test('S6: an agent that can never be reached does not keep the scheduler busy', () =>
  inScheduler('ever-lost', { wake: () => false }, async ({ sweeps, boot, pass }) => {
    await pass(boot(), hour)
    const burst = sweepArmedMs / sweepIntervalMs + 3
    expect(sweeps.length).toBeLessThanOrEqual((hour / sweepSlowMs + 1) * burst)
    const pauses = sweeps.map((at, index) => at - (sweeps[index - 1] ?? at))
    expect(Math.max(...pauses)).toBeGreaterThan(sweepSlowMs / 2)
  }))

test('S6: the agent is retried also when a concurrent mention of another agent arrived', () => {
  const hint = Promise.withResolvers<boolean>()
  const wake = (sweep: number) => (sweep === 1 ? hint.promise : true)
  return inScheduler('crossed', { wake }, async ({ sweeps, boot, pass }) => {
    const shell = boot()
    const token = shell.arm()
    const swept = shell.sweepNow()
    await scheduler.wait(5)
    shell.disarm(token)
    hint.resolve(false)
    await swept
    await pass(shell, sweepIntervalMs + 1)
    expect(sweeps).toHaveLength(2)
  })
})

test('S6: an activation that started right before scheduler and agent died is found once it is old enough', () => {
  const startedAt = 1_000_000 - 1_000
  const found: number[] = []
  const report = (_sweep: number, now: number) => {
    if (startedAt < now - 3_000) found.push(now)
    return { wake: [], running: 1 }
  }
  return inScheduler('young', { report }, async ({ sweeps, boot, pass }) => {
    const shell = boot()
    await shell.ensureStarted()
    await pass(shell, sweepSlowMs - 1)
    expect((found[0] ?? Number.POSITIVE_INFINITY) - startedAt).toBeLessThanOrEqual(10_000)
    expect(sweeps).toHaveLength(2)
  })
})

test('S6 S10: a scheduler that starts while nothing runs sweeps once', () =>
  inScheduler('quiet', { report: () => nothing }, async ({ sweeps, boot, pass }) => {
    const shell = boot()
    await shell.ensureStarted()
    await pass(shell, sweepSlowMs - 1)
    expect(sweeps).toHaveLength(1)
  }))

test('S6: a failed sweep keeps a waiting wake-up', () => {
  const report = (sweep: number) => {
    if (sweep === 1) throw new Error('the database is away')
    return nothing
  }
  return inScheduler('away', { report }, async ({ clock, sweeps, boot, pass }) => {
    boot().arm()
    clock.at += sweepArmedMs + 1_000
    const shell = boot()
    await shell.ensureStarted()
    await pass(shell, sweepIntervalMs + 1)
    expect(sweeps).toHaveLength(2)
  })
})

test('T5: the scheduler sweeps when a provider is tried again, also after a restart, and no more often', () => {
  const day = 86_400_000
  const down = (now: number) => ({ ...nothing, nextAttemptAt: now + 60_000 })
  const world: World = { report: (sweep, now) => (sweep > 1 && sweep < 5 ? down(now) : nothing) }
  return inScheduler('provider-down', world, async ({ clock, sweeps, boot, pass }) => {
    const shell = boot()
    await shell.ensureStarted()
    const parkedAt = clock.at
    shell.sweepAt(parkedAt + 5_000)
    await pass(shell, 5_001)
    expect(sweeps[1]).toBe(parkedAt + 5_000)
    // the alarm outlives the object
    await pass(boot(), 3 * 60_000)
    const attempts = sweeps.slice(1, 5).map((at) => at - parkedAt)
    expect(attempts).toEqual([5_000, 65_000, 125_000, 185_000])
    const before = sweeps.length
    await pass(shell, day)
    expect(sweeps.length - before).toBeLessThanOrEqual(day / sweepSlowMs + 1)
  })
})

test('S10: an object that starts again every minute of an idle day sweeps 144 times', () =>
  inScheduler('evicted', { report: () => nothing }, async ({ clock, sweeps, boot, pass }) => {
    const minutes = (24 * hour) / 60_000
    for (let minute = 0; minute < minutes; minute++) {
      const shell = boot()
      await shell.ensureStarted()
      expect(shell.readSweepAge()).toBeLessThan(sweepSlowMs)
      await pass(shell, 60_000)
    }
    expect(sweeps).toHaveLength(144)
    // An alarm that the platform gave up is replaced.
    clock.at += sweepSlowMs
    const late = boot()
    await late.ensureStarted()
    expect(sweeps).toHaveLength(145)
  }))

test('S6: an object that starts again sweeps at once when its last sweep left something, or something came since', () => {
  const report = (sweep: number) => (sweep === 1 ? { wake: [], running: 1 } : nothing)
  return inScheduler('restarted', { report }, async ({ sweeps, boot }) => {
    await boot().ensureStarted()
    await boot().ensureStarted()
    expect(sweeps, 'a run was running').toHaveLength(2)
    const shell = boot()
    await shell.ensureStarted()
    // The arming that follows a run of unknown age stays.
    for (const token of [1, 2]) shell.disarm(token)
    await shell.sweepNow()
    await boot().ensureStarted()
    const { length } = sweeps
    const armed = boot()
    armed.disarm(armed.arm())
    await boot().ensureStarted()
    expect(sweeps).toHaveLength(length + 1)
  })
})

test('S7: schedules that got their times by a clock that was ahead are given new ones, once', () =>
  runInDurableObject(env.SCHEDULER.getByName('set back'), async (_object, state) => {
    const day = 24 * hour
    const start = Date.UTC(2026, 0, 1, 12)
    const clock = { at: start + 90 * day, now: () => clock.at, newId: <Id>() => '' as Id }
    const stored = { agentId: lost, key: 'k', cron: '0 9 * * *', timezone: 'UTC', dueAt: 0 }
    const questions: (SweepQuery | undefined)[] = []
    const given: DueSchedule[] = []
    const hub = {
      sweep: async (now: number, question?: SweepQuery): Promise<SweepReport> => {
        questions.push(question)
        // as the hub's statement does it
        if (question?.isClockBack && stored.dueAt > now) stored.dueAt = 0
        const isDue = stored.dueAt <= (question?.until ?? 0)
        const exploration = {
          explorers: [],
          next: null,
          newContentAt: [],
          isThrottled: false,
          runningExploration: 0,
          isInboxWaiting: false,
          schedules: isDue ? [{ ...stored }] : [],
        }
        return { wake: [], running: 0, exploration }
      },
      createScheduledTasks: async (due: DueSchedule[]) => {
        given.push(...due)
        stored.dueAt = due[0]?.nextAt ?? 0
      },
    }
    const boot = () =>
      new SchedulerShell(
        { sql: state.storage.sql, setAlarm: async () => {} },
        {
          hub,
          clock,
          mode: 'notification',
          capacity: 5,
          wake: async () => true,
          offerExplorations: async () => true,
        },
      )
    await boot().sweepNow()
    expect(stored.dueAt).toBe(start + 90 * day + 21 * hour)
    clock.at = start
    const shell = boot()
    await shell.sweepNow()
    // no task, since none is due
    expect(given.map(({ dueAt }) => dueAt)).toEqual([0, 0])
    expect(stored.dueAt).toBe(start + 21 * hour)
    expect(questions.at(-1)).toMatchObject({ since: 0, isClockBack: true })
    clock.at += hour
    await shell.sweepNow()
    expect(questions.at(-1)).toMatchObject({ since: start })
    expect(questions.at(-1)).not.toHaveProperty('isClockBack')
  }))

import { expect, test } from 'vitest'
import type { AccountId } from '../../../src/shared/ids'
import { sampleSize } from '../../support/sample'
import {
  countTurns,
  hour,
  hub,
  idOf,
  keyOfMira,
  live,
  minute,
  office,
  post,
  run,
} from './simulate-days'

test('S10: a day without posts costs no model call and no read except the sweep', async () => {
  await live('idle', {}, async (day) => {
    await day.pass(hour)
    day.offers = 0
    const trips = await office.countTrips(() => day.pass(24 * hour))
    expect(day.turns).toEqual([])
    expect(day.offers).toBe(0)
    // One sweep every ten minutes, with a constant number of rows.
    expect(trips).toBe(144)
  })
})

test('S1 S9: every agent explores a new post once', async () => {
  await live('news', {}, async (day) => {
    await day.pass(hour)
    await post(keyOfMira(), 'The vault lost its power last night.')
    await day.pass(24 * hour)
    expect(countTurns(day)).toEqual([1, 1, 1, 1])
  })
})

test('S4 S9: a new agent explores when the first post is old enough, and others when news is due', async () => {
  await run('UPDATE explorers SET interval_ms = ?', hour)
  await run('UPDATE explorers SET explored_at = 0')
  await live('first turn', {}, async (day) => {
    // A new hub: the only post is too young for the offer that follows the creation of the agents.
    await post(keyOfMira(), 'Welcome to the vault.')
    await day.scheduler.sweepNow()
    const startedAt = hub.clock.now()
    await day.pass(6 * minute)
    expect(countTurns(day)).toEqual([1, 1, 1, 1])
    for (const { at } of day.turns) expect(at - startedAt).toBeLessThan(6 * minute)

    // An hour later a post comes right after a sweep: its turn does not wait for the next one.
    await day.pass(2 * hour)
    await day.scheduler.sweepNow()
    await post(keyOfMira(), 'The vault lost its power.')
    const trips = await office.countTrips(() => day.pass(5 * minute - 1_000))
    expect([countTurns(day), trips]).toEqual([[1, 1, 1, 1], 0])
    await day.pass(1.5 * minute)
    expect(countTurns(day)).toEqual([2, 2, 2, 2])
  })
  await run('UPDATE explorers SET interval_ms = ?', 15 * minute)
})

test('S1 S4: on a busy day every agent explores each quarter of an hour, the stalest first', async () => {
  await live('busy', {}, async (day) => {
    for (let quarter = 0; quarter < 16; quarter++) {
      await post(keyOfMira(), `Something happened, part ${quarter}.`)
      await day.pass(20 * minute)
    }
    const counts = countTurns(day)
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(10)
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
    for (const id of [0, 1, 2, 3].map(idOf)) {
      const times = day.turns.filter(({ agentId }) => agentId === id).map(({ at }) => at)
      const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0))
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(15 * minute)
    }
  })
})

test('S1 S3 S4: an agent that is mentioned every five minutes explores as often as the others', async () => {
  await live('mentioned', {}, async (day) => {
    await day.pass(hour)
    for (let part = 0; part < 48; part++) {
      await post(
        keyOfMira(),
        part % 3 === 0 ? `Something happened, part ${part}.` : '@agent0 well?',
      )
      await day.answer(idOf(0))
      await day.pass(5 * minute)
    }
    const [mentioned = 0, ...others] = countTurns(day)
    expect(Math.min(...others)).toBeGreaterThanOrEqual(10)
    expect(mentioned).toBeGreaterThanOrEqual(Math.min(...others) - 1)
  })
})

test('S5: failures reduce explorations, after five in a row to one a day', async () => {
  const outcomeOf = (id: AccountId) => (id === idOf(0) ? 'failed' : 'completed')
  const parts = sampleSize(48, 96)
  await live('failures', { outcomeOf }, async (day) => {
    for (let part = 0; part < parts; part++) {
      await post(keyOfMira(), `News, part ${part}.`)
      await day.pass(15 * minute)
    }
    const [failing = 0, ...others] = countTurns(day)
    expect(failing).toBeLessThanOrEqual(6)
    expect(failing).toBeGreaterThanOrEqual(4)
    expect(Math.min(...others)).toBeGreaterThan((30 / 96) * parts)
    expect(
      await office.all(`SELECT 1 FROM posts WHERE title = 'agent0 failed five times in a row'`),
    ).toHaveLength(1)
  })
  await run('UPDATE agents SET consecutive_failures = 0')
})

test('S3 S4: no agent explores in notification mode or while paused', async () => {
  await live('notification', { mode: 'notification' }, async (day) => {
    await post(keyOfMira(), 'Hello?')
    await day.pass(2 * hour)
    expect(day.offers).toBe(0)
  })
  await live('paused', {}, async (day) => {
    await run(
      'UPDATE agents SET is_paused = 1, updated_at = ?2 WHERE account_id = ?1',
      idOf(1),
      hub.clock.now(),
    )
    await day.pass(hour)
    await post(keyOfMira(), 'Hello again?')
    await day.pass(2 * hour)
    expect(countTurns(day)).toEqual([1, 0, 1, 1])
    await run(
      'UPDATE agents SET is_paused = 0, updated_at = ?2 WHERE account_id = ?1',
      idOf(1),
      hub.clock.now(),
    )
    await day.pass(hour)
    expect(countTurns(day)).toEqual([1, 1, 1, 1])
  })
})

test('S2: the order outlives its object, and a lost order is rebuilt from the hub', async () => {
  await live('first life', {}, async (day) => {
    await day.pass(hour)
    await post(keyOfMira(), 'Before.')
    await day.pass(hour)
    expect(countTurns(day)).toEqual([1, 1, 1, 1])
  })
  await live('other storage', {}, async (day) => {
    await post(keyOfMira(), 'After.')
    await day.pass(hour)
    expect(countTurns(day)).toEqual([1, 1, 1, 1])
  })
})

test('S7: a schedule is due at its time, once, and a missed one is due once', async () => {
  await live('schedules', {}, async (day) => {
    const midnight = Math.ceil(hub.clock.now() / (24 * hour)) * 24 * hour
    hub.clock.advance(midnight - hub.clock.now())
    await run(
      `INSERT INTO schedules (account_id, key, cron, timezone, task, due_at)
       VALUES (?, 'standup', '30 9 * * *', 'UTC', 'Daily standup.', 0)`,
      idOf(2),
    )
    await day.scheduler.sweepNow()
    const tasks = async () =>
      (
        await office.all<{ created_at: number }>(
          `SELECT created_at FROM inbox_items WHERE type = 'task' ORDER BY created_at`,
        )
      ).map(({ created_at }) => (created_at - midnight) / hour)
    await day.pass(9 * hour)
    expect(await tasks()).toEqual([])
    await day.pass(40 * minute)
    expect(await tasks()).toEqual([9.5])
    expect(day.woken).toContain(idOf(2))
    // Three days without a running scheduler: one task, not three.
    hub.clock.advance(72 * hour)
    await day.scheduler.sweepNow()
    await day.pass(minute)
    expect(await tasks()).toHaveLength(2)
    await day.pass(24 * hour)
    expect(await tasks()).toEqual([9.5, expect.closeTo(81.66, 1), 105.5])
  })
})

test('S7 S10: in the night of a clock change a schedule is due at its times and then rests', async () => {
  const from = Date.parse('2027-10-30T23:15:00Z')
  hub.clock.advance(from - hub.clock.now())
  await live('clocks go back', {}, async (day) => {
    await run('DELETE FROM schedules')
    await run(
      `INSERT INTO schedules (account_id, key, cron, timezone, task, due_at) VALUES
         (?1, 'often', '*/30 * * * *', 'Europe/Berlin', 'often', 0),
         (?1, 'daily', '30 2 * * *', 'Europe/Berlin', 'daily', 0),
         (?1, 'night', '0,30 1-3 * * *', 'Europe/Berlin', 'night', 0)`,
      idOf(1),
    )
    await day.scheduler.sweepNow()
    await day.pass(4 * hour)
    const items = await office.all<{ content: string; at: number }>(
      `SELECT content, created_at AS at FROM inbox_items WHERE type = 'task' AND created_at > ${from}
         ORDER BY created_at`,
    )
    const timesOf = (task: string) =>
      items
        .filter(({ content }) => content === task)
        .map(({ at }) => new Date(at).toISOString().slice(11, 16))
    expect(timesOf('often')).toEqual([
      '23:30',
      '00:00',
      '00:30',
      '01:00',
      '01:30',
      '02:00',
      '02:30',
      '03:00',
    ])
    expect(timesOf('daily')).toEqual(['00:30'])
    expect(timesOf('night')).toEqual(['23:30', '00:00', '00:30', '02:00', '02:30'])
  })
})

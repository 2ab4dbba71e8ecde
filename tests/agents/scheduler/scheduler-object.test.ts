import { abortAllDurableObjects, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { explorationScheduling } from '../../../src/shared/config'
import { d1Totals } from '../../../src/shared/db/db'
import {
  createAccount,
  post,
  pushDefinition,
  scoutFiles,
  waitForReply,
  waitForValue,
} from '../../support/cast'

const scheduler = () => env.SCHEDULER.getByName('scheduler')

let mira: Awaited<ReturnType<typeof createAccount>>
let scoutId: string

beforeAll(async () => {
  mira = await createAccount('mira')
  scoutId = await pushDefinition('scout', scoutFiles())
})

test('S2 S10: while every wake-up arrives the scheduler is disarmed and reads nothing', async () => {
  const asked = await post(mira.key, 'Hi', '@scout hi')
  await waitForReply(asked)
  await waitForValue(async () => (await countArmed()) === 0, 'the scheduler to be disarmed')
  const before = d1Totals.roundTrips
  await runDurableObjectAlarm(scheduler())
  expect(d1Totals.roundTrips).toBe(before)
})

test('S10: what disarms the sweep announces the news of the same post', async () => {
  const at = Date.now() + 200_000
  await scheduler().disarm(await scheduler().arm(), at)
  expect(await countArmed()).toBe(0)
  await runDurableObjectAlarm(scheduler())
  const { slotMs } = explorationScheduling
  expect(await readAlarm()).toBe(Math.ceil(at / slotMs) * slotMs)
})

test('S10: news that was announced is known to the next object, with what became news before it', async () => {
  const { slotMs } = explorationScheduling
  const at = Math.ceil(Date.now() / slotMs) * slotMs + 10 * slotMs
  await scheduler().announceNews(at)
  await scheduler().announceNews(at + 4 * slotMs)
  await abortAllDurableObjects()
  await scheduler().sweepNow()
  const times = await runInDurableObject(scheduler(), (_object, state) =>
    state.storage.sql.exec<{ at: number }>('SELECT at FROM announced ORDER BY at').toArray(),
  )
  expect(times.map((each) => each.at)).toEqual(expect.arrayContaining([at, at + 4 * slotMs]))
  expect(await readAlarm()).toBeLessThanOrEqual(at)
})

test('S6: a task whose wake-up got lost is found by the sweep', async () => {
  await scheduler().arm()
  const postId = crypto.randomUUID()
  await env.DB.batch([
    env.DB.prepare(
      `INSERT INTO posts (id, community_id, author_id, title, content, created_at)
       SELECT ?1, m.id, ?2, 'Lost', '@scout hi', 1 FROM communities m WHERE m.name = 'general'`,
    ).bind(postId, mira.id),
    env.DB.prepare(
      `INSERT INTO inbox_items (id, account_id, type, post_id, from_account_id, created_at, is_task)
       VALUES (?1, ?2, 'mention', ?3, ?4, 1, 1)`,
    ).bind(crypto.randomUUID(), scoutId, postId, mira.id),
  ])
  await waitForValue(async () => (await countArmed()) > 0, 'the scheduler to be armed')
  expect((await waitForReply(postId)).author).toBe('scout')
})

const readAlarm = () =>
  runInDurableObject(scheduler(), (_object, state) => state.storage.getAlarm())

const countArmed = () =>
  runInDurableObject(
    scheduler(),
    (_object, state) =>
      state.storage.sql.exec<{ n: number }>('SELECT count(*) AS n FROM armed').one().n,
  )

import fc from 'fast-check'
import { beforeAll, expect, it } from 'vitest'
import { findUnusualUse } from '../../../src/hub/budgets/report-actions'
import { fillDaysSql } from '../../support/generate-usage'
import { createOffice } from '../runs/create-office'

const day = (costMicrousd: number, tokens = 50_000) => ({ costMicrousd, tokens })

it('B9: five times the usual day is unusual, a little less is not', () => {
  const history = [90, 100, 110, 100, 100].map((cost) => day(cost))
  expect(findUnusualUse(day(500), history)).toEqual({
    measure: 'costMicrousd',
    usual: 100,
    times: 5,
  })
  expect(findUnusualUse(day(499), history)).toBeNull()
})

it('B9: an agent without enough days of use, or with little use today, is not unusual', () => {
  const history = [100, 100, 100, 100].map((cost) => day(cost))
  expect(findUnusualUse(day(100_000), history)).toBeNull()
  expect(findUnusualUse(day(100_000, 19_999), [...history, day(100)])).toBeNull()
})

it('B9: tokens are compared for a model without a price', () => {
  const history = Array.from({ length: 6 }, () => day(0, 10_000))
  expect(findUnusualUse(day(0, 60_000), history)).toMatchObject({ measure: 'tokens', times: 6 })
})

it('B9: a few days of extreme use do not raise the usual use', () => {
  void fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 80, max: 120 }), { minLength: 5, maxLength: 14 }),
      fc.array(fc.integer({ min: 1_000, max: 1_000_000 }), { maxLength: 14 }),
      (calm, wild) => {
        const some = wild.slice(0, Math.ceil(calm.length / 2) - 1)
        const history = [...calm, ...some].map((cost) => day(cost))
        expect(findUnusualUse(day(600), history)).not.toBeNull()
        expect(findUnusualUse(day(399), history)).toBeNull()
      },
    ),
  )
})

const office = createOffice()
const { hub, run } = office
let scout: Awaited<ReturnType<typeof hub.join>>

beforeAll(async () => {
  scout = await office.createAgent('scout')
})

const today = () => Math.floor(hub.clock.now() / 86_400_000)
const use = async (agentDay: number, cost: number) => {
  await run(
    `INSERT INTO usage_events (activation_id, call, account_id, model, task, input_tokens, cached_tokens,
       output_tokens, reasoning_tokens, cost_microusd, is_priced, is_estimated, duration_ms, created_at)
     VALUES (?1, 1, ?2, 'm', 'mention', 30000, 0, 0, 0, ?3, 1, 0, 1, ?4)`,
    crypto.randomUUID(),
    scout.id,
    cost,
    agentDay * 86_400_000,
  )
  await run(fillDaysSql)
}
const sweep = () => office.hubApi.sweep(hub.clock.now())
const readAlerts = () =>
  office.all<{ title: string; content: string }>(
    `SELECT title, content FROM posts WHERE title LIKE 'Unusual usage:%' ORDER BY created_at`,
  )

it('B9: an agent at six times its usual use is reported once a day, also to admins', async () => {
  for (const before of [1, 2, 3, 6, 7]) await use(today() - before, 100_000)
  await use(today(), 400_000)
  await sweep()
  expect(await readAlerts()).toEqual([])
  await use(today(), 200_000)
  await Promise.all([sweep(), sweep(), sweep()])
  await use(today(), 200_000)
  await sweep()
  const [post, ...others] = await readAlerts()
  expect(others).toEqual([])
  expect(post?.title).toBe('Unusual usage: scout has used 6 times its daily median')
  expect(post?.content.replaceAll('\u00a0', ' ')).toContain(
    '[scout](/a/scout) has used $0.600 today (UTC). Its median is $0.100 per day, over the last 5 days',
  )
  const inboxItems = await office.all(
    `SELECT a.name, i.type, i.is_task, i.content FROM inbox_items i JOIN accounts a ON a.id = i.account_id
     WHERE i.type = 'system'`,
  )
  expect(inboxItems).toEqual([{ name: 'admin', type: 'system', is_task: 0, content: post?.title }])

  hub.clock.advance(86_400_000)
  await use(today(), 700_000)
  await sweep()
  expect(await readAlerts()).toHaveLength(2)
})

import { env } from 'cloudflare:workers'
import { describe, expect, test } from 'vitest'
import { sweep } from '../../../src/hub/api/sweep'
import { findRetryMs, sendDeliveries } from '../../../src/hub/webhooks/send-actions'
import { webhookLimits } from '../../../src/shared/config'
import { createTestHub, readCost } from '../create-test-hub'
import { createReceiver, type Received } from './create-receiver'

const hub = createTestHub()
const receiver = createReceiver(hub)
const { received, state, newMember, create, post, readOutbox, readWebhook } = receiver
const olga = await newMember('olga')
const { retriesMs, failingMsMax, claimMs } = webhookLimits
const dayMs = 86_400_000

const fail = (status: number) => () => new Response(null, { status })
const accept = () => new Response(null, { status: 204 })
const deliver = () => sendDeliveries(hub.context())

/** Queues deliveries without sending them: to each webhook it looks as if another sender worked on it. */
async function queue(count: number): Promise<void> {
  const hold = (until: number) =>
    env.DB.prepare('UPDATE webhooks SET retry_at = ?').bind(until).run()
  await hold(hub.clock.now() + dayMs)
  for (let n = 0; n < count; n++) await post(olga, { title: `Post ${n}` })
  await hold(0)
  received.length = 0
}

describe('O1: retries', () => {
  test('wait from five seconds to a day, each a little longer by chance', () => {
    expect(findRetryMs(1, 0)).toBe(5_000)
    expect(findRetryMs(1, 1)).toBe(5_500)
    expect(findRetryMs(retriesMs.length, 0)).toBe(dayMs)
    expect(findRetryMs(1_000, 0)).toBe(dayMs)
    for (let n = 1; n < retriesMs.length; n++) {
      expect(findRetryMs(n + 1, 0)).toBeGreaterThan(findRetryMs(n, 1))
    }
  })

  test('keep id and order, and end once the receiver works', async () => {
    const { id } = await create(olga)
    state.answer = fail(503)
    await post(olga, { title: 'First' })
    hub.clock.advance(1)
    await post(olga, { title: 'Second' })
    // the second one waits with the first
    expect(received.map(({ body }) => body.data.post.title)).toEqual(['First'])
    const [first] = await readOutbox()
    expect(first).toMatchObject({ state: 'pending', attempts: 1, answer: 'It answered 503.' })
    state.answer = accept
    expect(await deliver()).toBe((await readWebhook(id))?.retry_at)
    expect(received).toHaveLength(1)
    hub.clock.advance(retriesMs[0] * 1.1)
    expect(await deliver()).toBeNull()
    expect(received.map(({ body }) => body.data.post.title)).toEqual(['First', 'First', 'Second'])
    expect(received[1]?.id).toBe(received[0]?.id)
    expect(await readWebhook(id)).toMatchObject({ failures: 0, failing_since: null })
  })

  test('are asked of the sweep', async () => {
    await create(olga)
    state.answer = fail(500)
    await post(olga)
    const dueAt = hub.seen.sweepsAt.at(-1) ?? 0
    expect(dueAt).toBeGreaterThanOrEqual(hub.clock.now() + retriesMs[0])
    state.answer = accept
    const work: Promise<unknown>[] = []
    const context = { ...hub.context(), defer: (each: Promise<unknown>) => void work.push(each) }
    expect((await sweep(context, hub.clock.now())).nextAttemptAt).toBe(dueAt)
    hub.clock.advance(dueAt - hub.clock.now())
    // it does not wait for the receiver, and looks again in case this sender dies
    const report = await sweep(context, hub.clock.now())
    expect(report.nextAttemptAt).toBe(hub.clock.now() + claimMs)
    await Promise.all(work)
    expect((await readOutbox()).map((each) => each.state)).toEqual(['sent'])
  })

  test('wait as long as the receiver says', async () => {
    const { id } = await create(olga)
    state.answer = () => new Response(null, { status: 429, headers: { 'retry-after': '3600' } })
    await post(olga)
    expect((await readWebhook(id))?.retry_at).toBe(hub.clock.now() + 3_600_000)
  })

  test('of a refused message hold up the others for a minute at most', async () => {
    const { id } = await create(olga)
    state.answer = (_url, { body }) =>
      new Response(null, { status: body.data.post.title === 'Refused' ? 400 : 204 })
    await post(olga, { title: 'Refused' })
    for (let n = 0; n < 5; n++) {
      hub.clock.advance(findRetryMs(n + 1, 1))
      await deliver()
    }
    expect((await readOutbox())[0]).toMatchObject({ state: 'pending', attempts: 6 })
    const { retry_at: retryAt = 0 } = (await readWebhook(id)) ?? {}
    expect(retryAt - hub.clock.now()).toBeLessThanOrEqual(webhookLimits.refusedMs)
    await post(olga, { title: 'Taken' })
    hub.clock.advance(webhookLimits.refusedMs)
    await deliver()
    expect((await readOutbox()).map((each) => each.state)).toEqual(['pending', 'sent'])
  })
})

describe('O1: a webhook is disabled', () => {
  const readNotices = async () =>
    (
      await env.DB.prepare(
        `SELECT content FROM inbox_items WHERE account_id = ? AND type = 'system' ORDER BY id`,
      )
        .bind(olga.id)
        .all<{ content: string }>()
    ).results.map(({ content }) => content)

  test('after five days of failure, with a notice; enabled, it sends what waits', async () => {
    const { id } = await create(olga)
    state.answer = fail(500)
    await post(olga)
    const startedAt = hub.clock.now()
    for (let attempts = 1; attempts < 30; attempts++) {
      const { retry_at: retryAt = 0, disabled_at: disabledAt } = (await readWebhook(id)) ?? {}
      if (disabledAt !== null) break
      hub.clock.advance(retryAt - hub.clock.now())
      await post(olga)
      await deliver()
    }
    const disabled = await readWebhook(id)
    const lasted = (disabled?.disabled_at ?? 0) - startedAt
    expect(lasted).toBeGreaterThanOrEqual(failingMsMax)
    expect(lasted).toBeLessThan(failingMsMax + 1.2 * dayMs)
    expect(disabled?.reason).toBe('It failed for five days. The last attempt: It answered 500.')
    expect(await readNotices()).toEqual([expect.stringContaining('receiver.example')])
    const listed = await hub.call('/webhooks', { key: olga.key })
    expect(listed.body.webhooks[0]).toMatchObject({ is_disabled: true, reason: disabled?.reason })
    const count = received.length
    await post(olga)
    hub.clock.advance(2 * dayMs)
    await deliver()
    expect(received).toHaveLength(count)
    state.answer = accept
    const body = { is_disabled: false }
    await hub.call(`/webhooks/${id}`, { key: olga.key, method: 'PATCH', body })
    expect((await readOutbox()).map((each) => each.state)).not.toContain('pending')
    expect(await readWebhook(id)).toMatchObject({ reason: null, failures: 0 })
  })

  test('at once when the receiver answers 410', async () => {
    const before = (await readNotices()).length
    const { id } = await create(olga)
    state.answer = fail(410)
    await post(olga)
    expect(await readWebhook(id)).toMatchObject({ reason: expect.stringContaining('410') })
    expect(await readOutbox()).toMatchObject([{ state: 'failed' }])
    expect(await readNotices()).toHaveLength(before + 1)
  })
})

describe('O1: a dead receiver', () => {
  test('costs no other one its delivery', async () => {
    const urls = ['https://dead.example/a', 'https://dead.example/b', 'https://alive.example/']
    const made = []
    for (const url of urls) made.push(await create(olga, { url }))
    await queue(3)
    let end = () => {}
    const hanging = new Promise<Response>((resolve) => {
      end = () => resolve(new Response(null, { status: 500 }))
    })
    state.answer = (url) => (url.startsWith('https://dead') ? hanging : accept())
    const sending = deliver()
    const isAlive = ({ url }: Received) => url === 'https://alive.example/'
    while (!received.some(isAlive)) await new Promise((go) => setTimeout(go, 1))
    // while the dead one hangs, the other one is sent all it has
    end()
    await sending
    const ofDead = received.filter((each) => !isAlive(each))
    expect(ofDead).toHaveLength(1)
    const states = Object.groupBy(await readOutbox(), (each) => each.target_id)
    const byWebhook = made.map(({ id }) => new Set(states[id]?.map((each) => each.state)))
    expect(byWebhook).toEqual([new Set(['pending']), new Set(['pending']), new Set(['sent'])])
  })

  test('with ten thousand deliveries that wait is no load', async () => {
    const dead = await create(olga)
    const alive = await create(olga, { url: 'https://alive.example/' })
    state.answer = (url) => (url === 'https://alive.example/' ? accept() : fail(500)())
    const kim = await newMember('kim')
    const queueMore = (count: number, name: string) =>
      env.DB.prepare(
        `INSERT INTO outbox (id, kind, target_id, event, "key", community_id, post_id, created_at, next_at)
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
         SELECT ?2 || i, kind, target_id, event, "key" || ?2 || i, community_id, post_id, created_at, next_at
         FROM (SELECT * FROM outbox WHERE target_id = ?3 LIMIT 1), n`,
      )
        .bind(count, name, dead.id)
        .run()
    const count = async (work: (context: ReturnType<typeof hub.context>) => Promise<unknown>) => {
      const context = hub.context()
      await work(context)
      return { ...context.db.cost }
    }
    /** What a post, the look of a sweep, and an attempt at the dead one cost; and who was sent what. */
    const measure = async (title: string) => {
      const body = { community: 'general', title, content: 'Words' }
      const { headers } = await hub.call('/posts', { key: kim.key, body })
      const sentOfPost = received.splice(0).map(({ url }) => url)
      const look = await count((context) => sweep(context, hub.clock.now()))
      await env.DB.prepare('UPDATE webhooks SET retry_at = 0 WHERE id = ?').bind(dead.id).run()
      const attempt = await count(sendDeliveries)
      const sent = received.splice(0).map(({ url }) => url)
      return { post: readCost(headers), look, attempt, sentOfPost, sent }
    }
    await post(kim)
    // more than one attempt looks at
    await queueMore(2 * webhookLimits.sentPerClaimMax, 'few')
    await sweep(hub.context(), hub.clock.now())
    received.length = 0
    const few = await measure('few')
    await queueMore(10_000, 'many')
    const many = await measure('many')
    expect(many).toEqual(few)
    expect(many.sentOfPost).toEqual(['https://alive.example/'])
    expect(many.sent).toEqual(['https://receiver.example/in'])
    expect(many.attempt.roundTrips).toBe(2)
    expect(many.attempt.rowsRead).toBeLessThan(200)
    const states = (await readOutbox()).filter((each) => each.target_id === alive.id)
    expect(states.map((each) => each.state)).toEqual(['sent', 'sent', 'sent'])
  })
})

describe('O1: at least once', () => {
  test('two senders at the same time send each delivery once', async () => {
    await create(olga)
    await queue(5)
    await Promise.all([deliver(), deliver(), deliver()])
    expect(received).toHaveLength(5)
    expect(new Set(received.map((each) => each.id)).size).toBe(5)
  })

  test('each delivery arrives whatever kills the senders, a second time with the same id', async () => {
    const urls = ['a', 'b', 'c'].map((name) => `https://${name}.example/`)
    for (const url of urls) await create(olga, { url })
    const perWebhook = 40
    await queue(perWebhook)
    // each sender dies at another point: after so many requests, before or behind the last one, or when it stores
    let kills = 0
    for (let round = 0; round < 30; round++) {
      const context = hub.context()
      let left = (round * 7) % 11
      let isDead = false
      let end = () => {}
      const death = new Promise<void>((resolve) => {
        end = resolve
      })
      // as a machine does, it goes no further, and stores nothing
      const never = new Promise<never>(() => {})
      const die = () => {
        kills++
        isDead = true
        end()
        return never
      }
      const { send } = context.webhooks
      const webhooks = {
        ...context.webhooks,
        send: async (message: Parameters<typeof send>[0]) => {
          if (isDead) return never
          const isLast = left-- === 0
          if (isLast && round % 2 === 1) return die()
          const result = await send(message)
          if (isDead) return never
          return isLast ? die() : result
        },
      }
      await Promise.race([sendDeliveries({ ...context, webhooks }), death])
      hub.clock.advance(claimMs)
    }
    expect(kills).toBeGreaterThan(10)
    for (let n = 0; n < 10 && (await deliver()) !== null; n++) hub.clock.advance(claimMs)
    const rows = await readOutbox()
    expect(rows).toHaveLength(3 * perWebhook)
    expect(new Set(rows.map((each) => each.state))).toEqual(new Set(['sent']))
    const ids = received.map((each) => each.id)
    expect(new Set(ids)).toEqual(new Set(rows.map((each) => each.id)))
    // the same message under the same id, and no more of them than senders that died behind a request
    expect(ids.length).toBeGreaterThan(rows.length)
    for (const copies of Object.values(Object.groupBy(received, (each) => each.id))) {
      expect(new Set(copies?.map((each) => each.text)).size).toBe(1)
    }
  })

  test('an error of the hub itself at one webhook does not stop the others', async () => {
    const [broken, other] = [await create(olga), await create(olga, { url: 'https://b.example/' })]
    await env.DB.prepare(`UPDATE webhooks SET sealed = 'broken' WHERE id = ?`).bind(broken.id).run()
    await post(olga)
    const states = (await readOutbox()).map((each) => [each.target_id, each.state, each.answer])
    expect(states).toEqual([
      [broken.id, 'pending', 'The hub failed to send it.'],
      [other.id, 'sent', 'It answered 204.'],
    ])
    expect(hub.seen.logged.at(-1)).toContain('failed to send to a webhook')
  })

  test('what is sent and what it is about are written together', async () => {
    await create(olga)
    // the batch of the post fails, also after it was queued
    hub.seen.findFault = (sql) =>
      sql.some((each) => /INSERT INTO "?posts/.test(each))
        ? { isWritten: false, message: 'D1_ERROR: Network connection lost.' }
        : null
    const answer = await hub.call('/posts', {
      key: olga.key,
      body: { community: 'general', title: 'T', content: 'C' },
    })
    hub.seen.findFault = () => null
    expect(answer.status).toBeGreaterThanOrEqual(500)
    expect(await readOutbox()).toEqual([])
  })
})

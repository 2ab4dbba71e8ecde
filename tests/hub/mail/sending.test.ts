import { env } from 'cloudflare:workers'
import { sql } from 'drizzle-orm'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import type { MailMessage } from '../../../src/hub/contract/mail'
import { mailTimes } from '../../../src/hub/mail/send-queries'
import { mailLimits } from '../../../src/shared/config'
import { batch } from '../../../src/shared/db/batch'
import { oneSql } from '../../../src/shared/db/statement'
import { parseMail, readMail } from '../../support/read-mail'
import { sampleSize } from '../../support/sample'
import { signIn } from '../../web/open-pages'
import { readCost } from '../create-test-hub'
import { createMailHub, type Person } from './mail-hub'

beforeEach(async () => {
  for (const table of ['outbox', 'mail_server']) {
    await env.DB.prepare(`DELETE FROM ${table}`).run()
  }
})

/** Copies the notification that waits for a person, with its inbox item, until so many wait. */
async function copyWaiting({ id }: Person, count: number): Promise<void> {
  const numbers = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2 - 1)'
  await env.DB.batch([
    env.DB.prepare(
      `INSERT INTO inbox_items (id, account_id, type, post_id, from_account_id, content, created_at)
       ${numbers} SELECT id || '-' || i, account_id, type, post_id, from_account_id, content, created_at
       FROM inbox_items, n WHERE account_id = ?1 AND type = 'mention'`,
    ).bind(id, count),
    env.DB.prepare(
      `INSERT INTO outbox (id, kind, target_id, event, "key", subject_id, created_at, next_at)
       ${numbers} SELECT id || '-' || i, kind, target_id, event, "key" || '-' || i, subject_id || '-' || i, created_at, next_at
       FROM outbox, n WHERE kind = 'mail' AND target_id = ?1 AND state = 'pending'`,
    ).bind(id, count),
  ])
}

describe('O4: mail is sent at least once', () => {
  const { hub, newPerson, newConfirmed, mention, runSweep, readOutbox } = createMailHub()

  /** Makes the server look busy, so that what is written next waits. */
  const hold = (until: number) =>
    env.DB.prepare('INSERT OR REPLACE INTO mail_server (id, retry_at) VALUES (1, ?)')
      .bind(until)
      .run()

  test('whatever kills the senders, a second time with the same Message-ID', async () => {
    const [by, reader] = [await newPerson(), await newConfirmed({ mention: ['mail'] })]
    const [count, rounds] = [sampleSize(50, 120), sampleSize(16, 30)]
    await hold(hub.clock.now() + 60_000)
    await mention(by, reader)
    await copyWaiting(reader, count)
    await hold(0)
    let kills = 0
    // Messages that were taken and not recorded: each arrives once more.
    let lost = 0
    for (let round = 0; round < rounds; round++) {
      const context = hub.context()
      const { promise: death, resolve: end } = Promise.withResolvers<void>()
      // As a machine does, it goes no further, and stores nothing.
      const never = new Promise<never>(() => {})
      const { send } = context.mail
      // Each sender dies at another point: before the first message, between two, or before it stores.
      const sent = (round * 7) % (mailLimits.claimedMax + 1)
      // Three of four take nothing from the queue.
      let left = round % 4 === 3 ? 1 : 0
      const mail = {
        ...context.mail,
        send: async (messages: readonly MailMessage[], isOver: () => boolean) => {
          if (left-- > 0) return send(messages, isOver)
          kills++
          const taken = messages.slice(0, sent)
          if (taken.length > 0) lost += (await send(taken, isOver)).length
          end()
          return never
        },
      }
      await Promise.race([runSweep({ ...context, mail }), death])
      hub.clock.advance(mailLimits.claimMs)
    }
    for (let n = 0; n < 20 && (await runSweep()).nextAttemptAt !== undefined; n++) {
      hub.clock.advance(mailLimits.claimMs)
    }
    expect(kills).toBeGreaterThan((rounds * 2) / 3)
    expect(lost).toBeGreaterThan(0)
    const rows = await readOutbox('mail.notification')
    expect(rows.map(({ state }) => state)).toEqual(Array(count).fill('sent'))
    const received = await readMail(reader.address)
    const byId = Object.groupBy(received, (each) => parseMail(each).headers['message-id'] ?? '')
    expect(Object.keys(byId)).toHaveLength(count)
    expect(received).toHaveLength(count + lost)
    for (const copies of Object.values(byId)) {
      expect(new Set(copies?.map((each) => parseMail(each).text)).size).toBe(1)
    }
  })

  test('by two senders at the same time once', async () => {
    const [by, reader] = [await newPerson(), await newConfirmed({ mention: ['mail'] })]
    await hold(hub.clock.now() + 60_000)
    await mention(by, reader)
    await copyWaiting(reader, 30)
    await hold(0)
    await Promise.all([runSweep(), runSweep(), runSweep()])
    expect(await readMail(reader.address)).toHaveLength(30)
  })
})

describe('O4: a mail server that is dead', () => {
  // Nothing listens there.
  const dead = createMailHub({ ROOKERY_MAIL_URL: 'smtp://127.0.0.1:1' })
  const { hub, newPerson, newConfirmed, mention, runSweep, readOutbox } = dead
  const pending = 10_000

  /** A person for whom so many notifications wait. */
  const newWaiting = async (count: number) => {
    const [by, reader] = [await newPerson(), await newConfirmed({ mention: ['mail'] })]
    await mention(by, reader)
    await copyWaiting(reader, count)
    return { by, reader }
  }

  /** Counts what some work costs, and how often it asks the mail server for something. */
  const measure = async (work: (context: ReturnType<typeof hub.context>) => Promise<unknown>) => {
    const context = hub.context()
    let attempts = 0
    let messages = 0
    const { send } = context.mail
    const mail = {
      ...context.mail,
      send: (...given: Parameters<typeof send>) => {
        attempts++
        messages += given[0].length
        return send(...given)
      },
    }
    await work({ ...context, mail })
    return { ...context.db.cost, attempts, messages }
  }

  /** The costs of an attempt that fails, of a sweep that finds nothing due, and of a post that queues one more. */
  const measureAll = async (count: number) => {
    const { by, reader } = await newWaiting(count)
    hub.clock.advance(mailLimits.waitMsMax)
    const attempt = await measure(runSweep)
    const idle = await measure(runSweep)
    const { headers } = await hub.call('/posts', {
      key: by.key,
      body: { community: 'general', title: 'More', content: `@${reader.name} and this` },
    })
    return { attempt, idle, post: readCost(headers) }
  }

  test('is no load with ten thousand messages that wait for it', async () => {
    const few = await measureAll(mailLimits.claimedMax + 1)
    await env.DB.prepare('DELETE FROM outbox').run()
    const many = await measureAll(pending)
    expect(few.attempt).toMatchObject({ attempts: 1 })
    expect(many.attempt).toMatchObject({ attempts: 1, messages: few.attempt.messages })
    expect(many.idle).toMatchObject({ attempts: 0 })
    for (const part of ['attempt', 'idle'] as const) {
      expect(many[part].roundTrips).toBe(few[part].roundTrips)
      expect(many[part].rowsWritten).toBeLessThanOrEqual(few[part].rowsWritten + 2)
      expect(many[part].rowsRead).toBeLessThanOrEqual(few[part].rowsRead + 10)
    }
    expect(many.post).toEqual(few.post)
  })

  test('is tried so often and no more, and gives up what waited for two days', async () => {
    await newWaiting(200)
    let tried = 0
    let sweeps = 0
    const begin = hub.clock.now()
    const isWaiting = async () =>
      (await readOutbox('mail.notification')).some(({ state }) => state === 'pending')
    while (await isWaiting()) {
      const { attempts } = await measure(async (context) => {
        const { nextAttemptAt } = await runSweep(context)
        hub.clock.advance(Math.max((nextAttemptAt ?? 0) - hub.clock.now(), 1))
      })
      tried += attempts
      if (++sweeps > 200) throw new Error('It never ends.')
    }
    // As the waits say: 30 s, 5 min, 30 min, 2 h, then every 5 h.
    expect(tried).toBeLessThanOrEqual(15)
    const lasted = hub.clock.now() - begin
    expect(lasted).toBeGreaterThanOrEqual(mailLimits.keptTryingMs)
    expect(lasted).toBeLessThan(mailLimits.keptTryingMs + 2 * mailLimits.waitMsMax)
    const states = (await readOutbox('mail.notification')).map(({ state }) => state)
    expect(new Set(states)).toEqual(new Set(['failed']))
  })

  test('holds up no webhook', async () => {
    await newWaiting(pending)
    const { key } = await newPerson()
    const answer = vi
      .spyOn(globalThis, 'fetch')
      .mockResolvedValue(new Response(null, { status: 204 }))
    const url = 'https://receiver.example/in'
    const body = { url, events: ['post.created'], community: 'general' }
    expect((await hub.call('/webhooks', { key, body })).status).toBe(201)
    const post = { community: 'general', title: 'A title', content: 'Words' }
    expect((await hub.call('/posts', { key, body: post })).status).toBe(201)
    expect(answer).toHaveBeenCalledTimes(1)
    answer.mockRestore()
    expect(await readOutbox('post.created')).toMatchObject([{ state: 'sent' }])
  })

  test('is said on the page of admins, which counts what waits up to a limit', async () => {
    await newWaiting(pending)
    const admin = await signIn(hub)
    const { rowsRead } = await measure((context) =>
      batch(context.db, { times: oneSql(mailTimes, sql`FROM (SELECT 1)`) }),
    )
    expect(rowsRead).toBeLessThanOrEqual(3)
    const html = await admin.read('/admin/mail')
    expect(html).toContain('at least 1,000 waiting')
    expect(html).toContain('Mail has not been sent since')
  })
})

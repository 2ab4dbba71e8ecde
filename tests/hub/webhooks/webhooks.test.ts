import { env } from 'cloudflare:workers'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test, vi } from 'vitest'
import { sweep } from '../../../src/hub/api/sweep'
import { queueText } from '../../../src/hub/webhooks/queue-queries'
import { webhookLimits } from '../../../src/shared/config'
import { run } from '../../../src/shared/db/batch'
import type { PostId } from '../../../src/shared/ids'
import { adminKey, createTestHub, readCost } from '../create-test-hub'
import { createReceiver } from './create-receiver'

const hub = createTestHub()
const receiver = createReceiver(hub)
const { received, newMember, create, post, readOutbox } = receiver

const olga = await newMember('olga')
const mira = await newMember('mira')

/** A community of olga's that only its members read. */
async function newCellar(...members: { name: string }[]) {
  const name = `cellar-${crypto.randomUUID().slice(0, 6)}`
  await hub.call('/communities', {
    key: olga.key,
    body: { name, display_name: name, visibility: 'private' },
  })
  for (const member of members) {
    const path = `/communities/${name}/members/${member.name}`
    await hub.call(path, { key: olga.key, method: 'PUT', body: {} })
  }
  return name
}

describe('O1: a webhook', () => {
  test('is sent posts, comments and mentions, in order and signed', async () => {
    vi.useFakeTimers({ now: hub.clock.now(), toFake: ['Date'] })
    const events = ['post.created', 'comment.created', 'mention.created']
    const { secret, url } = await create(olga, { events })
    expect(url).toBe('https://receiver.example/…')
    const made = await post(olga, { content: `@${mira.name} look` })
    await hub.call(`/posts/${made.id}/comments`, { key: mira.key, body: { content: 'Seen' } })
    const verifier = new Webhook(secret)
    const bodies = received.map(({ text, headers }) => verifier.verify(text, headers))
    vi.useRealTimers()
    expect(bodies).toMatchObject([
      {
        type: 'post.created',
        timestamp: '2026-01-01T00:00:00.000Z',
        data: {
          post: { id: made.id, title: 'A title', content: `@${mira.name} look`, url: null },
          author: { name: olga.name },
          community: { name: 'general' },
          url: `http://hub.test/p/${made.id}`,
        },
      },
      { type: 'mention.created', data: { account: { name: mira.name }, post: { id: made.id } } },
      {
        type: 'comment.created',
        data: { comment: { content: 'Seen' }, post: { id: made.id, title: 'A title' } },
      },
    ])
    const rows = await readOutbox()
    expect(rows.map(({ state }) => state)).toEqual(['sent', 'sent', 'sent'])
    expect(received.map(({ id }) => id)).toEqual(rows.map(({ id }) => id))
  })

  test('costs a post no round trip, and without webhooks only a look at their index', async () => {
    const send = () =>
      hub.call('/posts', {
        key: olga.key,
        body: { community: 'general', title: 'T', content: 'C' },
      })
    const made = await post(olga)
    const { db } = hub.context()
    const now = hub.clock.now()
    await run(db, queueText({ postId: made.id as PostId, commentId: null, now }))
    expect(db.cost.rowsRead).toBeLessThanOrEqual(2)
    await send()
    const before = readCost((await send()).headers)
    await create(olga)
    const after = readCost((await send()).headers)
    expect(after.roundTrips).toBe(before.roundTrips)
    expect(received).toHaveLength(1)
  })

  test('is sent nothing of other communities, of other events, and no direct message', async () => {
    await create(olga, { events: ['comment.created'] })
    const admin = await newMember('root', 'admin')
    await create(admin, {
      community: undefined,
      url: 'https://hub.example/',
      events: ['post.created', 'comment.created', 'mention.created'],
    })
    await post(olga)
    await hub.call('/conversations', { key: mira.key, body: { to: olga.name, content: 'Psst' } })
    expect(received.map(({ url, body }) => [url, body.type])).toEqual([
      ['https://hub.example/', 'post.created'],
    ])
  })
})

describe('O1: who may have a webhook', () => {
  const ask = (key: string | undefined, body: object) =>
    hub.call('/webhooks', {
      ...(key && { key }),
      body: { url: 'https://receiver.example/', events: ['post.created'], ...body },
    })

  test('the whole hub: admins; a private community: its moderators; another: members', async () => {
    const cellar = await newCellar(mira)
    const guest = await newMember('gast', 'guest')
    const root = await newMember('root', 'admin')
    const statuses = async (body: object) =>
      Promise.all([olga, mira, guest, root].map(async ({ key }) => (await ask(key, body)).status))
    expect(await statuses({})).toEqual([403, 403, 403, 201])
    expect(await statuses({ community: cellar })).toEqual([201, 403, 403, 404])
    expect(await statuses({ community: 'general' })).toEqual([201, 201, 403, 201])
    expect((await ask(olga.key, { community: 'nowhere' })).status).toBe(404)
    const agent = await hub.join(`bot-${crypto.randomUUID().slice(0, 6)}`)
    expect((await ask(agent.key, { community: 'general' })).status).toBe(403)
    expect((await ask(undefined, {})).status).toBe(401)
  })

  test('who may not have it there any more can disable and delete it, and nothing else', async () => {
    const guest = await newMember('gast')
    const { id } = await create(guest)
    await env.DB.prepare("UPDATE accounts SET role = 'guest' WHERE id = ?").bind(guest.id).run()
    const act = async (path: string, method: string, body: object) =>
      (await hub.call(`/webhooks/${id}${path}`, { key: guest.key, method, body })).status
    expect(await act('/test', 'POST', {})).toBe(403)
    expect(await act('/secret', 'POST', {})).toBe(403)
    expect(await act('', 'PATCH', { url: 'https://other.example/' })).toBe(403)
    expect(await act('', 'PATCH', { is_disabled: false })).toBe(403)
    expect(await act('', 'PATCH', { is_disabled: true })).toBe(200)
    expect(received).toEqual([])
    expect((await hub.call(`/webhooks/${id}`, { key: guest.key, method: 'DELETE' })).status).toBe(
      200,
    )
  })

  test('levels of budgets are refused for a community, at first and later', async () => {
    const events = ['budget.level']
    const { id } = await create(olga)
    const changed = await hub.call(`/webhooks/${id}`, {
      key: olga.key,
      method: 'PATCH',
      body: { events },
    })
    expect([changed.status, changed.body.hint]).toEqual([400, 'Create one for the whole hub.'])
    expect((await ask(olga.key, { community: 'general', events })).status).toBe(400)
  })

  test('an answer says that the URL must be https', async () => {
    const { body } = await ask(olga.key, { community: 'general', url: 'http://example.com/' })
    expect(body.details).toEqual([{ path: 'body.url', message: 'Must be an https URL' }])
  })

  test('a hub-wide one is sent nothing of a private community', async () => {
    const root = await newMember('root', 'admin')
    const cellar = await newCellar()
    await create(root, { community: undefined })
    await create(olga, { community: cellar })
    await post(olga, { community: cellar })
    expect(received.map(({ url }) => url)).toEqual(['https://receiver.example/in'])
    expect(received[0]?.body.data.community.name).toBe(cellar)
  })

  test('an account, a community, and an account in a community can have a few', async () => {
    const { perAccountMax, perCommunityMax, perMemberMax } = webhookLimits
    const expectFull = async (key: string, community: string, whose: RegExp) => {
      const answer = await ask(key, { community })
      expect(answer).toMatchObject({ status: 409, body: { error: expect.stringMatching(whose) } })
    }
    const fill = async (person: { key: string }, community: string) => {
      for (let n = 0; n < perMemberMax; n++) await create(person, { community })
    }
    const kim = await newMember('kim')
    await fill(kim, 'general')
    await expectFull(kim.key, 'general', /^You have 5 webhooks in this community/)
    for (let n = 1; n < perCommunityMax / perMemberMax; n++) {
      await fill(await newMember(`kim${n}`), 'general')
    }
    await expectFull(olga.key, 'general', /^This community has 20 webhooks/)
    for (let n = 1; n < perAccountMax / perMemberMax; n++) {
      const name = `kims-${n}`
      await hub.call('/communities', { key: kim.key, body: { name } })
      await fill(kim, name)
    }
    await hub.call('/communities', { key: kim.key, body: { name: 'kims-last' } })
    await expectFull(kim.key, 'kims-last', /^You have 20 webhooks, /)
  })

  test.each([
    [{ url: 'http://receiver.example/' }, 'body.url'],
    [{ url: 'https://10.0.0.1/' }, 'body.url'],
    [{ events: [] }, 'body.events'],
    [{ events: ['dm.created'] }, 'body.events.0'],
    [{ format: 'xml' }, 'body.format'],
    [{ events: ['budget.level'] }, 'body.events'],
    [{ secret: 'whsec_mine' }, 'body.secret'],
  ])('%j is refused', async (body, path) => {
    const answer = await ask(olga.key, { community: 'general', ...body })
    expect(answer.status).toBe(400)
    expect(JSON.stringify(answer.body.details)).toContain(path)
  })
})

describe('O1: what the owner may not read any more is not sent', () => {
  /** A webhook of a moderator, with a delivery that waits because the receiver was down. */
  async function newWaiting(community: string) {
    receiver.state.answer = () => new Response(null, { status: 500 })
    await create(mira, { community })
    const made = await post(olga, { community })
    receiver.state.answer = () => new Response(null, { status: 204 })
    received.length = 0
    hub.clock.advance(webhookLimits.retriesMs[0] * 1.1)
    return made
  }
  const deliver = async () => {
    const context = hub.context()
    const work: Promise<unknown>[] = []
    await sweep({ ...context, defer: (each) => void work.push(each) }, hub.clock.now())
    await Promise.all(work)
  }
  const makeModerator = (name: string, community: string) =>
    hub.call(`/communities/${community}/members/${name}`, {
      key: olga.key,
      method: 'PUT',
      body: { role: 'moderator' },
    })

  test('a member who was removed meanwhile, and what is posted later', async () => {
    const cellar = await newCellar(mira)
    await makeModerator(mira.name, cellar)
    await newWaiting(cellar)
    const path = `/communities/${cellar}/members/${mira.name}`
    await hub.call(path, { key: olga.key, method: 'DELETE' })
    await deliver()
    expect(received).toEqual([])
    expect(await readOutbox()).toMatchObject([
      { state: 'withheld', answer: expect.stringContaining('may not read it any more') },
    ])
    await post(olga, { community: cellar })
    expect(received).toEqual([])
    expect(await readOutbox()).toHaveLength(1)
  })

  test('a moderator who is only a member now', async () => {
    const cellar = await newCellar(mira)
    await makeModerator(mira.name, cellar)
    await newWaiting(cellar)
    const path = `/communities/${cellar}/members/${mira.name}`
    await hub.call(path, { key: olga.key, method: 'PUT', body: { role: 'member' } })
    await deliver()
    expect(received).toEqual([])
  })

  test('a disabled account', async () => {
    await newWaiting('general')
    await env.DB.prepare('UPDATE accounts SET disabled_at = 1 WHERE id = ?').bind(mira.id).run()
    await deliver()
    await env.DB.prepare('UPDATE accounts SET disabled_at = NULL WHERE id = ?').bind(mira.id).run()
    expect(received).toEqual([])
    expect(await readOutbox()).toMatchObject([{ state: 'withheld' }])
  })

  test('a post that was deleted', async () => {
    const made = await newWaiting('general')
    await hub.call(`/posts/${made.id}`, { key: olga.key, method: 'DELETE' })
    await deliver()
    expect(received).toEqual([])
    expect(await readOutbox()).toMatchObject([
      { state: 'withheld', answer: expect.stringContaining('deleted') },
    ])
  })
})

describe('O1: the API', () => {
  test('lists webhooks for their owner and for moderators of their community', async () => {
    const cellar = await newCellar()
    const { id } = await create(olga, { community: cellar, format: 'slack' })
    await create(mira)
    const list = async (key: string, query = '') =>
      (await hub.call(`/webhooks${query}`, { key })).body.webhooks.map(
        (each: { id: string }) => each.id,
      )
    expect(await list(olga.key)).toEqual([id])
    expect(await list(olga.key, `?community=${cellar}`)).toEqual([id])
    expect(await list(mira.key, `?community=${cellar}`)).toEqual([])
    expect(await list(olga.key, '?community=general')).toEqual([])
    expect(await list(adminKey, '?community=general')).toHaveLength(1)
    const other = await hub.call(`/webhooks/${id}/deliveries`, { key: mira.key })
    expect(other.status).toBe(404)
  })

  test('changes, tests, resends and deletes, for the owner alone', async () => {
    const { id } = await create(olga)
    await post(olga)
    const path = `/webhooks/${id}`
    const read = async () =>
      (await hub.call(`${path}/deliveries`, { key: olga.key })).body.deliveries
    const [delivery] = await read()
    expect(delivery).toMatchObject({
      event: 'post.created',
      status: 'sent',
      attempts: 1,
      next_at: null,
      answer: 'It answered 204.',
    })
    const resend = `${path}/deliveries/${delivery.id}/resend`
    for (const [each, options] of [
      [resend, { body: {} }],
      [`${path}/test`, { body: {} }],
      [`${path}/secret`, { body: {} }],
      [path, { method: 'PATCH', body: { is_disabled: true } }],
      [path, { method: 'DELETE' }],
    ] as const) {
      expect((await hub.call(each, { key: mira.key, ...options })).status).toBe(404)
    }
    expect((await hub.call(resend, { key: olga.key, body: {} })).status).toBe(202)
    expect(received.map((each) => each.id)).toEqual([delivery.id, delivery.id])
    const tested = await hub.call(`${path}/test`, { key: olga.key, body: {} })
    expect(tested.body.delivery).toMatchObject({ event: 'webhook.test', status: 'sent' })
    expect(received.at(-1)?.body).toMatchObject({ type: 'webhook.test' })
    expect(await read()).toHaveLength(2)

    const change = (body: object) => hub.call(path, { key: olga.key, method: 'PATCH', body })
    expect((await change({ is_disabled: true })).body.webhook.is_disabled).toBe(true)
    await post(olga)
    expect(await read()).toHaveLength(2)
    expect((await hub.call(resend, { key: olga.key, body: {} })).status).toBe(404)
    await change({ is_disabled: false, url: 'https://moved.example/', events: ['comment.created'] })
    const made = await post(olga)
    await hub.call(`/posts/${made.id}/comments`, { key: olga.key, body: { content: 'x' } })
    expect(received.at(-1)).toMatchObject({ url: 'https://moved.example/' })
    expect(received.at(-1)?.body.type).toBe('comment.created')
    expect((await change({ url: 'https://127.0.0.1/' })).status).toBe(400)

    expect((await hub.call(path, { key: olga.key, method: 'DELETE' })).status).toBe(200)
    expect(await readOutbox()).toEqual([])
  })

  test('deletes a webhook of another account for who moderates its place, which the log records', async () => {
    const { id } = await create(olga)
    const readLog = async () =>
      (
        await env.DB.prepare(`SELECT action, account_id FROM admin_log WHERE target_id = ?`)
          .bind(id)
          .all()
      ).results
    const remove = (key: string) => hub.call(`/webhooks/${id}`, { key, method: 'DELETE' })
    expect((await remove(mira.key)).status).toBe(404)
    expect(await readLog()).toEqual([])
    const root = await newMember('root', 'admin')
    expect((await remove(root.key)).status).toBe(200)
    expect(await readLog()).toEqual([{ action: 'webhook.delete', account_id: root.id }])
    const own = await create(olga)
    await hub.call(`/webhooks/${own.id}`, { key: olga.key, method: 'DELETE' })
    const { results } = await env.DB.prepare('SELECT 1 FROM admin_log WHERE target_id = ?')
      .bind(own.id)
      .all()
    expect(results).toEqual([])
  })

  test('returns a secret once, and again only by rotating it; no log has one', async () => {
    const { id, secret, ...webhook } = await create(olga, {
      url: 'https://hooks.example/services/T00/B00/credential',
    })
    expect(JSON.stringify(webhook)).not.toContain('credential')
    const rotated = await hub.call(`/webhooks/${id}/secret`, { key: olga.key, body: {} })
    expect(rotated.body.secret).toMatch(/^whsec_/)
    expect(rotated.body.secret).not.toBe(secret)
    await post(olga)
    const answers = await Promise.all([
      hub.call('/webhooks', { key: olga.key }),
      hub.call(`/webhooks/${id}/deliveries`, { key: olga.key }),
      hub.call(`/webhooks/${id}`, { key: olga.key, method: 'PATCH', body: { is_disabled: false } }),
      hub.call(`/webhooks/${id}/test`, { key: olga.key, body: {} }),
    ])
    const { results } = await env.DB.prepare('SELECT * FROM webhooks').all()
    const stored = await env.DB.prepare('SELECT * FROM idempotency_keys').all()
    const seen = JSON.stringify([answers.map(({ body }) => body), hub.seen.logged, results, stored])
    for (const each of [secret, rotated.body.secret, secret.slice(6), 'B00/credential']) {
      expect(seen).not.toContain(each)
    }
  })

  test('sends one test for an Idempotency-Key, and says again how it ended', async () => {
    const { id } = await create(olga)
    const send = (key: string) =>
      hub.call(`/webhooks/${id}/test`, {
        key: olga.key,
        body: {},
        headers: { 'idempotency-key': key },
      })
    const first = await send('test')
    const again = await Promise.all([send('test'), send('test')])
    for (const { body } of again) expect(body).toEqual(first.body)
    expect(received).toHaveLength(1)
    const other = await send('other')
    expect(other.body.delivery.id).not.toBe(first.body.delivery.id)
    expect(received).toHaveLength(2)
    // at the same time, and by a hub that ends before it has stored the answer
    received.length = 0
    await Promise.all([send('both'), send('both'), send('both')])
    expect(received).toHaveLength(1)
    const row = await env.DB.prepare('SELECT * FROM outbox WHERE id = ?')
      .bind(first.body.delivery.id)
      .first()
    expect(row).toMatchObject({ state: 'sent', attempts: 1, answer: 'It answered 204.' })
  })

  test('rotates once for an Idempotency-Key', async () => {
    const { id } = await create(olga)
    const headers = { 'idempotency-key': 'rotate' }
    const rotate = () => hub.call(`/webhooks/${id}/secret`, { key: olga.key, body: {}, headers })
    expect((await rotate()).status).toBe(200)
    expect((await rotate()).body.code).toBe('IDEMPOTENCY_CONFLICT')
  })

  test('loses nothing of two changes at the same time', async () => {
    const { id } = await create(olga)
    const answers = await Promise.all(
      [1, 2].map(() => hub.call(`/webhooks/${id}/secret`, { key: olga.key, body: {} })),
    )
    const statuses = answers.map(({ status }) => status).sort()
    expect([
      [200, 200],
      [200, 409],
    ]).toContainEqual(statuses)
  })
})

test('O1: the webhooks of a deleted account go with it, and old deliveries after thirty days', async () => {
  const kim = await newMember('kim')
  await create(kim)
  const { id } = await create(olga)
  await post(olga)
  expect(await readOutbox()).toHaveLength(2)
  const { status } = await hub.call(`/accounts/${kim.name}?words=keep`, {
    key: adminKey,
    method: 'DELETE',
  })
  expect(status).toBe(200)
  expect((await readOutbox()).map((each) => each.target_id)).toEqual([id])
  hub.clock.advance(webhookLimits.keptMs + 1)
  await sweep(hub.context(), hub.clock.now())
  expect(await readOutbox()).toEqual([])
})

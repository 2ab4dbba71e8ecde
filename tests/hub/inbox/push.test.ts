import { env } from 'cloudflare:workers'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { sweep } from '../../../src/hub/api/sweep'
import { pushLimits } from '../../../src/shared/config'
import { createSoftwareBrowser, type ReceivedPush } from '../../support/software-browser'
import { type Browser, signIn } from '../../web/open-pages'
import { adminKey, createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
const service = 'https://push.example'
const received: ReceivedPush[] = []
let status = 201

vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
  const request = new Request(input as string, init as RequestInit)
  received.push({ url: request.url, headers: request.headers, body: await request.arrayBuffer() })
  return new Response(null, { status })
})

afterEach(() => {
  received.length = 0
  status = 201
})

const newPerson = async (name = 'mira') => {
  const person = await hub.join(`${name}-${crypto.randomUUID().slice(0, 6)}`, 'human')
  return { ...person, session: await signIn(hub, person.key) }
}

/** A person with a browser that gets notifications. */
async function newReachable() {
  const person = await newPerson()
  const browser = await createSoftwareBrowser(service)
  const fields = { label: 'Phone', subscription: browser.subscription }
  const added = await person.session.send('/settings/notifications/devices', fields)
  expect(added.status).toBe(303)
  const read = async () => {
    const own = received.filter(({ url }) => url === browser.endpoint)
    return Promise.all(own.map(({ body }) => browser.read(body)))
  }
  return { ...person, browser, read }
}

const choose = (session: Browser, fields: Record<string, string>) =>
  session.send('/settings/notifications', {
    mention_push: 'on',
    reply_push: 'on',
    dm_push: 'on',
    approval_push: 'on',
    run_push: 'on',
    quiet_from: '',
    quiet_to: '',
    digest_hour: '8',
    timezone: 'UTC',
    ...fields,
  })

const mention = (key: string, name: string, more: object = {}) =>
  hub.call('/posts', {
    key,
    body: { community: 'general', title: 'A question', content: `@${name} look\n\nhere`, ...more },
  })

const readQueue = async (id: string) => {
  const { results } = await env.DB.prepare(
    `SELECT q.due_at, q.attempts FROM push_queue q JOIN push_devices d ON d.id = q.device_id
     WHERE d.account_id = ?`,
  )
    .bind(id)
    .all<{ due_at: number; attempts: number }>()
  return results
}

describe('C4: a person with a browser', () => {
  test('is notified of a mention, with its words and its place, once', async () => {
    const [mira, olga] = [await newReachable(), await newPerson('olga')]
    const { body } = await mention(olga.key, mira.name)
    expect(await mira.read()).toEqual([
      {
        title: `@${olga.name} mentioned you`,
        body: `@${mira.name} look here`,
        path: `/p/${body.post.id}`,
        tag: expect.any(String),
      },
    ])
    expect(await readQueue(mira.id)).toEqual([])
    await sweep(hub.context(), hub.clock.now())
    expect(received).toHaveLength(1)
  })

  test('is notified of replies and direct messages, and only of what it chose', async () => {
    const [mira, olga] = [await newReachable(), await newPerson('olga')]
    const post = { community: 'general', title: 'Mine', content: 'Words' }
    const { body } = await hub.call('/posts', { key: mira.key, body: post })
    const comments = `/posts/${body.post.id}/comments`
    await hub.call(comments, { key: olga.key, body: { content: 'A reply' } })
    await hub.call('/conversations', {
      key: olga.key,
      body: { to: mira.name, content: 'Hello' },
    })
    const titles = async () => (await mira.read()).map((each) => (each as { title: string }).title)
    expect(await titles()).toEqual([`@${olga.name} replied to you`, `Message from @${olga.name}`])
    expect((await choose(mira.session, { mention_push: '' })).status).toBe(303)
    received.length = 0
    await mention(olga.key, mira.name)
    expect(received).toEqual([])
  })

  test('is notified after quiet hours, of many things by one summary', async () => {
    const [mira, olga] = [await newReachable(), await newPerson('olga')]
    const hour = new Date(hub.clock.now()).getUTCHours()
    const time = (hours: number) => `${String((hours + 24) % 24).padStart(2, '0')}:00`
    await choose(mira.session, { quiet_from: time(hour - 1), quiet_to: time(hour + 2) })
    for (let index = 0; index < 4; index++) await mention(olga.key, mira.name)
    expect(received).toEqual([])
    const waiting = await readQueue(mira.id)
    // what waits for the end of quiet hours was not tried
    expect(waiting.map(({ attempts }) => attempts)).toEqual([0, 0, 0, 0])
    expect(await mira.session.read('/settings/notifications')).toContain('within your quiet hours')
    await choose(mira.session, {})
    await env.DB.prepare('UPDATE push_queue SET due_at = 0').run()
    await sweep(hub.context(), hub.clock.now())
    expect(await mira.read()).toMatchObject([
      { title: '4 new notifications', body: `From @${olga.name}`, path: '/inbox' },
    ])
  })

  test('that no longer accepts messages is deleted; one that is busy is tried again', async () => {
    const [mira, olga] = [await newReachable(), await newPerson('olga')]
    status = 503
    await mention(olga.key, mira.name)
    const [first] = await readQueue(mira.id)
    expect(first?.attempts).toBe(1)
    expect(first?.due_at).toBeGreaterThan(hub.clock.now())
    expect(await mira.session.read('/settings/notifications')).toContain('answered 503')
    const before = received.length
    await sweep(hub.context(), hub.clock.now())
    expect(received).toHaveLength(before)
    status = 410
    await sweep(hub.context(), first?.due_at ?? 0)
    await env.DB.prepare('UPDATE push_queue SET due_at = 0').run()
    await sweep(hub.context(), hub.clock.now())
    expect(await mira.session.read('/settings/notifications')).toContain('No browser was added')
  })

  test('that signed out, was banned, had read it or whose session expired gets nothing', async () => {
    const olga = await newPerson('olga')
    const [left, banned, reader, expired] = [
      await newReachable(),
      await newReachable(),
      await newReachable(),
      await newReachable(),
    ]
    status = 503
    for (const { name } of [left, banned, reader, expired]) await mention(olga.key, name)
    received.length = 0
    status = 201
    await left.session.send('/logout', {})
    const ban = { kind: 'ban', reason: 'Spam' }
    expect(
      (await hub.call(`/accounts/${banned.name}/bans`, { key: adminKey, body: ban })).status,
    ).toBeLessThan(300)
    await reader.session.send('/inbox/read', {})
    await env.DB.prepare(
      `UPDATE api_keys SET expires_at = ? WHERE kind = 'session' AND account_id = ?`,
    )
      .bind(hub.clock.now(), expired.id)
      .run()
    await env.DB.prepare('UPDATE push_queue SET due_at = 0').run()
    await sweep(hub.context(), hub.clock.now())
    expect(received).toEqual([])
    expect(await readQueue(reader.id)).toEqual([])
  })
})

test('C4: a test says that it was sent, or what the push service answered', async () => {
  const mira = await newReachable()
  const id = /devices\/test"><input[^>]*value="([^"]+)"/.exec(
    await mira.session.read('/settings/notifications'),
  )?.[1]
  const send = () => mira.session.send('/settings/notifications/devices/test', { id: id ?? '' })
  const sent = await send()
  expect(sent.status).toBe(303)
  expect(await mira.session.read(sent.headers.get('location') ?? '')).toContain(
    'The test was sent.',
  )
  expect(await mira.read()).toMatchObject([{ path: '/settings/notifications' }])
  status = 500
  const failed = await send()
  expect([failed.status, (await failed.text()).includes('answered 500')]).toEqual([503, true])
})

test('C4: a browser belongs to the session and the account that added it last', async () => {
  const [mira, olga] = [await newReachable(), await newPerson('olga')]
  const fields = { label: 'Shared', subscription: mira.browser.subscription }
  expect((await olga.session.send('/settings/notifications/devices', fields)).status).toBe(303)
  await mention(olga.key, mira.name)
  expect(received).toEqual([])
  await mention(mira.key, olga.name)
  expect(received).toHaveLength(1)
})

test('C4: an account has so many browsers and no more; one of them can be added again', async () => {
  const { session, browser } = await newReachable()
  const add = async (subscription: string) =>
    (await session.send('/settings/notifications/devices', { label: 'x', subscription })).status
  const addNew = async () => add((await createSoftwareBrowser(service)).subscription)
  for (let count = 1; count < pushLimits.devicesPerAccountMax; count++) {
    expect(await addNew()).toBe(303)
  }
  expect(await addNew()).toBe(409)
  expect(await add(browser.subscription)).toBe(303)
})

test('C4: bad input is explained at its field', async () => {
  const { session } = await newPerson()
  for (const subscription of [
    '',
    'no json',
    '{"endpoint":"http://push.example/1","keys":{"p256dh":"x","auth":"y"}}',
  ]) {
    const refused = await session.send('/settings/notifications/devices', {
      label: 'x',
      subscription,
    })
    expect([subscription, refused.status]).toEqual([subscription, 400])
  }
  for (const fields of [
    { quiet_from: '22:00' },
    { quiet_from: '25:00', quiet_to: '07:00' },
    { timezone: 'Mars' },
  ]) {
    expect((await choose(session, fields)).status).toBe(400)
  }
})

test('C4: a mention costs the same round trips, and hardly a row, with browsers of others or none', async () => {
  const [mira, olga] = [await newPerson(), await newPerson('olga')]
  const cost = async () => readCost((await mention(olga.key, mira.name)).headers)
  await cost()
  for (let index = 0; index < 5; index++) await newReachable()
  const others = await cost()
  await env.DB.prepare('DELETE FROM push_devices').run()
  const none = await cost()
  expect(others.roundTrips).toBe(none.roundTrips)
  expect(others.rowsRead - none.rowsRead).toBeLessThanOrEqual(5)
})

test('C4 T2: what waits for the account before is not sent to the next account of a browser', async () => {
  const [mira, olga] = [await newReachable(), await newPerson('olga')]
  status = 503
  await hub.call('/conversations', {
    key: olga.key,
    body: { to: mira.name, content: 'For your eyes only' },
  })
  expect(await readQueue(mira.id)).toHaveLength(1)
  received.length = 0
  status = 201
  const fields = { label: 'Shared', subscription: mira.browser.subscription }
  const next = await newPerson('next')
  expect((await next.session.send('/settings/notifications/devices', fields)).status).toBe(303)
  await env.DB.prepare('UPDATE push_queue SET due_at = 0').run()
  await sweep(hub.context(), hub.clock.now())
  expect(received).toEqual([])
})

test('C4 T11: words that were removed or deleted meanwhile are not sent', async () => {
  const [mira, olga] = [await newReachable(), await newPerson('olga')]
  const post = { community: 'general', title: 'Mine', content: 'Words' }
  const { body } = await hub.call('/posts', { key: mira.key, body: post })
  const write = (content: string) =>
    hub.call(`/posts/${body.post.id}/comments`, { key: olga.key, body: { content } })
  status = 503
  const [removed, deleted] = [await write('Rude'), await write('Wrong')]
  expect(await readQueue(mira.id)).toHaveLength(2)
  received.length = 0
  status = 201
  await hub.call(`/comments/${removed.body.comment.id}/remove`, {
    key: adminKey,
    body: { reason: 'Rude' },
  })
  await hub.call(`/comments/${deleted.body.comment.id}`, { key: olga.key, method: 'DELETE' })
  await env.DB.prepare('UPDATE push_queue SET due_at = 0').run()
  await sweep(hub.context(), hub.clock.now())
  expect(received).toEqual([])
})

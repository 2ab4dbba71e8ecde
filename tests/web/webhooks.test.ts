import { expect, test } from 'vitest'
import { createTestHub, readCost } from '../hub/create-test-hub'
import { createReceiver } from '../hub/webhooks/create-receiver'
import { signIn } from './open-pages'

const hub = createTestHub()
const { received, state, newMember, post } = createReceiver(hub)
const olga = await newMember('olga')
const mira = await newMember('mira')
const [own, other] = await Promise.all([signIn(hub, olga.key), signIn(hub, mira.key)])
const path = '/settings/webhooks'

/** Creates a webhook with the form of a page; returns its own page. */
async function add(fields: Record<string, string> = {}, page = path, browser = own) {
  const made = await browser.send(page, {
    url: 'https://receiver.example/in',
    format: 'json',
    community: 'general',
    'post.created': 'on',
    ...fields,
  })
  const html = await made.text()
  const [secret = ''] = /whsec_[A-Za-z0-9+/=]+/.exec(html) ?? []
  const [, id = ''] = /href="\/settings\/webhooks\/([\w-]+)"/.exec(html) ?? []
  return { status: made.status, html, secret, page: `${path}/${id}` }
}

test('O1: a webhook made on the page shows its secret once, and its deliveries in words', async () => {
  const made = await add()
  expect(made.status).toBe(200)
  expect(made.secret).not.toBe('')
  const list = await own.get(path)
  expect(readCost(list.headers).roundTrips).toBe(1)
  expect(await list.text()).not.toContain(made.secret)
  state.answer = () => new Response(null, { status: 500 })
  await post(olga)
  const failed = await own.get(made.page)
  expect(readCost(failed.headers).roundTrips).toBe(1)
  const html = await failed.text()
  expect(html).toContain('It answered 500.')
  expect(html).toContain('The last attempt failed.')
  expect(html).toContain('Next attempt')
  expect(html).not.toContain(made.secret)
  state.answer = () => new Response(null, { status: 200 })
  const [, delivery = ''] = /name="delivery" value="([\w-]+)"/.exec(html) ?? []
  expect((await own.send(made.page, { do: 'resend', delivery })).status).toBe(303)
  expect(await (await own.get(made.page)).text()).toContain('Delivered')
  expect(received.map(({ id }) => id)).toEqual([delivery, delivery])
})

test('O1: its page sends a test, rotates the secret, disables and deletes', async () => {
  const made = await add()
  expect((await own.send(made.page, { do: 'test' })).status).toBe(303)
  expect(received.at(-1)?.body.type).toBe('webhook.test')
  expect(await (await own.get(made.page)).text()).toContain('It answered 204.')
  const rotated = await (await own.send(made.page, { do: 'rotate' })).text()
  const [secret = ''] = /whsec_[A-Za-z0-9+/=]+/.exec(rotated) ?? []
  expect(secret).not.toBe('')
  expect(secret).not.toBe(made.secret)
  await own.send(made.page, { do: 'disable' })
  expect(await (await own.get(made.page)).text()).toContain('Disabled.')
  await own.send(made.page, { do: 'enable' })
  expect(await (await own.get(made.page)).text()).not.toContain('Disabled.')
  for (const act of ['test', 'rotate', 'disable', 'resend']) {
    expect((await other.send(made.page, { do: act, delivery: 'x' })).status).toBe(404)
  }
  expect((await other.get(made.page)).status).toBe(404)
  expect((await other.send(`${made.page}/delete`, {})).status).toBe(404)
  expect((await own.get(`${made.page}/delete`)).status).toBe(200)
  expect((await own.send(`${made.page}/delete`, {})).headers.get('location')).toBe(path)
  expect((await own.get(made.page)).status).toBe(404)
})

test('O1: the form keeps what was typed, and says what is wrong', async () => {
  const wrong = await add({ url: 'https://10.0.0.1/', 'post.created': '', 'run.finished': 'on' })
  expect(wrong.status).toBe(400)
  expect(wrong.html).toContain('not on the public internet')
  expect(wrong.html).toContain('value="https://10.0.0.1/"')
  expect(wrong.html).toMatch(/name="run\.finished" checked/)
  const none = await add({ 'post.created': '' })
  expect(none.html).toContain('Choose what is sent.')
  const hubWide = await add({ community: '' })
  expect([hubWide.status, hubWide.secret]).toEqual([403, ''])
})

test('O1: a community has a page of its own, linked from its settings', async () => {
  const name = 'attic'
  await hub.call('/communities', {
    key: olga.key,
    body: { name, display_name: 'Attic', visibility: 'private' },
  })
  const page = `/m/${name}/settings/webhooks`
  expect(await (await own.get(`/m/${name}/settings`)).text()).toContain(`href="${page}"`)
  const made = await add({ community: 'general' }, page)
  expect(made.status).toBe(200)
  expect(made.html).toContain(`m/${name}`)
  await post(olga, { community: name })
  expect(received[0]?.body.data.community.name).toBe(name)
  for (const place of [page, '/m/nowhere/settings/webhooks']) {
    expect((await other.get(place)).status).toBe(404)
  }
  expect(await (await own.get('/settings')).text()).toContain(`href="${path}"`)
})

import { expect, test } from 'vitest'
import { adminKey, createTestHub } from '../hub/create-test-hub'
import { createBrowser, signIn } from './open-pages'

const hub = createTestHub()
const readPage = async () =>
  (
    await hub.fetch('/admin/people/ben', { headers: { authorization: `Bearer ${adminKey}` } })
  ).text()
const stateOf = (page: string) => /<dt>State<\/dt><dd>([^<]*)/.exec(page)?.[1]

test('T10: the page of an account says that it is banned or muted, until that ends', async () => {
  await hub.join('ben', 'human')
  expect(stateOf(await readPage())).toBe('Active')
  const endsAt = new Date(hub.clock.now() + 3_600_000).toISOString()
  const restrict = (kind: string, more = {}) =>
    hub.call('/accounts/ben/bans', { key: adminKey, body: { kind, reason: 'Spam', ...more } })
  await restrict('ban', { ends_at: endsAt })
  await restrict('mute')
  expect(stateOf(await readPage())).toBe('Banned')
  hub.clock.advance(3_600_000)
  expect(stateOf(await readPage())).toBe('Muted')
})

test('T10: the end of a ban is shown as other times are, on a page and by the API', async () => {
  const ada = await hub.join('ada', 'human')
  const browser = await signIn(hub, ada.key)
  const endsAt = new Date(Math.ceil(hub.clock.now() / 1_000) * 1_000 + 3_600_000).toISOString()
  const body = { kind: 'ban', reason: 'Spam', ends_at: endsAt }
  await hub.call('/accounts/ada/bans', { key: adminKey, body })
  const shown = `${endsAt.slice(0, 10)} ${endsAt.slice(11, 19)} UTC`
  expect(await browser.read('/inbox')).toContain(`until ${shown}.`)
  const refused = await hub.call('/feed', { key: ada.key })
  expect(refused.body.error).toContain(`until ${shown}.`)
})

test('T11: an admin makes an account a moderator of the hub on its page, where it is shown', async () => {
  const [eli, gil] = [await hub.join('eli', 'human'), await hub.join('gil', 'human')]
  await hub.call('/accounts/gil/role', { key: adminKey, method: 'PUT', body: { role: 'guest' } })
  const admin = await signIn(hub)
  const page = '/admin/people/eli'
  const roleOf = (html: string) => /<dt>Role<\/dt><dd>([^<]*)/.exec(html)?.[1]
  expect(roleOf(await admin.read(page))).toBe('Member')
  const set = (path: string, is_moderator: string, by = admin) =>
    by.send(`${path}/moderator`, { is_moderator })
  expect((await set(page, 'true', await signIn(hub, eli.key))).status).toBe(403)
  expect((await set(page, 'true', createBrowser(hub))).status).toBe(401)
  expect((await set(page, 'perhaps')).status).toBe(400)
  const done = await set(page, 'true')
  expect([done.status, done.headers.get('location')]).toEqual([303, page])
  for (const path of [page, '/a/eli']) {
    expect(roleOf(await admin.read(path)), path).toBe('Member, moderator of the hub')
  }
  expect(await admin.read('/admin/people?q=eli')).toContain('Member, moderator of the hub')
  expect((await set(page, 'false')).status).toBe(303)
  expect(roleOf(await admin.read(page))).toBe('Member')
  const refused = await set('/admin/people/gil', 'true')
  expect([refused.status, gil.name]).toEqual([409, 'gil'])
})

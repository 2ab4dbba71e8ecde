import { expect, test } from 'vitest'
import { assetPaths } from '../../src/web/frame/assets'
import { createTestHub } from '../hub/create-test-hub'
import { createBrowser, signIn } from './open-pages'

const hub = createTestHub()
const newPerson = async () => {
  const person = await hub.join(`mira-${crypto.randomUUID().slice(0, 6)}`, 'human')
  return { ...person, browser: await signIn(hub, person.key) }
}

test('pages: a profile is saved, and shown on the page of the account', async () => {
  const { name, browser } = await newPerson()
  const saved = await browser.send('/settings/profile', {
    display_name: 'Mira M.',
    description: 'Likes <b>plums</b>',
  })
  expect([saved.status, saved.headers.get('location')]).toEqual([303, '/settings'])
  expect(await browser.read(`/a/${name}`)).toContain('<bdi>Mira M.</bdi>. Likes &lt;b&gt;plums')
  const long = await browser.send('/settings/profile', {
    display_name: 'x'.repeat(61),
    description: 'Kept',
  })
  expect(long.status).toBe(400)
  const html = await long.text()
  expect(html).toContain('A display name can have at most 60 characters.')
  expect(html).toContain('Kept</textarea>')
})

test('T16: a key made in the settings is shown once, in no address, and within its session', async () => {
  const { browser } = await newPerson()
  const fields = { label: 'Laptop', scopes: 'read', expires_on: '' }
  const made = await browser.send('/settings/keys', fields)
  expect([made.status, made.headers.get('location')]).toEqual([200, null])
  const html = await made.text()
  const key = /rookery_[\w-]{40,}/.exec(html)?.[0] ?? ''
  expect((await hub.call('/me', { key })).status).toBe(200)
  const write = { key, body: { community: 'general', title: 'x' } }
  expect((await hub.call('/posts', write)).status).toBe(403)
  const later = await browser.read('/settings/keys')
  expect(later).not.toContain(key)
  expect(later).toContain('Laptop')
  expect(later).toContain('expires on')

  const beyond = await browser.send('/settings/keys', { ...fields, expires_on: '2036-01-01' })
  expect(beyond.status).toBe(403)
  expect(await beyond.text()).toContain('so it cannot create a key that lasts longer')
  for (const [expires, status] of [
    ['2025-01-01', 400],
    ['soon', 400],
  ] as const) {
    const refused = await browser.send('/settings/keys', { ...fields, expires_on: expires })
    expect([expires, refused.status]).toEqual([expires, status])
    expect(await refused.text()).toContain('id="expires_on-wrong"')
  }

  const id =
    /keys\/delete"><input[^>]*value="([^"]+)"\/><button[^>]*>Delete<span class="vh"> Laptop/.exec(
      later,
    )?.[1]
  expect((await browser.send('/settings/keys/delete', { id: id ?? '' })).status).toBe(303)
  expect((await hub.call('/me', { key })).status).toBe(401)
})

test('pages: what is shown once can be copied, by a script that other pages do not load', async () => {
  const admin = await signIn(hub)
  const invited = { role: 'member', expires_in_days: '7', note: '' }
  const shown: [page: string, form: string, fields: Record<string, string>, text: RegExp][] = [
    ['/admin/people', '/admin/people/invitations', invited, /value="http[^"]+" data-copy="invit/],
    ['/settings/keys', '/settings/keys', { label: 'A', scopes: 'read' }, /data-copy="key">rook/],
    ['/settings/sessions', '/settings/sessions/link', {}, /data-copy="sign-in link">http/],
    ['/runners', '/runners/keys', { label: 'A' }, /data-copy="key">rook.*data-copy="command">npx/s],
  ]
  const script = `src="${assetPaths().copy}"`
  for (const [page, form, fields, text] of shown) {
    const made = await (await admin.send(form, fields)).text()
    expect(made, page).toContain(script)
    expect(made, page).toMatch(text)
    const later = await admin.read(page)
    expect(later, page).not.toContain('data-copy')
    expect(later, page).not.toContain(script)
  }
})

test('pages: a theme is kept in the browser, and colors every page from its first byte', async () => {
  const { browser } = await newPerson()
  const saved = await browser.send('/settings/theme', { theme: 'dark' })
  const cookie = saved.headers.get('set-cookie')?.split(';')[0] ?? ''
  const html = await createBrowser(hub, cookie).read('/login')
  expect(html).toContain('<html lang="en" data-theme="dark">')
  expect(html).toContain('<meta name="color-scheme" content="dark"/>')
  const odd = await createBrowser(hub, 'rookery_theme=pink"').read('/login')
  expect(odd).toContain('<html lang="en">')
  expect((await browser.send('/settings/theme', { theme: 'pink' })).status).toBe(400)
})

test('pages: settings are one round trip and need a session', async () => {
  const { browser } = await newPerson()
  await browser.get('/')
  for (const path of [
    '/settings',
    '/settings/sign-in',
    '/settings/sessions',
    '/settings/keys',
    '/settings/triggers',
    '/m/general/settings/triggers',
  ]) {
    const { headers } = await browser.get(path)
    expect([path, headers.get('server-timing')]).toEqual([
      path,
      expect.stringContaining('round_trips=1 '),
    ])
    const stranger = await hub.fetch(path, { redirect: 'manual' })
    expect(stranger.headers.get('location')).toBe(`/login?next=${encodeURIComponent(path)}`)
  }
  expect(await browser.read('/')).toContain('href="/settings"')
})

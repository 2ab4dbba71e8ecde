import { env } from 'cloudflare:workers'
import { describe, expect, test } from 'vitest'
import { identitySettings, installFakeIssuer } from '../../support/fake-issuer'
import { form } from '../../web/open-pages'
import { createTestHub } from '../create-test-hub'

const hub = createTestHub()
const origins = ['https://hub.example', 'http://localhost:8787', 'http://hub.lan']
const secure = createTestHub({ ...identitySettings, ROOKERY_ORIGIN: 'https://hub.example' })
const local = createTestHub({ ...identitySettings, ROOKERY_ORIGIN: '' })
const plain = createTestHub({ ...identitySettings, ROOKERY_ORIGIN: 'http://hub.lan' })
const hubs = [secure, local, plain]

const person = await hub.join('magnolia', 'human')
const sendTo = (index: number, path: string, init: RequestInit, at = origins[index]) => {
  const headers = { ...(init.headers as Record<string, string>), origin: at ?? '' }
  return (hubs[index] ?? hub).request(`${at}${path}`, { ...init, headers })
}
const signInAt = (index: number, at?: string) =>
  sendTo(index, '/login', form({ key: person.key, next: '/' }), at)
const cookieOf = (response: Response) => response.headers.getSetCookie()[0] ?? ''
const readAt = (index: number, cookie: string) =>
  sendTo(index, '/settings/sessions', { headers: { cookie }, redirect: 'manual' })
const withName = (cookie: string, name: string) =>
  `${name}=${cookie.split(';')[0]?.split('=').slice(1).join('=')}`

test.each([
  ['over TLS', 0, '__Host-rookery_session', true],
  ['on this machine, with the port', 1, 'rookery_session_8787', false],
  ['without TLS elsewhere', 2, 'rookery_session', false],
])('T17: the cookie of a session %s', async (_what, index, name, isSecure) => {
  const cookie = cookieOf(await signInAt(index))
  expect(cookie.split('=')[0]).toBe(name)
  expect(cookie).toMatch(/; Path=\/(;|$)/)
  expect(cookie).not.toMatch(/domain/i)
  expect(cookie).toContain('HttpOnly')
  expect(cookie).toContain('SameSite=Lax')
  expect(cookie.includes('; Secure')).toBe(isSecure)
  expect((await readAt(index, cookie.split(';')[0] ?? '')).status).toBe(200)
})

describe('over TLS', () => {
  test('T17: a cookie without the prefix signs in nobody, alone or beside the right one', async () => {
    const own = cookieOf(await signInAt(0)).split(';')[0] ?? ''
    const zinnia = await hub.join('zinnia', 'human')
    const theirs = cookieOf(await sendTo(0, '/login', form({ key: zinnia.key, next: '/' })))
    const tossed = withName(theirs, 'rookery_session')
    expect((await readAt(0, tossed)).status).toBe(303)
    for (const cookie of [`${tossed}; ${own}`, `${own}; ${tossed}`]) {
      const html = await (await readAt(0, cookie)).text()
      expect(html).toContain('magnolia')
      expect(html).not.toContain('zinnia')
    }
  })

  test('T17: signing out ends the session of the prefixed cookie, and removes that cookie', async () => {
    const own = cookieOf(await signInAt(0)).split(';')[0] ?? ''
    const other = cookieOf(await signInAt(0)).split(';')[0] ?? ''
    const init = form({})
    const headers = { ...(init.headers as Record<string, string>) }
    headers.cookie = `${withName(other, 'rookery_session')}; ${own}`
    const left = await sendTo(0, '/logout', { ...init, headers })
    expect(cookieOf(left)).toMatch(/^__Host-rookery_session=; .*Expires=Thu, 01 Jan 1970/)
    expect(cookieOf(left)).toMatch(/Path=\/.*Secure|Secure.*Path=\//)
    expect([(await readAt(0, own)).status, (await readAt(0, other)).status]).toEqual([303, 200])
  })

  test('T17: the other cookies have the prefix too', async () => {
    const issuer = installFakeIssuer()
    const started = await sendTo(0, '/login/oidc', form({}))
    const themed = await sendTo(0, '/settings/theme', form({ theme: 'dark' }))
    issuer.restore()
    expect(cookieOf(started)).toMatch(/^__Host-rookery_sign_in=[^;]+;.*Path=\/;/)
    expect(cookieOf(themed)).toMatch(/^__Host-rookery_theme=dark;/)
    const page = await sendTo(0, '/login', { headers: { cookie: 'rookery_theme=dark' } })
    const dark = await sendTo(0, '/login', { headers: { cookie: '__Host-rookery_theme=dark' } })
    const [plainHtml, darkHtml] = [await page.text(), await dark.text()]
    expect(darkHtml).not.toBe(plainHtml)
  })
})

test('T17: two hubs on one machine keep their sessions apart', async () => {
  const first = cookieOf(await signInAt(1)).split(';')[0] ?? ''
  const second = cookieOf(await signInAt(1, 'http://localhost:9898')).split(';')[0] ?? ''
  expect(second).toMatch(/^rookery_session_9898=/)
  const both = { headers: { cookie: `${first}; ${second}` }, redirect: 'manual' } as const
  await env.DB.prepare(`DELETE FROM api_keys WHERE kind = 'session' AND hash = ?`)
    .bind(await hashOf(second))
    .run()
  expect((await sendTo(1, '/settings/sessions', both)).status).toBe(200)
  const elsewhere = await sendTo(1, '/settings/sessions', both, 'http://localhost:9898')
  expect(elsewhere.status).toBe(303)
})

const hashOf = async (cookie: string) => {
  const token = new TextEncoder().encode(cookie.split('=')[1])
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', token))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

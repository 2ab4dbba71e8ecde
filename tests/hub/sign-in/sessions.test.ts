import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, test } from 'vitest'
import { createBrowser, form, signIn } from '../../web/open-pages'
import { adminKey, createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
const firefox = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0'
const chrome =
  'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'

let mira: Awaited<ReturnType<typeof hub.join>>
beforeAll(async () => {
  mira = await hub.join(`mira-${crypto.randomUUID().slice(0, 6)}`, 'human')
})

const isSignedIn = async (who: ReturnType<typeof createBrowser>) =>
  !(await who.read('/')).includes('Sign in</a>')

const toBrowser = (response: Response) =>
  createBrowser(hub, response.headers.get('set-cookie')?.split(';')[0])

const withAgent = (init: RequestInit, agent: string): RequestInit => ({
  ...init,
  headers: { ...(init.headers as Record<string, string>), 'user-agent': agent },
})

const createLink = async (key = adminKey, name?: string) => {
  const { body } = await hub.call('/sessions/link', { key, body: name ? { name } : {} })
  return new URL(body.url).searchParams.get('token') ?? ''
}

const open = (path: string, fields: Record<string, string>, agent = firefox) =>
  hub.fetch(path, withAgent(form(fields), agent))

describe('a sign-in link', () => {
  test('T9: opening it signs nobody in and does not use it up', async () => {
    const token = await createLink()
    for (const method of ['GET', 'HEAD', 'GET']) {
      const opened = await hub.fetch(`/login?token=${token}&next=/inbox`, { method })
      expect([opened.status, opened.headers.get('set-cookie')]).toEqual([200, null])
    }
    const html = await (await hub.fetch(`/login?token=${token}&next=/inbox`)).text()
    expect(html).toMatch(/<form[^>]*action="\/login\/link"/)
    expect(html).toContain('Continue as admin')
    const entered = await open('/login/link', { token, next: '/inbox' })
    expect([entered.status, entered.headers.get('location')]).toEqual([303, '/inbox'])
    expect(await isSignedIn(toBrowser(entered))).toBe(true)
  })

  test('T9: it works once, also when it is used twice at the same moment', async () => {
    const token = await createLink()
    const entered = await Promise.all([1, 2, 3].map(() => open('/login/link', { token })))
    expect(entered.map(({ status }) => status).sort()).toEqual([303, 401, 401])
    expect((await hub.fetch(`/login?token=${token}`)).status).toBe(401)
  })

  test('T9: another site cannot use it for its visitor', async () => {
    const token = await createLink()
    const init = form({ token })
    const response = await hub.fetch('/login/link', {
      ...init,
      headers: { ...(init.headers as Record<string, string>), 'sec-fetch-site': 'cross-site' },
    })
    expect([response.status, response.headers.get('set-cookie')]).toEqual([403, null])
    expect((await open('/login/link', { token })).status).toBe(303)
  })

  test('T16: a link that a key created has no more scopes than the key, and its session ends with it', async () => {
    const { body } = await hub.call('/accounts', {
      key: adminKey,
      body: { name: `deputy-${crypto.randomUUID().slice(0, 6)}`, kind: 'human', role: 'admin' },
    })
    const made = await hub.call('/me/keys', { key: body.account.api_key, body: {} })
    const { id, api_key: key } = made.body.key
    const browser = toBrowser(
      await open('/login/link', { token: await createLink(key, mira.name) }),
    )
    expect(await isSignedIn(browser)).toBe(true)
    const unused = await createLink(key, mira.name)
    await hub.call(`/me/keys/${id}`, { method: 'DELETE', key: body.account.api_key })
    expect(await isSignedIn(browser)).toBe(false)
    expect((await hub.fetch(`/login?token=${unused}`)).status).toBe(401)
  })
})

describe('a rotated admin key', () => {
  const rotated = () =>
    createTestHub({ ROOKERY_ADMIN_KEY: `another_${crypto.randomUUID()}`, ROOKERY_PUBLIC: 'true' })

  test('T9: it ends the sessions and links that the old one opened, and no others', async () => {
    const admin = await signIn(hub)
    const byLink = toBrowser(await open('/login/link', { token: await createLink() }))
    const unused = await createLink()
    const person = await signIn(hub, mira.key)
    for (const browser of [admin, byLink]) {
      expect((await browser.get('/policy')).status).toBe(200)
    }
    const later = rotated()
    const onLater = (browser: typeof admin) => createBrowser(later, browser.cookie)
    for (const browser of [admin, byLink]) {
      expect((await onLater(browser).get('/policy')).status).toBe(303)
      expect(await onLater(browser).read('/')).toContain('Sign in</a>')
    }
    expect(await onLater(person).read('/')).not.toContain('Sign in</a>')
    expect((await later.fetch(`/login?token=${unused}`)).status).toBe(401)
    expect((await later.fetch('/login/link', form({ token: unused }))).status).toBe(401)
  })

  test('T9: without an admin key nobody is signed in with an old one', async () => {
    const admin = await signIn(hub)
    const keyless = createTestHub({ ROOKERY_ADMIN_KEY: '' })
    expect(await createBrowser(keyless, admin.cookie).read('/')).toContain('Sign in</a>')
  })
})

describe('/settings/sessions', () => {
  const signInOn = async (agent: string) =>
    toBrowser(await open('/login', { key: mira.key, next: '/' }, agent))

  test('T9: it lists where an account is signed in, and ends one session', async () => {
    const here = await signInOn(firefox)
    const there = await signInOn(chrome)
    // the first request of a session also stores when it was last seen
    await here.get('/')
    const response = await here.get('/settings/sessions')
    expect(readCost(response.headers).roundTrips).toBe(1)
    const html = await response.text()
    expect(html).toContain('Firefox on Linux</strong> (this browser)')
    const id = /value="([^"]+)"\/><button[^>]*>Sign out<span class="vh"> Chrome on Windows/.exec(
      html,
    )?.[1]
    expect(id).toBeDefined()
    const ended = await here.send('/settings/sessions/end', { id: id ?? '' })
    expect(ended.headers.get('location')).toBe('/settings/sessions')
    expect([await isSignedIn(here), await isSignedIn(there)]).toEqual([true, false])
  })

  test('T9: it ends all other sessions, and links that were not used', async () => {
    const token = await createLink(adminKey, mira.name)
    const [here, there, other] = [
      await signInOn(firefox),
      await signInOn(chrome),
      await signIn(hub),
    ]
    await here.send('/settings/sessions/end-others', {})
    const states = await Promise.all([here, there, other].map(isSignedIn))
    expect(states).toEqual([true, false, true])
    expect((await hub.fetch(`/login?token=${token}`)).status).toBe(401)
    expect((await hub.call('/me', { key: mira.key })).status).toBe(200)
  })

  test('T9: an account ends sessions of its own only', async () => {
    const mine = await signInOn(firefox)
    const { results } = await env.DB.prepare(
      `SELECT id FROM api_keys WHERE account_id = ? AND kind = 'session'`,
    )
      .bind(mira.id)
      .all<{ id: string }>()
    const stranger = await signIn(
      hub,
      (await hub.join(`eve-${crypto.randomUUID().slice(0, 6)}`, 'human')).key,
    )
    for (const { id } of results) {
      expect((await stranger.send('/settings/sessions/end', { id })).status).toBe(404)
    }
    expect(await isSignedIn(mine)).toBe(true)
  })

  test('T9: a link for another device works once; signing out here leaves the other device', async () => {
    const here = await signInOn(firefox)
    const shown = await here.send('/settings/sessions/link', {})
    expect([shown.status, shown.headers.get('location')]).toEqual([200, null])
    const token = /token=([\w-]+)/.exec(await shown.text())?.[1] ?? ''
    const there = toBrowser(await open('/login/link', { token }, chrome))
    expect((await open('/login/link', { token })).status).toBe(401)
    await here.send('/logout', {})
    expect([await isSignedIn(here), await isSignedIn(there)]).toEqual([false, true])
  })

  test('T9, T16: the session of such a link ends with the key of the first session', async () => {
    const made = await hub.call('/me/keys', {
      key: mira.key,
      body: { scopes: ['read', 'write'] },
    })
    const here = await signIn(hub, made.body.key.api_key)
    const shown = await here.send('/settings/sessions/link', {})
    const token = /token=([\w-]+)/.exec(await shown.text())?.[1] ?? ''
    const there = toBrowser(await open('/login/link', { token }))
    expect(await isSignedIn(there)).toBe(true)
    await hub.call(`/me/keys/${made.body.key.id}`, { method: 'DELETE', key: mira.key })
    expect([await isSignedIn(here), await isSignedIn(there)]).toEqual([false, false])
  })

  test('T9: on an address of this machine, sign-in and settings move to localhost', async () => {
    const local = createTestHub({ ROOKERY_ORIGIN: '' })
    for (const path of ['/login?token=x&next=/inbox', '/settings', '/settings/sign-in']) {
      for (const host of ['127.0.0.1:8787', '[::1]:8787']) {
        const moved = await local.request(`http://${host}${path}`, { redirect: 'manual' })
        expect([moved.status, moved.headers.get('location')]).toEqual([
          302,
          `http://localhost:8787${path}`,
        ])
      }
    }
    expect((await local.request('http://localhost:8787/login')).status).toBe(200)
    expect((await local.request('http://127.0.0.1:8787/')).status).toBe(200)
    const posted = await local.request('http://127.0.0.1:8787/login', {
      ...form({ key: mira.key }),
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        origin: 'http://127.0.0.1:8787',
      },
    })
    expect(posted.status).toBe(303)
  })
})

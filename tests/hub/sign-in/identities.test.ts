import { env } from 'cloudflare:workers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { signInLimits } from '../../../src/shared/config'
import { identitySettings, installFakeIssuer, issuerUrl } from '../../support/fake-issuer'
import { type Browser, createBrowser, form, signIn } from '../../web/open-pages'
import { createTestHub } from '../create-test-hub'

const hub = createTestHub(identitySettings)
const issuer = installFakeIssuer()
afterAll(() => issuer.restore())
beforeEach(() => {
  issuer.state.isDown = false
})

const newName = () => `person-${crypto.randomUUID().slice(0, 8)}`
const cookiesOf = (response: Response) =>
  response.headers.getSetCookie().map((cookie) => cookie.split(';')[0] ?? '')
const toBrowser = (response: Response) =>
  createBrowser(
    hub,
    cookiesOf(response).find((cookie) => cookie.startsWith('rookery_session=')),
  )

/** What the hub answers to a form that starts: where the browser goes on, and its cookie. */
async function readStart(response: Response) {
  expect(response.status).toBe(200)
  const html = await response.text()
  const url = /<meta http-equiv="refresh" content="0; url=([^"]+)"/.exec(html)?.[1] ?? ''
  return { url: url.replaceAll('&amp;', '&'), cookie: cookiesOf(response).join('; ') }
}

const start = async (provider = 'oidc', next = '/') =>
  readStart(await hub.fetch(`/login/${provider}`, form({ next })))
const startLinking = async (by: Browser, provider = 'oidc') =>
  readStart(await by.send(`/settings/sign-in/${provider}`, {}))
const comeBack = (back: URL, cookie: string) =>
  hub.fetch(back.pathname + back.search, {
    headers: { cookie, 'sec-fetch-site': 'cross-site' },
    redirect: 'manual',
  })

/** A person of the hub, linked to one at a provider. */
async function createLinked(provider = 'oidc', sub: string = crypto.randomUUID()) {
  const person = await hub.join(newName(), 'human')
  const browser = await signIn(hub, person.key)
  const { url, cookie } = await startLinking(browser, provider)
  const back = issuer.confirm(url, { sub, email: `${sub}@example.com` })
  const linked = await comeBack(back, `${cookie}; ${browser.cookie}`)
  expect([linked.status, linked.headers.get('location')]).toEqual([303, '/settings/sign-in'])
  return { person, browser, sub }
}

describe.each(['oidc', 'github'])('with %s', (provider) => {
  const newSub = () => String(Math.floor(Math.random() * 1e9))

  test('T9: a linked identity signs in its account, on the page that was asked for', async () => {
    const { person, sub } = await createLinked(provider, newSub())
    const { url, cookie } = await start(provider, '/inbox')
    const entered = await comeBack(issuer.confirm(url, { sub }), cookie)
    expect([entered.status, entered.headers.get('location')]).toEqual([303, '/inbox'])
    expect(await toBrowser(entered).read('/settings')).toContain(person.name)
  })

  test('T9: an identity without an account signs in nobody and creates none', async () => {
    const before = await env.DB.prepare('SELECT count(*) AS n FROM accounts').first()
    const { url, cookie } = await start(provider)
    const refused = await comeBack(issuer.confirm(url, { sub: newSub() }), cookie)
    expect(refused.status).toBe(401)
    expect(cookiesOf(refused).join()).not.toContain('rookery_session')
    expect(await env.DB.prepare('SELECT count(*) AS n FROM accounts').first()).toEqual(before)
  })

  test('T9: unlinking it ends the sessions it opened, and it signs in nobody', async () => {
    const { browser, sub } = await createLinked(provider, newSub())
    const again = await start(provider)
    const opened = toBrowser(await comeBack(issuer.confirm(again.url, { sub }), again.cookie))
    expect((await opened.get('/settings')).status).toBe(200)
    const html = await browser.read('/settings/sign-in')
    const id = /identities\/delete"><input[^>]*value="([^"]+)"/.exec(html)?.[1] ?? ''
    const stranger = await signIn(hub, (await hub.join(newName(), 'human')).key)
    const others = await stranger.send('/settings/sign-in/identities/delete', { id })
    expect(others.status).toBe(404)
    expect((await browser.send('/settings/sign-in/identities/delete', { id })).status).toBe(303)
    expect((await opened.get('/settings')).status).toBe(303)
    const { url, cookie } = await start(provider)
    expect((await comeBack(issuer.confirm(url, { sub }), cookie)).status).toBe(401)
  })

  test('T9: an identity is linked to one account only', async () => {
    const { sub } = await createLinked(provider, newSub())
    const other = await signIn(hub, (await hub.join(newName(), 'human')).key)
    const { url, cookie } = await startLinking(other, provider)
    const back = issuer.confirm(url, { sub })
    expect((await comeBack(back, `${cookie}; ${other.cookie}`)).status).toBe(409)
  })
})

describe('an answer that is not right', () => {
  let sub = ''
  beforeAll(async () => {
    sub = (await createLinked()).sub
  })
  const hour = 3_600

  test.each([
    ['another nonce', { nonce: 'another' }],
    ['no nonce', { nonce: undefined }],
    ['another audience', { aud: 'another-client' }],
    ['another issuer', { iss: 'https://evil.test' }],
    ['an expired ID token', { exp: Math.floor(Date.now() / 1_000) - hour }],
  ])('T9: %s signs in nobody', async (_what, claims) => {
    const { url, cookie } = await start()
    const refused = await comeBack(issuer.confirm(url, { sub, claims }), cookie)
    expect(refused.status).toBe(401)
    expect(cookiesOf(refused).join()).not.toContain('rookery_session')
  })

  test('T9: another state, a code of another attempt, or a refusal signs in nobody', async () => {
    const changes: ((back: URL) => void)[] = [
      (back) => back.searchParams.set('state', 'another'),
      (back) => back.searchParams.delete('state'),
      (back) => back.searchParams.set('code', 'another'),
      (back) => {
        back.searchParams.delete('code')
        back.searchParams.set('error', 'access_denied')
      },
    ]
    for (const change of changes) {
      const { url, cookie } = await start()
      const back = issuer.confirm(url, { sub })
      change(back)
      expect((await comeBack(back, cookie)).status).toBe(401)
    }
    const [mine, theirs] = [await start(), await start()]
    const back = issuer.confirm(theirs.url, { sub })
    back.searchParams.set('state', new URL(mine.url).searchParams.get('state') ?? '')
    expect((await comeBack(back, mine.cookie)).status).toBe(401)
  })

  test('T9: only the browser that started can finish, once and in time', async () => {
    const first = await start()
    const back = issuer.confirm(first.url, { sub })
    expect((await comeBack(back, '')).status).toBe(401)
    expect((await comeBack(back, (await start()).cookie)).status).toBe(401)
    expect((await comeBack(back, first.cookie)).status).toBe(303)
    expect((await comeBack(back, first.cookie)).status).toBe(401)
    const late = await start()
    hub.clock.advance(signInLimits.attemptMinutes * 60_000)
    expect((await comeBack(issuer.confirm(late.url, { sub }), late.cookie)).status).toBe(401)
  })

  test('T9: an attempt at one provider cannot be finished at another', async () => {
    const { url, cookie } = await start('github')
    const back = issuer.confirm(url, { sub })
    back.pathname = '/login/oidc/callback'
    expect((await comeBack(back, cookie)).status).toBe(401)
  })

  test('T9: another site can start nothing', async () => {
    const init = form({})
    const headers = { ...(init.headers as Record<string, string>), 'sec-fetch-site': 'cross-site' }
    expect((await hub.fetch('/login/oidc', { ...init, headers })).status).toBe(403)
  })

  test('T9: a link is made for the account that started, in its own session', async () => {
    const mine = await signIn(hub, (await hub.join(newName(), 'human')).key)
    const theirs = await signIn(hub, (await hub.join(newName(), 'human')).key)
    const { url, cookie } = await startLinking(theirs)
    const back = issuer.confirm(url, { sub: crypto.randomUUID() })
    expect((await comeBack(back, `${cookie}; ${mine.cookie}`)).status).toBe(403)
    expect((await comeBack(back, `${cookie}; ${mine.cookie}`)).status).toBe(401)
  })

  test('T16: a session of a key that expires links nothing', async () => {
    const { key } = await hub.join(newName(), 'human')
    const expiry = new Date(hub.clock.now() + 60_000).toISOString()
    const made = await hub.call('/me/keys', { key, body: { expires_at: expiry } })
    const limited = await signIn(hub, made.body.key.api_key)
    expect((await limited.send('/settings/sign-in/oidc', {})).status).toBe(403)
  })
})

test('T9: while the issuer is down the sign-in page says so, and other ways still work', async () => {
  const { sub, person } = await createLinked()
  const started = await start()
  issuer.state.isDown = true
  const refused = await hub.fetch('/login/oidc', form({ next: '/inbox' }))
  expect(refused.status).toBe(503)
  const html = await refused.text()
  expect(html).toContain('Example Login cannot be reached.')
  expect(html).toContain('name="next" value="/inbox"')
  expect((await comeBack(issuer.confirm(started.url, { sub }), started.cookie)).status).toBe(503)
  expect((await signIn(hub, person.key)).cookie).not.toBe('')
})

test('T9: the hub asks with a code challenge, and tells the page no secret', async () => {
  const response = await hub.fetch('/login/oidc', form({}))
  const html = await response.clone().text()
  const { url } = await readStart(response)
  const { origin, searchParams } = new URL(url)
  expect(origin).toBe(issuerUrl)
  expect(Object.fromEntries(searchParams)).toMatchObject({
    response_type: 'code',
    client_id: 'hub-at-issuer',
    scope: 'openid profile email',
    code_challenge_method: 'S256',
    redirect_uri: 'http://hub.test/login/oidc/callback',
  })
  expect(html).not.toContain('secret-at-issuer')
  const { results } = await env.DB.prepare('SELECT * FROM sign_in_attempts').all()
  expect(JSON.stringify(results)).not.toContain('secret-at-issuer')
})

test('T9: a provider that is not set up has no page and no button', async () => {
  const plain = createTestHub({ ROOKERY_OIDC_ISSUER: issuerUrl })
  expect(await (await plain.fetch('/login')).text()).not.toContain('/login/oidc')
  expect((await plain.fetch('/login/oidc', form({}))).status).toBe(404)
  expect((await plain.fetch('/login/github/callback?code=x')).status).toBe(404)
})

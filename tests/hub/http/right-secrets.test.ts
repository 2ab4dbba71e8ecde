import { beforeEach, describe, expect, test } from 'vitest'
import { rateCounting, rateLimits } from '../../../src/shared/config'
import { identitySettings, installFakeIssuer } from '../../support/fake-issuer'
import { createSoftwarePasskey } from '../../support/software-passkey'
import { createBrowser, form, signIn } from '../../web/open-pages'
import { adminKey, createTestHub, readCost, type TestHub } from '../create-test-hub'

/** A hub behind a proxy whose header is not trusted: all clients have one address. */
const settings = {
  ...identitySettings,
  ROOKERY_CLIENT_ADDRESS_HEADER: '',
  ROOKERY_REGISTRATION: 'claim',
}
const known = createTestHub(identitySettings)
/** A hub that has seen none of the keys. */
let hub: TestHub
beforeEach(() => {
  hub = createTestHub(settings)
})

const newName = () => `r-${crypto.randomUUID().slice(0, 8)}`
const withKey = (key: string) => ({ headers: { authorization: `Bearer ${key}` } })
let guesses = 0
const guess = () => `rookery_guess${guesses++}`

/** A stranger sends wrong keys until they are refused. */
async function guessKeys() {
  const read = () => hub.fetch('/api/v1/me', withKey(guess()))
  for (let count = 0; count <= rateCounting.wrongKeysFree; count++) await read()
  expect((await read()).status).toBe(429)
}

/** A stranger fails to sign in until that is refused. */
async function failToSignIn() {
  const send = () => hub.fetch('/login', form({ key: guess(), next: '/' }))
  for (let count = 0; count < rateLimits.signIn.requests; count++) await send()
  expect((await send()).status).toBe(429)
}

describe('after wrong keys of a stranger at the same address', () => {
  test('T7: a right key that was not seen yet works at once, and wrong ones still wait', async () => {
    const { key } = await known.join(newName())
    await guessKeys()
    expect((await hub.fetch('/api/v1/me', withKey(key))).status).toBe(200)
    expect((await hub.fetch('/api/v1/me', withKey(adminKey))).status).toBe(200)
    const wrong = await hub.fetch('/api/v1/me', withKey(guess()))
    expect([wrong.status, wrong.headers.has('retry-after')]).toEqual([429, true])
  })

  test('T7: a wrong key costs one look-up of an index, and a request without a key none', async () => {
    await guessKeys()
    const wrong = readCost((await hub.fetch('/api/v1/me', withKey(guess()))).headers)
    expect(wrong).toMatchObject({ roundTrips: 1 })
    expect(wrong.rowsRead).toBeLessThanOrEqual(2)
  })

  test('T7: an expired or revoked key, a link and an unclaimed account are no right keys', async () => {
    const { key } = await known.join(newName())
    const expires_at = new Date(hub.clock.now() + 1_000).toISOString()
    const [brief, gone] = await Promise.all([
      known.call('/me/keys', { key, body: { expires_at } }),
      known.call('/me/keys', { key, body: {} }),
    ])
    await known.call(`/me/keys/${gone.body.key.id}`, { key, method: 'DELETE' })
    const link = await known.call('/sessions/link', { key: adminKey, body: {} })
    const token = new URL(link.body.url).searchParams.get('token') ?? ''
    await guessKeys()
    hub.clock.advance(2_000)
    for (let count = 0; count < 3; count++) await hub.fetch('/api/v1/me', withKey(guess()))
    for (const wrong of [brief.body.key.api_key, gone.body.key.api_key, token]) {
      expect((await hub.fetch('/api/v1/me', withKey(wrong))).status).toBe(429)
    }
  })
})

test('T7: a right key is not refused because its address has sent too much', async () => {
  const { key } = await known.join(newName())
  const session = await signIn(known, key)
  const { requests } = rateLimits.search
  for (let count = 0; count <= requests; count++) await hub.fetch('/search?q=x')
  expect((await hub.fetch('/search?q=x')).status).toBe(429)
  expect((await hub.fetch('/api/v1/search?q=x', withKey(key))).status).toBe(200)
  expect((await createBrowser(hub, session.cookie).get('/search?q=x')).status).toBe(200)
  expect((await hub.fetch('/api/v1/search?q=x', withKey(guess()))).status).toBe(429)
})

describe('after failed sign-ins of a stranger at the same address', () => {
  const sendForm = async (path: string, fields: Record<string, string>) =>
    (await hub.fetch(path, form(fields))).status

  test('T7: a right key, the admin key and a sign-in link sign in; wrong ones wait', async () => {
    const { key, name } = await known.join(newName(), 'human')
    const link = await known.call('/sessions/link', { key: adminKey, body: { name } })
    const token = new URL(link.body.url).searchParams.get('token') ?? ''
    await failToSignIn()
    expect(await sendForm('/login', { key, next: '/' })).toBe(303)
    expect(await sendForm('/login', { key: adminKey, next: '/' })).toBe(303)
    expect((await hub.fetch(`/login?token=${token}`)).status).toBe(200)
    expect(await sendForm('/login/link', { token, next: '/' })).toBe(303)
    expect(await sendForm('/login/link', { token, next: '/' })).toBe(429)
    expect(await sendForm('/login/link', { token: guess(), next: '/' })).toBe(429)
    expect((await hub.fetch(`/login?token=${guess()}`)).status).toBe(429)
    expect(await sendForm('/login', { key: guess(), next: '/' })).toBe(429)
  })

  test('T7: a passkey signs in; an unknown one waits', async () => {
    const { key } = await known.join(newName(), 'human')
    const browser = await signIn(known, key)
    const asked = await browser.send('/settings/sign-in/passkeys/options', {})
    const passkey = await createSoftwarePasskey(await asked.json(), 'http://hub.test')
    const fields = { label: 'Laptop', response: passkey.registration }
    expect((await browser.send('/settings/sign-in/passkeys', fields)).status).toBe(303)
    await failToSignIn()
    const options = await hub.fetch('/login/passkey/options', form({}))
    expect(options.status).toBe(200)
    const response = await passkey.sign(await options.json())
    expect(await sendForm('/login/passkey', { response })).toBe(303)
    const unknown = JSON.stringify({ ...JSON.parse(response), id: 'unknown', rawId: 'unknown' })
    expect(await sendForm('/login/passkey', { response: unknown })).toBe(429)
    expect(await sendForm('/login/passkey', { response: 'no passkey' })).toBe(429)
  })

  test('T7: who comes back from another service signs in; an attempt of nobody waits', async () => {
    const issuer = installFakeIssuer()
    const browser = await signIn(known, (await known.join(newName(), 'human')).key)
    const follow = async (response: Response, cookie = '') => {
      const html = await response.clone().text()
      const url = /content="0; url=([^"]+)"/.exec(html)?.[1]?.replaceAll('&amp;', '&') ?? ''
      const own = response.headers.getSetCookie().map((each) => each.split(';')[0])
      const back = issuer.confirm(url, { sub: 'mira-at-issuer' })
      return { path: back.pathname + back.search, cookie: [...own, cookie].join('; ') }
    }
    const linking = await follow(await browser.send('/settings/sign-in/oidc', {}), browser.cookie)
    const come = (on: TestHub, { path, cookie }: { path: string; cookie: string }) =>
      on.fetch(path, { headers: { cookie }, redirect: 'manual' })
    expect((await come(known, linking)).status).toBe(303)
    await failToSignIn()
    const started = await hub.fetch('/login/oidc', form({}))
    expect(started.status).toBe(200)
    const back = await follow(started)
    expect((await come(hub, { ...back, cookie: '' })).status).toBe(429)
    expect((await come(hub, back)).headers.get('location')).toBe('/')
    issuer.restore()
  })

  test('T7: an invitation and a claim are taken', async () => {
    const made = await known.call('/invitations', { key: adminKey, body: { role: 'guest' } })
    const join = new URL(made.body.invitation.url).pathname
    const registered = await hub.call('/accounts', { body: { name: newName() } })
    const claim = new URL(registered.body.account.claim_url).pathname
    const member = await signIn(known, (await known.join(newName(), 'human')).key)
    for (let count = 0; count < rateLimits.register.requests; count++) {
      await hub.fetch(`/join/${guess()}`, form({ name: newName(), display_name: '' }))
    }
    await failToSignIn()
    expect((await hub.fetch(join)).status).toBe(200)
    expect((await hub.fetch(`/join/${guess()}`)).status).toBe(429)
    expect(await sendForm(join, { name: newName(), display_name: '' })).toBe(303)
    expect(await sendForm(join, { name: newName(), display_name: '' })).toBe(429)
    expect((await createBrowser(hub, member.cookie).get(claim)).status).toBe(200)
  })

  test('T7: a form that signs in is short, since it is read before the address is refused', async () => {
    await failToSignIn()
    const long = form({ key: 'x'.repeat(140_000), next: '/' })
    expect((await hub.fetch('/login', long)).status).toBe(413)
  })

  test('T7: an admin registers accounts with a key that was not seen yet', async () => {
    const admin = await known.join(newName(), 'human')
    const body = { role: 'admin' }
    await known.call(`/accounts/${admin.name}/role`, { key: adminKey, method: 'PUT', body })
    for (let count = 0; count <= rateLimits.register.requests; count++) {
      await hub.fetch(`/join/${guess()}`, form({ name: newName(), display_name: '' }))
    }
    const register = (key?: string) =>
      hub.call('/accounts', { ...(key && { key }), body: { name: newName() } })
    expect((await register()).status).toBe(429)
    expect((await register(admin.key)).status).toBe(201)
  })
})

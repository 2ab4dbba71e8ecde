import { env } from 'cloudflare:workers'
import { beforeAll, describe, expect, test } from 'vitest'
import { signInLimits } from '../../../src/shared/config'
import {
  createSoftwarePasskey,
  type SoftwarePasskey,
  toBase64Url,
} from '../../support/software-passkey'
import { type Browser, createBrowser, form, signIn } from '../../web/open-pages'
import { adminKey, createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
const origin = 'http://hub.test'
let mira: Awaited<ReturnType<typeof hub.join>>
let browser: Browser

beforeAll(async () => {
  mira = await hub.join(`mira-${crypto.randomUUID().slice(0, 6)}`, 'human')
  browser = await signIn(hub, mira.key)
})

const readOptions = async (response: Response) => {
  expect(response.status).toBe(200)
  // biome-ignore lint/suspicious/noExplicitAny: options of the browser's API
  return (await response.json()) as any
}
const askToAdd = (by = browser) => by.send('/settings/sign-in/passkeys/options', {})

/** Adds a passkey as a browser does. */
async function enrol(by = browser, from = origin): Promise<SoftwarePasskey> {
  const passkey = await createSoftwarePasskey(await readOptions(await askToAdd(by)), from)
  const added = await by.send('/settings/sign-in/passkeys', {
    label: 'Laptop',
    response: passkey.registration,
  })
  expect([added.status, added.headers.get('location')]).toEqual([303, '/settings/sign-in'])
  return passkey
}

const askToSignIn = async (on = hub) =>
  readOptions(await on.fetch('/login/passkey/options', form({})))
const use = (response: string, next = '/') => hub.fetch('/login/passkey', form({ response, next }))
const toBrowser = (response: Response) =>
  createBrowser(hub, response.headers.get('set-cookie')?.split(';')[0])
const isSignedIn = async (who: Browser) => !(await who.read('/')).includes('Sign in</a>')
const findId = (html: string) =>
  /passkeys\/delete"><input[^>]*value="([^"]+)"/.exec(html)?.[1] ?? ''

describe('adding a passkey', () => {
  test('T9: it signs in its account, on the page that was asked for', async () => {
    const passkey = await enrol()
    const entered = await use(await passkey.sign(await askToSignIn()), '/inbox')
    expect([entered.status, entered.headers.get('location')]).toEqual([303, '/inbox'])
    const html = await toBrowser(entered).read('/settings/sign-in')
    expect(html).toContain(mira.name)
    expect(html).toContain('Laptop')
    const page = await toBrowser(entered).get('/settings/sign-in')
    expect(readCost(page.headers).roundTrips).toBe(1)
  })

  test('T9: a challenge adds one passkey, for the account and the address that asked for it', async () => {
    const eve = await signIn(
      hub,
      (await hub.join(`eve-${crypto.randomUUID().slice(0, 6)}`, 'human')).key,
    )
    const send = (by: Browser, response: string) =>
      by.send('/settings/sign-in/passkeys', { label: 'Laptop', response })
    const theirs = await createSoftwarePasskey(await readOptions(await askToAdd()), origin)
    expect((await send(eve, theirs.registration)).status).toBe(400)
    expect((await send(browser, theirs.registration)).status).toBe(400)
    const elsewhere = await createSoftwarePasskey(
      await readOptions(await askToAdd()),
      'http://evil.test',
    )
    expect((await send(browser, elsewhere.registration)).status).toBe(400)
    const own = await createSoftwarePasskey(await readOptions(await askToAdd()), origin)
    expect((await send(browser, own.registration)).status).toBe(303)
    expect((await send(browser, own.registration)).status).toBe(400)
    const late = await createSoftwarePasskey(await readOptions(await askToAdd()), origin)
    hub.clock.advance(signInLimits.attemptMinutes * 60_000)
    expect((await send(browser, late.registration)).status).toBe(400)
    expect((await send(browser, 'no passkey')).status).toBe(400)
  })

  test('T16: a session of a key that expires or lacks a scope adds none', async () => {
    for (const fields of [
      { scopes: ['write'] },
      { expires_at: new Date(hub.clock.now() + 3_600_000).toISOString() },
    ]) {
      const { body } = await hub.call('/me/keys', { key: mira.key, body: fields })
      const limited = await signIn(hub, body.key.api_key)
      const refused = await askToAdd(limited)
      expect([refused.status, (await refused.json<{ code: string }>()).code]).toEqual([
        403,
        'FORBIDDEN',
      ])
    }
  })

  test('T9: another site gets no challenge', async () => {
    const init = { ...form({}), headers: { 'sec-fetch-site': 'cross-site' } }
    expect((await hub.fetch('/login/passkey/options', init)).status).toBe(403)
    const theirs = { ...init.headers, cookie: browser.cookie }
    const add = await hub.fetch('/settings/sign-in/passkeys/options', { ...init, headers: theirs })
    expect(add.status).toBe(403)
  })
})

describe('signing in with a passkey', () => {
  let passkey: SoftwarePasskey
  beforeAll(async () => {
    passkey = await enrol()
  })

  const refusals: [what: string, changes: Parameters<SoftwarePasskey['sign']>[1]][] = [
    ['of another address', { origin: 'http://evil.test' }],
    ['without a person', { flags: 0x00 }],
    ['without a verified person', { flags: 0x01 }],
    ['with another signature', { signature: toBase64Url(new Uint8Array(70).fill(7)) }],
    ['that names another account', { userHandle: toBase64Url(new Uint8Array(36).fill(65)) }],
  ]
  test.each(refusals)('T9: an answer %s is refused', async (_what, changes) => {
    const refused = await use(await passkey.sign(await askToSignIn(), changes))
    expect([refused.status, refused.headers.get('set-cookie')]).toEqual([401, null])
  })

  test('T9: an answer counts once, to a challenge of this hub that has not expired', async () => {
    const response = await passkey.sign(await askToSignIn())
    const both = await Promise.all([use(response), use(response)])
    expect(both.map(({ status }) => status).sort()).toEqual([303, 401])
    expect((await use(response)).status).toBe(401)
    expect((await use(await passkey.sign({ challenge: 'invented' }))).status).toBe(401)
    const late = await passkey.sign(await askToSignIn())
    hub.clock.advance(signInLimits.attemptMinutes * 60_000)
    expect((await use(late)).status).toBe(401)
    const ofAdding = await readOptions(await askToAdd())
    expect((await use(await passkey.sign(ofAdding))).status).toBe(401)
  })

  test('T9: a device that counts is refused when its counter does not grow', async () => {
    const counting = await enrol()
    const signWith = async (counter: number) =>
      (await use(await counting.sign(await askToSignIn(), { counter }))).status
    expect([await signWith(5), await signWith(5), await signWith(4), await signWith(6)]).toEqual([
      303, 401, 401, 303,
    ])
  })

  test('T9: deleting a passkey ends its sessions at once, and it signs in nobody', async () => {
    const person = await hub.join(`priya-${crypto.randomUUID().slice(0, 6)}`, 'human')
    const first = await signIn(hub, person.key)
    const own = await enrol(first)
    const opened = toBrowser(await use(await own.sign(await askToSignIn())))
    expect(await isSignedIn(opened)).toBe(true)
    const id = findId(await first.read('/settings/sign-in'))
    const stranger = await browser.send('/settings/sign-in/passkeys/delete', { id })
    expect([stranger.status, await isSignedIn(opened)]).toEqual([404, true])
    expect((await first.send('/settings/sign-in/passkeys/delete', { id })).status).toBe(303)
    expect([await isSignedIn(first), await isSignedIn(opened)]).toEqual([true, false])
    expect((await use(await own.sign(await askToSignIn()))).status).toBe(401)
  })

  test('T9: a rotated admin key does not end the session of a passkey of the admin', async () => {
    const own = await enrol(await signIn(hub, adminKey))
    const opened = toBrowser(await use(await own.sign(await askToSignIn())))
    const later = createTestHub({ ROOKERY_ADMIN_KEY: 'another_admin_key_0123456789' })
    expect((await createBrowser(later, opened.cookie).get('/policy')).status).toBe(200)
  })
})

test('T9: after a change of ROOKERY_ORIGIN the sign-in page says so, and a link adds a passkey again', async () => {
  await enrol()
  expect(await (await hub.fetch('/login')).text()).not.toContain('new address')
  const moved = createTestHub({ ROOKERY_ORIGIN: 'https://hub.example' })
  const at = (path: string, init?: RequestInit) => moved.request(`https://hub.example${path}`, init)
  expect(await (await at('/login')).text()).toContain('This hub has a new address.')
  const cookie = `__Host-${browser.cookie}`
  const html = await (await at('/settings/sign-in', { headers: { cookie } })).text()
  expect(html).toContain('Works on hub.test only.')
  const options = await readOptions(
    await at('/settings/sign-in/passkeys/options', {
      method: 'POST',
      headers: { cookie, 'sec-fetch-site': 'same-origin' },
    }),
  )
  expect([options.rp.id, options.excludeCredentials]).toEqual(['hub.example', []])
})

test('T9: a passkey is kept without a secret', async () => {
  await enrol()
  const { results } = await env.DB.prepare('SELECT * FROM passkeys').all()
  expect(results.length).toBeGreaterThan(0)
  const kept = await env.DB.prepare('SELECT * FROM sign_in_attempts').all()
  const options = await askToSignIn()
  expect(JSON.stringify(kept.results)).not.toContain(options.challenge)
})

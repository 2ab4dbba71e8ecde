import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { adminKey, call, waitForValue } from '../../support/cast'
import { externalUrls } from '../../support/external-services'
import type { OauthBehavior } from '../../support/oauth-peer'
import {
  addOauthServer,
  allowAccess,
  callAs,
  connectAccount,
  countEvents,
  createVisitor,
  listEvents,
  openBrowser,
  setOauth,
  startConnecting,
  type Visitor,
  visit,
} from '../../support/own-accounts'
import { add } from '../../support/remote-servers'

const lines = ['shop:* as requester']
const rejected = (code: string) => `/settings/connections?error=${code}`
let admin: Visitor
let mira: Visitor
let tomas: Visitor
beforeAll(async () => {
  admin = await openBrowser({ id: 'admin', name: 'admin', key: adminKey })
  mira = await createVisitor('mira', lines)
  tomas = await createVisitor('tomas', lines)
  await addOauthServer(admin, 'shop')
})
beforeEach(async () => {
  await setOauth('shop')
  await listEvents('shop')
})
afterEach(() => {
  vi.useRealTimers()
})
const comeBack = async (visitor: Visitor, back: string) =>
  (await visitor.get(back)).headers.get('location')
const expectNobody = async () => {
  expect(await callAs(mira, 'shop_whoami')).toMatch(/^Error: No connected account/)
  expect(await callAs(tomas, 'shop_whoami')).toMatch(/^Error: No connected account/)
}

describe('an answer of an authorization server', () => {
  it('C6: counts for the account and the browser session that started, and for nobody else', async () => {
    const back = await allowAccess(await startConnecting(mira, 'shop'), 'attacker')
    const elsewhere = await openBrowser(mira)
    for (const visitor of [tomas, elsewhere, admin]) {
      expect(await comeBack(visitor, back)).toBe(rejected('EXPIRED'))
    }
    for (const headers of [{}, { authorization: `Bearer ${mira.key}` }]) {
      expect((await visit(back, headers)).headers.get('location')).toBe(rejected('EXPIRED'))
    }
    await expectNobody()
    expect((await countEvents('shop')).tokens).toEqual([])
  })

  it.each([
    ['the session is ended', `DELETE FROM api_keys WHERE account_id = ?1 AND kind = 'session'`],
    ['the account is disabled', 'UPDATE accounts SET disabled_at = 1 WHERE id = ?1'],
  ])(
    'C6: connects nothing when %s while the tokens are fetched, and revokes them',
    async (_, sql) => {
      const vera = await createVisitor(`vera-${crypto.randomUUID().slice(0, 6)}`, lines)
      const back = await allowAccess(await startConnecting(vera, 'shop'), 'vera')
      await setOauth('shop', { holdsTokens: true })
      const answered = comeBack(vera, back)
      await vi.waitFor(async () => expect((await countEvents('shop')).tokens).toHaveLength(1))
      await env.DB.prepare(sql).bind(vera.id).run()
      await setOauth('shop')
      expect(await answered).toBe(rejected('EXPIRED'))
      const row = env.DB.prepare('SELECT 1 FROM connected_accounts WHERE account_id = ?')
      expect(await row.bind(vera.id).first()).toBeNull()
      expect((await countEvents('shop')).revoked).toContain('access_token vera')
    },
  )

  it('C6: counts once, for ten minutes, and only for the newest start', async () => {
    const first = await allowAccess(await startConnecting(tomas, 'shop'), 'tomas')
    const back = await allowAccess(await startConnecting(tomas, 'shop'), 'tomas')
    expect(await comeBack(tomas, first)).toBe(rejected('EXPIRED'))
    const answers = await Promise.all([1, 2, 3].map(() => comeBack(tomas, back)))
    expect(answers.toSorted()).toEqual(['/inbox', rejected('EXPIRED'), rejected('EXPIRED')])
    expect(await callAs(tomas, 'shop_whoami')).toBe('You are tomas.')
    await tomas.send('/settings/connections/disconnect', { service: 'shop' })
    const late = await allowAccess(await startConnecting(mira, 'shop'), 'mira')
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 601_000 })
    expect(await comeBack(mira, late)).toBe(rejected('EXPIRED'))
    expect(await comeBack(mira, '/connect-callback')).toBe(rejected('EXPIRED'))
  })

  it.each<[string, OauthBehavior, string | null, string]>([
    ['names another issuer', { iss: 'https://evil.example' }, 'mira', 'EXPIRED'],
    ['names no issuer where it has to', { iss: null }, 'mira', 'EXPIRED'],
    ['is a refusal', {}, null, 'DENIED'],
    ['has a code that is refused', { tokenError: 'invalid_grant' }, 'mira', 'FAILED'],
    ['leads to a token that cannot be redacted', { accessToken: 'short' }, 'mira', 'FAILED'],
  ])('C6: connects nothing when it %s', async (_what, behavior, login, code) => {
    await setOauth('shop', behavior)
    const back = await allowAccess(await startConnecting(mira, 'shop'), login)
    const answer = await mira.get(back)
    expect(answer.headers.get('location')).toBe(rejected(code))
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
    expect(await mira.read(rejected(code))).toContain('The account was not connected')
    await expectNobody()
  })

  it('C6: leads on to pages of this hub only, and a start needs a form of this hub', async () => {
    const url = await startConnecting(mira, 'shop', 'https://evil.example/x')
    expect(await comeBack(mira, await allowAccess(url, 'mira'))).toBe('/')
    await mira.send('/settings/connections/disconnect', { service: 'shop' })
    const foreign = await call('POST', '/connect/shop', { key: mira.key })
    expect(foreign.status).toBeGreaterThanOrEqual(400)
    expect((await mira.send('/connect/nowhere', { next: '/' })).status).toBe(404)
    expect((await mira.get('/connect/nowhere')).status).toBe(404)
  })
})

describe('what a server says of itself', () => {
  const evil = 'https://evil.example'
  const loopback = externalUrls.mcp
  it.each<[string, OauthBehavior, string]>([
    ['another issuer', { metadata: { issuer: evil } }, 'another issuer'],
    ['no PKCE', { metadata: { code_challenge_methods_supported: null } }, 'PKCE'],
    ['another resource', { resource: { resource: `${evil}/mcp` } }, 'another resource'],
    [
      'a sign-in page that is a script',
      { metadata: { authorization_endpoint: 'javascript:x' } },
      'unexpected',
    ],
    [
      'a sign-in page on the network of the hub',
      { metadata: { authorization_endpoint: `${loopback}/x` } },
      'cannot be opened',
    ],
    [
      'an authorization server on the network of the hub',
      { resource: { authorization_servers: [`${loopback}/as/x`] } },
      'blocked',
    ],
    ['no way to register', { metadata: { registration_endpoint: null } }, 'registers no clients'],
  ])('C6: starts nothing when it is %s', async (_what, behavior, words) => {
    const name = `odd${Math.random().toString(36).slice(2, 8)}`
    await setOauth(name, behavior)
    await add(name, `${externalUrls.oauth}/mcp/${name}`)
    const page = await mira.send(`/connect/${name}`, { next: '/' })
    expect(page.status).toBeGreaterThanOrEqual(400)
    expect(await page.text()).toContain(words)
    const attempts = await env.DB.prepare('SELECT 1 FROM connect_attempts WHERE service = ?')
      .bind(name)
      .all()
    expect(attempts.results).toEqual([])
  })

  it('C6: a token is not sent to an endpoint on the network of the hub', async () => {
    await setOauth('shop', { metadata: { token_endpoint: `${loopback}/tell/stolen` } })
    const back = await allowAccess(await startConnecting(mira, 'shop'), 'mira')
    expect(await comeBack(mira, back)).toBe(rejected('DENIED'))
    await expectNobody()
  })

  it('C6: the hub registers itself once, or is who an admin registered', async () => {
    const { registered } = await countEvents('shop')
    await connectAccount(mira, 'shop')
    await connectAccount(tomas, 'shop')
    expect([registered, (await countEvents('shop')).registered]).toEqual([0, 0])
    const metadata = { registration_endpoint: null }
    await setOauth('given', { metadata })
    await add('given', `${externalUrls.oauth}/mcp/given`, { oauth_client_id: 'given-client' })
    expect(new URL(await startConnecting(mira, 'given')).searchParams.get('client_id')).toBe(
      'given-client',
    )
    expect(await connectAccount(mira, 'given')).toBe('/inbox')
  })
})

it('C6: deleting an account ends what it connected, here and at the service', async () => {
  const nora = await createVisitor('nora', lines)
  await connectAccount(nora, 'shop')
  await connectAccount(tomas, 'shop')
  await listEvents('shop')
  const remove = () => call('DELETE', '/api/v1/accounts/nora?words=keep', { key: adminKey })
  expect((await remove()).status).toBe(200)
  const revoked = ['refresh_token nora', 'access_token nora']
  const seen: string[] = []
  await waitForValue(async () => {
    seen.push(...(await countEvents('shop')).revoked)
    return seen.length === revoked.length
  }, 'the revocation')
  expect(seen).toEqual(revoked)
  const rows = env.DB.prepare('SELECT 1 FROM connected_accounts WHERE account_id = ?')
  expect(await rows.bind(nora.id).first()).toBeNull()
  expect(await callAs(tomas, 'shop_whoami')).toBe('You are tomas.')
})

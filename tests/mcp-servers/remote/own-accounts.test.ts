import { env } from 'cloudflare:workers'
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { commentPath } from '../../../src/shared/paths'
import { adminKey, call, post, waitForReply, waitForValue } from '../../support/cast'
import { createAgent } from '../../support/create-agent'
import { externalUrls } from '../../support/external-services'
import {
  addOauthServer,
  allowAccess,
  callAs,
  connectAccount,
  countEvents,
  createVisitor,
  findInDatabase,
  listApprovals,
  listEvents,
  openBrowser,
  previewAccounts,
  setOauth,
  startConnecting,
  type Visitor,
} from '../../support/own-accounts'
import { add, api } from '../../support/remote-servers'
import { allow } from '../../support/services'

const lines = ['desk:* as requester', 'moved:* as requester']
let admin: Visitor
let mira: Visitor
let tomas: Visitor
beforeAll(async () => {
  admin = await openBrowser({ id: 'admin', name: 'admin', key: adminKey })
  mira = await createVisitor('mira', lines)
  tomas = await createVisitor('tomas', lines)
  const { before, after } = await addOauthServer(admin, 'desk')
  expect(before).toContain('requires an account')
  expect(after.failure).toBeNull()
  expect(after.tools.map(({ tool }) => tool).toSorted()).toEqual([
    'desk_leak',
    'desk_secret',
    'desk_whoami',
  ])
})
beforeEach(async () => {
  await setOauth('desk')
  await listEvents('desk')
})
afterEach(() => {
  vi.useRealTimers()
})
const missing = /^Error: No connected account of the requester at desk\./

describe('a person whose run needs their own account', () => {
  const whoami = { name: 'desk_whoami', arguments: {} }
  const steps = [{ calls: [whoami] }, { text: 'That is what I found.' }]
  const setUpAgent = async (name: string) => {
    const agent = await createAgent(name, [...steps, ...steps, ...steps], {
      grants: ['hub:read', 'desk:*'],
    })
    await allow(agent.accountId, ['hub:*', 'desk:* as requester'])
    const ask = async (who: Visitor) => {
      const postId = await post(who.key, 'My desk', `@${name} what is on it?`)
      const { id } = await waitForReply(postId, name)
      const prompts = (await agent.requests()).map(({ body }) => JSON.stringify(body.messages))
      return { postId, id, prompt: prompts.at(-1) ?? '' }
    }
    return { ask }
  }

  it('C6: connects it by a link below the answer that nobody else sees, and asks again', async () => {
    const { ask } = await setUpAgent('clerk')
    const draft = { community: 'general', content: '@clerk what is on it?' }
    const promised = (who: Visitor) => previewAccounts(who, draft)
    expect(await promised(mira)).toEqual([['desk', false]])
    const before = await mira.send('/posts-preview', draft)
    expect(await before.text()).toMatch(
      /acts as @mira, and no account[\s\S]*href="\/connect\/desk"/,
    )
    const first = await ask(mira)
    expect(first.prompt).toContain('No connected account of the requester at desk.')
    expect(first.prompt).toContain('Only @mira can connect it: at /connect/desk')
    const link = /<a href="(\/connect\/desk\?next=[^"]+)">\s*Connect your account at desk\s*<\/a>/
    const own = await mira.read(`/p/${first.postId}`)
    expect(own).toContain('desk.whoami (no connected account)')
    const path = link.exec(own)?.[1] ?? ''
    expect(decodeURIComponent(path)).toBe(
      `/connect/desk?next=${commentPath(first.postId, first.id)}`,
    )
    for (const other of [tomas, admin]) {
      expect(await other.read(`/p/${first.postId}`)).not.toMatch(link)
    }
    const page = await mira.get(path)
    expect(page.headers.get('server-timing')).toContain('round_trips=1 ')
    const next = /name="next" value="([^"]+)"/.exec(await page.text())?.[1] ?? ''
    const back = await allowAccess(await startConnecting(mira, 'desk', next), 'mira-at-desk')
    const end = await mira.get(back)
    expect([end.status, end.headers.get('location')]).toEqual([303, next])
    expect((await countEvents('desk')).tokens).toEqual(['authorization_code'])

    expect((await ask(mira)).prompt).toContain('You are mira-at-desk.')
    expect(await promised(mira)).toEqual([['desk', true]])
    expect(await promised(tomas)).toEqual([['desk', false]])
    // Nobody else reads in the trace what the account returned.
    const runs = await call<{ activations: { id: string }[] }>(
      ...(['GET', '/api/v1/activations?agent=clerk&limit=1', { key: adminKey }] as const),
    )
    const run = runs.body.activations[0]?.id ?? ''
    for (const who of [admin, tomas]) {
      expect(await who.read(`/activations/${run}`)).not.toContain('mira-at-desk')
    }
  })

  it('C5 C6: who decides about a call, and who asked for it, read whose account it uses', async () => {
    const agent = await createAgent('careful', steps, { grants: ['hub:read', 'desk:*'] })
    await allow(agent.accountId, ['hub:*', 'desk:* as requester'])
    await env.DB.prepare('UPDATE grant_policies SET require_approval = ? WHERE account_id = ?')
      .bind('["desk:*"]', agent.accountId)
      .run()
    await mira.send('/settings/connections/disconnect', { service: 'desk' })
    await listEvents('desk')
    const postId = await post(mira.key, 'My desk', '@careful what is on it?')
    await waitForValue(async () => (await listApprovals(adminKey)).length > 0, 'the approval')
    const promised = async (key: string) => (await listApprovals(key))[0]?.promise
    const missed = {
      requesters: [{ name: 'mira' }],
      account: { service: 'desk', is_connected: false },
    }
    expect(await promised(adminKey)).toMatchObject(missed)
    const link = /as @mira at desk, where no account is connected\.\s*<a[^>]*href="\/connect\/desk"/
    expect(await mira.read('/approvals')).toMatch(link)
    expect(await admin.read('/approvals')).toContain('as @mira at desk, where no account')
    expect(await admin.read('/approvals')).not.toMatch(link)
    await connectAccount(mira, 'desk')
    for (const key of [adminKey, mira.key]) {
      expect(await promised(key)).toMatchObject({ account: { is_connected: true } })
    }
    for (const page of ['/approvals', `/p/${postId}`]) {
      const html = await admin.read(page)
      expect(html).toContain('as @mira at desk')
      expect(html).not.toContain('where no account is connected')
    }
    const [asked] = await listApprovals(adminKey)
    await call('POST', `/api/v1/approvals/${asked?.id}/decide`, {
      key: adminKey,
      body: { decision: 'approve' },
    })
    await waitForReply(postId, 'careful')
    expect((await countEvents('desk')).calls).toEqual(['mira'])
  })

  it('C6: sees in the settings what is connected, and ends it at once, here and there', async () => {
    await connectAccount(mira, 'desk')
    await callAs(mira, 'desk_whoami')
    const page = await mira.get('/settings/connections')
    expect(page.headers.get('server-timing')).toContain('round_trips=1 ')
    const html = await page.text()
    expect(html).toContain('Permissions: issues:read issues:write')
    expect(html).toMatch(/last used/)
    expect(await tomas.read('/settings/connections')).toContain('No connected accounts yet.')
    expect((await tomas.send('/settings/connections/disconnect', { service: 'desk' })).status).toBe(
      404,
    )
    await listEvents('desk')
    const done = await mira.send('/settings/connections/disconnect', { service: 'desk' })
    expect(done.headers.get('location')).toBe('/settings/connections?done=REVOKED')
    expect((await countEvents('desk')).revoked).toEqual(['refresh_token mira', 'access_token mira'])
    expect(await callAs(mira, 'desk_whoami')).toMatch(missing)
    expect(await mira.read('/settings/connections')).toContain('No connected accounts yet.')
  })
})

describe('an account of one requester', () => {
  beforeAll(async () => {
    await connectAccount(mira, 'desk')
    await connectAccount(tomas, 'desk')
  })

  it('C6: is used by no call of another, whatever runs at the same time', async () => {
    const who = [mira, tomas, tomas, mira, mira, tomas]
    const texts = await Promise.all(who.map((each) => callAs(each, 'desk_whoami')))
    expect(texts).toEqual(who.map(({ name }) => `You are ${name}.`))
  })

  it('C6: cannot be decrypted in the row of another, or under another server', async () => {
    const eve = await createVisitor('eve', lines)
    const copy = async (id: string, service: string, destination: string) =>
      env.DB.prepare(
        `INSERT INTO connected_accounts SELECT ?1, ?2, ?1 || ?2, coalesce(?3, destination), issuer, scopes,
         ciphertext, iv, key_id, version, expires_at, NULL, NULL, connected_at, NULL FROM connected_accounts
         WHERE account_id = ?4 AND service = 'desk'`,
      )
        .bind(id, service, destination || null, mira.id)
        .run()
    await copy(eve.id, 'desk', '')
    expect(await callAs(eve, 'desk_whoami')).toContain('cannot be decrypted')
    await addOauthServer(admin, 'moved')
    await copy(mira.id, 'moved', '')
    expect(await callAs(mira, 'moved_whoami')).toContain('cannot be decrypted')
    expect([...(await countEvents('desk')).calls, ...(await countEvents('moved')).calls]).toEqual(
      [],
    )
  })

  it('C6: reaches no text, row or page as a token', async () => {
    const text = await callAs(mira, 'desk_leak')
    expect(text).toContain('[redacted]')
    expect(text).not.toContain('access-mira')
    for (const start of ['access-mira', 'refresh-mira', btoa('access-mira').slice(0, 12)]) {
      expect(await findInDatabase(start)).toEqual([])
    }
    // A renewed token is redacted too, in the call that renewed it.
    await setOauth('desk', { forget: true, accessToken: 'another-token-of-mira' })
    expect(await callAs(mira, 'desk_leak')).not.toContain('another-token')
    expect((await countEvents('desk')).tokens).toEqual(['refresh_token'])
  })

  it('C6: hides no tool from others by the list that it is shown', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 61_000 })
    expect(await callAs(tomas, 'desk_whoami')).toBe('You are tomas.')
    const { tools } = (await api('POST', '/desk/refresh')).remote
    expect(tools.map(({ state }) => state)).toEqual(['usable', 'unmapped', 'usable'])
  })

  it('C6: is not sent to a server that has moved, and is deleted with the account', async () => {
    const nell = await createVisitor('nell', lines)
    await connectAccount(nell, 'moved')
    await startConnecting(nell, 'moved')
    const moved = externalUrls.oauth.replace('127.0.0.1', 'localhost')
    await add('moved', `${moved}/mcp/moved`)
    await listEvents('moved')
    expect(await callAs(nell, 'moved_whoami')).toContain('No connected account')
    expect(await listEvents('moved')).toEqual([])
    const done = await nell.send('/settings/connections/disconnect', { service: 'moved' })
    expect(done.headers.get('location')).toContain('done=ENDED')
    await connectAccount(nell, 'desk')
    const gone = await admin.send('/admin/people/nell/delete', { words: 'keep', confirm: 'nell' })
    expect(gone.status).toBeLessThan(400)
    for (const table of ['connected_accounts', 'connect_attempts']) {
      const { results } = await env.DB.prepare(`SELECT 1 FROM ${table} WHERE account_id = ?`)
        .bind(nell.id)
        .all()
      expect(results).toEqual([])
    }
  })
})

describe('tokens that expire', () => {
  it('C6: are renewed once by calls at the same time, so that no refresh token is used twice', async () => {
    await setOauth('desk', { expiresIn: 1 })
    await connectAccount(mira, 'desk')
    await setOauth('desk', { tokenMs: 300 })
    const texts = await Promise.all([1, 2, 3, 4].map(() => callAs(mira, 'desk_whoami')))
    expect(texts).toEqual(texts.map(() => 'You are mira.'))
    const { tokens } = await countEvents('desk')
    expect(tokens.filter((kind) => kind === 'refresh_token')).toHaveLength(1)
    // A server that refuses its own tokens gets one new attempt.
    await setOauth('desk', { forget: true })
    expect(await callAs(mira, 'desk_whoami')).toBe('You are mira.')
    expect((await countEvents('desk')).tokens).toEqual(['refresh_token'])
  })

  it('C6: stay when the server is out of order, and end when it refuses them', async () => {
    await connectAccount(mira, 'desk')
    await setOauth('desk', { forget: true, tokenError: 'temporarily_unavailable' })
    const failed = await callAs(mira, 'desk_whoami')
    expect(failed).toContain('refused the request (temporarily_unavailable)')
    expect(failed).not.toContain('refresh-mira')
    await setOauth('desk')
    expect(await callAs(mira, 'desk_whoami')).toBe('You are mira.')
    await setOauth('desk', { forget: true, tokenError: 'invalid_grant' })
    expect(await callAs(mira, 'desk_whoami')).toMatch(missing)
    await listEvents('desk')
    expect(await callAs(mira, 'desk_whoami')).toMatch(missing)
    expect(await listEvents('desk')).toEqual([])
    expect(await mira.read('/settings/connections')).toContain('The service ended the access')
  })

  it('C6: of a connection that ends while they are renewed are revoked and not stored', async () => {
    await connectAccount(mira, 'desk')
    await setOauth('desk', { forget: true, holdsTokens: true })
    const calling = callAs(mira, 'desk_whoami')
    await waitForValue(
      async () => (await countEvents('desk')).tokens.includes('refresh_token'),
      'the request for a new token',
    )
    await mira.send('/settings/connections/disconnect', { service: 'desk' })
    await setOauth('desk')
    expect(await calling).toMatch(missing)
    expect((await countEvents('desk')).revoked).toHaveLength(4)
    expect(await callAs(mira, 'desk_whoami')).toMatch(missing)
  })
})

it('C6: deleting a server ends what people connected there, here and at the service', async () => {
  await addOauthServer(admin, 'shelf')
  await connectAccount(mira, 'shelf')
  await listEvents('shelf')
  expect((await api('DELETE', '/shelf')).status).toBe(200)
  expect((await countEvents('shelf')).revoked.toSorted()).toEqual([
    'access_token mira',
    'access_token root',
    'refresh_token mira',
    'refresh_token root',
  ])
  expect(
    await env.DB.prepare(`SELECT 1 FROM connected_accounts WHERE service = 'shelf'`).first(),
  ).toBeNull()
  // A service that does not answer stops no deletion.
  await addOauthServer(admin, 'shelf')
  await setOauth('shelf', { refusesToRevoke: true })
  expect((await api('DELETE', '/shelf')).status).toBe(200)
})

import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { createLivePublisher } from '../../../src/hub/live/live-publisher'
import { openSessionFor } from '../../../src/hub/sign-in/actions'
import { noOpener } from '../../../src/hub/sign-in/queries'
import { sha256 } from '../../../src/shared/sha256'
import { createSoftwarePasskey } from '../../support/software-passkey'
import { createBrowser, form, signIn } from '../../web/open-pages'
import { adminKey, createTestHub, readCost } from '../create-test-hub'

const hub = createTestHub()
Object.assign(hub.context().live, createLivePublisher(env.LIVE as never))
let count = 0
let paula: Awaited<ReturnType<typeof hub.join>>

beforeEach(async () => {
  paula = await hub.join(`paula${++count}`, 'human')
})

const admin = (path: string, body?: object, method = body ? 'POST' : 'GET') =>
  hub.call(path, { key: adminKey, method, body })
const entriesOf = async (action: string) =>
  (
    await env.DB.prepare(
      'SELECT account_id, after FROM admin_log WHERE target_id = ? AND action = ?',
    )
      .bind(paula.id, action)
      .all<{ account_id: string; after: string }>()
  ).results

/** A passkey or an identity of the account, with a browser session that it opened. */
async function addWay(kind: 'passkey' | 'identity') {
  const id = crypto.randomUUID()
  const token = crypto.randomUUID()
  const way =
    kind === 'passkey'
      ? `INSERT INTO passkeys (id, account_id, credential_id, public_key, counter, rp_id, label, created_at)
         VALUES (?1, ?2, ?1, 'k', 0, 'hub.test', 'Phone', 0)`
      : `INSERT INTO identities (id, account_id, issuer, subject, label, created_at)
         VALUES (?1, ?2, 'https://github.com', ?1, 'paula@example', 0)`
  await env.DB.batch([
    env.DB.prepare(way).bind(id, paula.id),
    env.DB.prepare(
      `INSERT INTO api_keys (id, account_id, hash, kind, created_at, expires_at, ${kind}_id)
       VALUES (?1, ?2, ?3, 'session', 0, ?5, ?4)`,
    ).bind(crypto.randomUUID(), paula.id, await sha256(token), id, hub.clock.now() + 1e9),
  ])
  return { id, browser: createBrowser(hub, `rookery_session=${token}`) }
}
const post = async () =>
  (await admin('/posts', { community: 'general', title: `A title ${++count}` })).body.post
    .id as string

describe.each([
  ['passkey', 'passkeys', 'passkey.revoke'],
  ['identity', 'identities', 'identity.revoke'],
] as const)('%s', (kind, list, action) => {
  test('T10 T9 T12: an admin sees and ends it, with its sessions and their sockets; the log says so', async () => {
    const { id, browser } = await addWay(kind)
    expect((await browser.get('/settings')).status).toBe(200)
    const before = (await admin(`/accounts/${paula.name}/access`)).body[list]
    expect(before).toMatchObject([{ id, label: kind === 'passkey' ? 'Phone' : 'paula@example' }])
    const { webSocket } = await hub.fetch(`/live/posts/${await post()}`, {
      headers: { upgrade: 'websocket', cookie: browser.cookie, origin: 'http://hub.test' },
    })
    let code = 0
    webSocket?.addEventListener('close', (event) => {
      code = event.code
    })
    webSocket?.accept()
    const end = () => admin(`/accounts/${paula.name}/${list}/${id}`, undefined, 'DELETE')
    expect((await end()).status).toBe(200)
    await vi.waitFor(() => expect(code).toBe(4403), { timeout: 120_000 })
    expect((await browser.get('/settings')).status).not.toBe(200)
    expect((await admin(`/accounts/${paula.name}/access`)).body[list]).toEqual([])
    expect((await end()).status).toBe(404)
    const entries = await entriesOf(action)
    expect(entries).toHaveLength(1)
    expect(entries[0]?.after).toContain(id)
    expect((await hub.call('/me', { key: paula.key })).status).toBe(200)
  })

  test('T10: the page of the account lists it, in one round trip, and ends it', async () => {
    const { id, browser } = await addWay(kind)
    const boss = await signIn(hub)
    const page = `/admin/people/${paula.name}`
    await boss.get(page)
    const shown = await boss.get(page)
    expect(readCost(shown.headers).roundTrips).toBe(1)
    expect(await shown.text()).toContain(`${page}/${list}/${id}/revoke`)
    expect((await boss.send(`${page}/${list}/${id}/revoke`, {})).status).toBe(303)
    expect(await boss.read(page)).not.toContain(id)
    expect((await browser.get('/settings')).status).not.toBe(200)
    expect(await entriesOf(action)).toHaveLength(1)
  })

  test('T10: it is ended by its own account with the sockets of its sessions', async () => {
    const { id, browser } = await addWay(kind)
    const { webSocket } = await hub.fetch(`/live/posts/${await post()}`, {
      headers: { upgrade: 'websocket', cookie: browser.cookie, origin: 'http://hub.test' },
    })
    let code = 0
    webSocket?.addEventListener('close', (event) => {
      code = event.code
    })
    webSocket?.accept()
    const own = await signIn(hub, paula.key)
    expect((await own.send(`/settings/sign-in/${list}/delete`, { id })).status).toBe(303)
    await vi.waitFor(() => expect(code).toBe(4403), { timeout: 120_000 })
  })
})

test('T10: a disabled account gets no session, whatever proved who it is; a banned one reads its notice alone', async () => {
  const open = () => openSessionFor(hub.context(), paula.id, noOpener, 'Firefox on Linux')
  const sessions = () =>
    env.DB.prepare(`SELECT count(*) AS n FROM api_keys WHERE account_id = ? AND kind = 'session'`)
      .bind(paula.id)
      .first<number>('n')
  const { ban } = (await admin(`/accounts/${paula.name}/bans`, { kind: 'ban', reason: 'Spam' }))
    .body
  const banned = createBrowser(hub, `rookery_session=${(await open()).token}`)
  expect((await banned.get('/moderation/notice')).status).toBe(200)
  for (const path of ['/', '/inbox', '/settings']) {
    expect((await banned.get(path)).status).toBe(403)
  }
  await env.DB.prepare(`DELETE FROM api_keys WHERE account_id = ? AND kind = 'session'`)
    .bind(paula.id)
    .run()
  await admin(`/accounts/${paula.name}/bans/${ban.id}/lift`, {})
  await admin(`/accounts/${paula.name}/disable`, {})
  await expect(open()).rejects.toMatchObject({ code: 'ACCOUNT_DISABLED' })
  expect(await sessions()).toBe(0)
  await admin(`/accounts/${paula.name}/enable`, {})
  await open()
  expect(await sessions()).toBe(1)
})

describe('a sign-in link that an admin creates for somebody else', () => {
  const link = (name: string) => admin('/sessions/link', { name })
  const readNotices = async () =>
    (
      (await hub.call('/inbox', { key: paula.key })).body.items as {
        type: string
        content: string
      }[]
    )
      .filter(({ type }) => type === 'system')
      .map(({ content }) => content)

  test('T9 T12: its account is notified in the inbox and in the settings', async () => {
    expect((await link(paula.name)).status).toBe(201)
    const [notice, ...more] = await readNotices()
    expect(notice).toContain('@admin created a sign-in link for you')
    expect(more).toEqual([])
    const own = await signIn(hub, paula.key)
    await own.get('/settings')
    for (const path of ['/settings', '/settings/sign-in']) {
      const page = await own.get(path)
      expect(readCost(page.headers).roundTrips).toBe(1)
      expect(await page.text(), path).toContain('@admin created a sign-in link for you')
    }
    expect((await entriesOf('link.create')).length).toBe(1)
    const other = await signIn(hub, (await hub.join(`other${count}`, 'human')).key)
    expect(await other.read('/settings')).not.toContain('created a sign-in link for you')
  })

  test('T9: an own link notifies nobody', async () => {
    const own = await signIn(hub, paula.key)
    await own.send('/settings/sessions/link', {})
    expect(await readNotices()).toEqual([])
    expect(await own.read('/settings')).not.toContain('created a sign-in link for you')
  })

  test('T9 T10: there is none for accounts of the hub, and for deleted, disabled and banned ones', async () => {
    expect((await link('rookery')).status).toBe(403)
    const { ban } = (await admin(`/accounts/${paula.name}/bans`, { kind: 'ban', reason: 'x' })).body
    expect(await link(paula.name)).toMatchObject({ status: 409, body: { code: 'CONFLICT' } })
    await admin(`/accounts/${paula.name}/bans/${ban.id}/lift`, {})
    await admin(`/accounts/${paula.name}/disable`, {})
    expect((await link(paula.name)).status).toBe(409)
    await admin(`/accounts/${paula.name}/enable`, {})
    expect((await link(paula.name)).status).toBe(201)
    await admin(`/accounts/${paula.name}?words=keep`, undefined, 'DELETE')
    const gone = await env.DB.prepare('SELECT name FROM accounts WHERE id = ?')
      .bind(paula.id)
      .first<string>('name')
    expect((await link(gone ?? '')).status).toBe(404)
    const { n } = (await env.DB.prepare(
      `SELECT count(*) AS n FROM api_keys WHERE account_id = ? AND kind = 'link'`,
    )
      .bind(paula.id)
      .first<{ n: number }>()) ?? { n: -1 }
    expect(n).toBe(0)
  })

  test.each([false, true])(
    'T9: a passkey added in its session says so, also after another link of its own: %s',
    async (isHandedOn) => {
      const enter = async (url: string) => {
        const token = new URL(url).searchParams.get('token') ?? ''
        const entered = await hub.fetch('/login/link', form({ token }))
        expect(entered.status).toBe(303)
        return createBrowser(hub, entered.headers.get('set-cookie')?.split(';')[0])
      }
      let browser = await enter((await link(paula.name)).body.url)
      if (isHandedOn) {
        const shown = await (await browser.send('/settings/sessions/link', {})).text()
        browser = await enter(`http://x/?token=${/token=([\w-]+)/.exec(shown)?.[1]}`)
      }
      const options = await browser.send('/settings/sign-in/passkeys/options', {})
      const passkey = await createSoftwarePasskey(await options.json(), 'http://hub.test')
      const fields = { label: 'Phone', response: passkey.registration }
      expect((await browser.send('/settings/sign-in/passkeys', fields)).status).toBe(303)
      const own = await signIn(hub, paula.key)
      expect(await own.read('/settings/sign-in')).toContain('a sign-in link that @admin created')
      const { passkeys } = (await admin(`/accounts/${paula.name}/access`)).body
      expect(passkeys).toMatchObject([{ label: 'Phone', link_by: { name: 'admin' } }])
      hub.clock.advance(1_000)
      const second = await own.send('/settings/sign-in/passkeys/options', {})
      const plain = await createSoftwarePasskey(await second.json(), 'http://hub.test')
      const more = { label: 'Laptop', response: plain.registration }
      expect((await own.send('/settings/sign-in/passkeys', more)).status).toBe(303)
      const after = (await admin(`/accounts/${paula.name}/access`)).body.passkeys
      expect(after).toMatchObject([{ label: 'Laptop', link_by: null }, { label: 'Phone' }])
    },
  )
})

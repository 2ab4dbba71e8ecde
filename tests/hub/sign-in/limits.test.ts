import { env } from 'cloudflare:workers'
import { afterAll, describe, expect, test } from 'vitest'
import { limits, peopleLimits, signInLimits } from '../../../src/shared/config'
import { identitySettings, installFakeIssuer } from '../../support/fake-issuer'
import { createBrowser, form, signIn } from '../../web/open-pages'
import { adminKey, createTestHub } from '../create-test-hub'
import { listCeremonies, type Person } from './ceremonies'

const hub = createTestHub({ ...identitySettings, ROOKERY_MEMBERS_INVITE: 'true' })
const issuer = installFakeIssuer()
afterAll(() => issuer.restore())
const ceremonies = listCeremonies(hub, issuer)

async function newPerson(): Promise<Person> {
  const person = await hub.join(`l-${crypto.randomUUID().slice(0, 8)}`, 'human')
  return { ...person, session: await signIn(hub, person.key) }
}

const countIn = async (sql: string, id: string) =>
  Object.values((await env.DB.prepare(sql).bind(id).first<Record<string, number>>()) ?? {})[0]

/** Fills a table for an account up to one below its limit. */
const fillers: Record<string, [max: number, sql: string]> = {
  'adding a passkey': [
    signInLimits.passkeysPerAccountMax,
    `INSERT INTO passkeys (id, account_id, credential_id, public_key, counter, rp_id, label, created_at)
     VALUES (?2, ?1, ?2, '', 0, 'hub.test', 'x', 0)`,
  ],
  'linking oidc': [
    signInLimits.identitiesPerAccountMax,
    `INSERT INTO identities (id, account_id, issuer, subject, label, created_at)
     VALUES (?2, ?1, 'https://issuer.test', ?2, 'x', 0)`,
  ],
  'an invitation': [
    peopleLimits.openInvitationsMax,
    `INSERT INTO invitations (id, hash, role, created_by, created_at, expires_at)
     VALUES (?2, ?2, 'guest', ?1, 0, 1e15)`,
  ],
}

describe.each(Object.entries(fillers))('%s', (name, [max, sql]) => {
  test(`T7: of five at once below the limit of ${max}, one is made`, async () => {
    const ceremony = ceremonies[name]
    if (!ceremony) throw new Error(`No ceremony ${name}.`)
    const person = await newPerson()
    const begun = []
    for (let index = 0; index < 5; index++) begun.push((await ceremony.begin?.(person)) ?? '')
    await env.DB.batch(
      Array.from({ length: max - 1 }, () =>
        env.DB.prepare(sql).bind(person.id, crypto.randomUUID()),
      ),
    )
    const answers = await Promise.all(begun.map((state) => ceremony.finish(person, state)))
    expect(answers.map(({ status }) => (status < 400 ? 'made' : status)).sort()).toEqual([
      409,
      409,
      409,
      409,
      'made',
    ])
    expect(await countIn(ceremony.count, person.id)).toBe(max)
  })
})

test('T7: invitations that were used, withdrawn or have expired do not count', async () => {
  const person = await newPerson()
  const insert = env.DB.prepare(
    `INSERT INTO invitations (id, hash, role, created_by, created_at, expires_at, used_at, revoked_at)
     VALUES (?2, ?2, 'guest', ?1, 0, ?3, ?4, ?5)`,
  )
  const ends = [
    [1, null, null],
    [1e15, 1, null],
    [1e15, null, 1],
  ]
  await env.DB.batch(
    Array.from({ length: peopleLimits.openInvitationsMax }, (_, index) =>
      insert.bind(person.id, crypto.randomUUID(), ...(ends[index % 3] ?? [])),
    ),
  )
  const made = await hub.call('/invitations', { key: person.key, body: { role: 'guest' } })
  expect(made.status).toBe(201)
})

test('T7: of 40 service keys asked for at once no more than 20 exist', async () => {
  const agent = await hub.join(`s-${crypto.randomUUID().slice(0, 8)}`)
  const ask = () =>
    hub.fetch(`/api/v1/accounts/${agent.name}/service-keys`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: '{}',
    })
  const answers = await Promise.all(Array.from({ length: 40 }, ask))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 409]))
  const sql = `SELECT count(*) FROM api_keys WHERE account_id = ?1 AND kind = 'service'`
  expect(await countIn(sql, agent.id)).toBe(limits.keysPerAccountMax)
})

describe('sessions', () => {
  const count = `SELECT count(*) FROM api_keys WHERE account_id = ?1 AND kind = 'session'`

  test('T9: the session that was not used for the longest time ends for one too many', async () => {
    const person = await newPerson()
    const { session: used } = person
    hub.clock.advance(60_000)
    const second = await signIn(hub, person.key)
    hub.clock.advance(3_600_000)
    expect((await used.get('/inbox')).status).toBe(200)
    const open = () => hub.fetch('/login', form({ key: person.key, next: '/' }))
    await Promise.all(Array.from({ length: signInLimits.sessionsPerWayMax - 1 }, open))
    expect(await countIn(count, person.id)).toBe(signInLimits.sessionsPerWayMax)
    expect((await used.get('/inbox')).status).toBe(200)
    expect((await second.get('/settings/sessions')).status).not.toBe(200)
  })

  test('T9: a key that lacks a scope ends no session that was opened in another way', async () => {
    const person = await newPerson()
    const made = await hub.call('/me/keys', { key: person.key, body: { scopes: ['read'] } })
    const open = () => hub.fetch('/login', form({ key: made.body.key.api_key, next: '/' }))
    await Promise.all(Array.from({ length: signInLimits.sessionsPerWayMax + 5 }, open))
    expect(await countIn(count, person.id)).toBe(signInLimits.sessionsPerWayMax + 1)
    expect((await person.session.get('/inbox')).status).toBe(200)
  })
})

describe('sign-in links', () => {
  const use = (token: string) => hub.fetch('/login/link', form({ token, next: '/' }))
  const ask = async (by: Person | null, name: string) => {
    const { status, body } = await hub.call('/sessions/link', {
      key: by?.key ?? adminKey,
      body: { name },
    })
    expect(status, JSON.stringify(body)).toBe(201)
    return new URL(body.url).searchParams.get('token') ?? ''
  }
  const newAdmin = async () => {
    const admin = await newPerson()
    const body = { role: 'admin' }
    await hub.call(`/accounts/${admin.name}/role`, { key: adminKey, method: 'PUT', body })
    return admin
  }

  test('T9: an account has at most 20 unused ones by one creator; the oldest ends', async () => {
    const person = await newPerson()
    const admin = await newAdmin()
    const fromAdmin = await ask(admin, person.name)
    const first = await ask(null, person.name)
    for (let index = 0; index < signInLimits.linksPerAccountMax; index++) {
      hub.clock.advance(1_000)
      await ask(null, person.name)
    }
    expect([(await use(first)).status, (await use(fromAdmin)).status]).toEqual([401, 303])
  })

  test.each([
    ['is no admin any more', `UPDATE accounts SET role = 'member' WHERE id = ?1`],
    ['is disabled', 'UPDATE accounts SET disabled_at = 1 WHERE id = ?1'],
    [
      'is banned',
      `INSERT INTO bans (id, account_id, kind, reason, created_by, created_at)
       VALUES (hex(randomblob(8)), ?1, 'ban', 'Spam', ?1, 0)`,
    ],
    ['has lost the key', 'DELETE FROM api_keys WHERE account_id = ?1'],
  ])('T9: a link of an admin who %s signs in nobody', async (_what, sql) => {
    const [person, admin] = [await newPerson(), await newAdmin()]
    const token = await ask(admin, person.name)
    await env.DB.prepare(sql).bind(admin.id).run()
    expect((await hub.fetch(`/login?token=${token}`)).status).toBe(401)
    expect((await use(token)).status).toBe(401)
  })

  test('T9: a link for another device ends unused with the session that it was created in', async () => {
    const person = await newPerson()
    const html = await (await person.session.send('/settings/sessions/link', {})).text()
    const token = /login\?token=([\w-]+)/.exec(html)?.[1] ?? ''
    expect((await hub.fetch(`/login?token=${token}`)).status).toBe(200)
    await person.session.send('/logout', {})
    expect((await use(token)).status).toBe(401)
  })

  test('T9: a session that a link opened goes on without its creator', async () => {
    const [person, admin] = [await newPerson(), await newAdmin()]
    const opened = await use(await ask(admin, person.name))
    const browser = createBrowser(hub, opened.headers.get('set-cookie')?.split(';')[0])
    await env.DB.prepare(`UPDATE accounts SET role = 'member' WHERE id = ?`).bind(admin.id).run()
    const html = await (await browser.send('/settings/sessions/link', {})).text()
    const token = /login\?token=([\w-]+)/.exec(html)?.[1] ?? ''
    expect((await use(token)).status).toBe(303)
  })
})

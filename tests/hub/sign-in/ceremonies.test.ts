import { env } from 'cloudflare:workers'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { identitySettings, installFakeIssuer } from '../../support/fake-issuer'
import { createBrowser, signIn } from '../../web/open-pages'
import { adminKey, createTestHub } from '../create-test-hub'
import { type Ceremony, listCeremonies, type Person } from './ceremonies'

const hub = createTestHub({
  ...identitySettings,
  ROOKERY_REGISTRATION: 'claim',
  ROOKERY_MEMBERS_INVITE: 'true',
})
const issuer = installFakeIssuer()
afterAll(() => issuer.restore())
afterEach(() => {
  hub.seen.findFault = () => null
})

const ceremonies = Object.entries(listCeremonies(hub, issuer))
const begun = ceremonies.filter(([, { begin }]) => begin)

async function newPerson(role: Ceremony['role']): Promise<Person> {
  // The admin writes much here.
  hub.clock.advance(5_000)
  const person = await hub.join(`p-${crypto.randomUUID().slice(0, 8)}`, 'human')
  const options = { key: adminKey, method: 'PUT', body: { role } }
  await hub.call(`/accounts/${person.name}/role`, options)
  return { ...person, session: await signIn(hub, person.key) }
}

/** What can happen to who began, as SQL with the account as ?1. */
const ends = {
  'all sessions are ended': `DELETE FROM api_keys WHERE account_id = ?1 AND kind = 'session'`,
  'the key that opened the session is deleted': `DELETE FROM api_keys WHERE account_id = ?1 AND kind = 'key'`,
  'the session expires': `UPDATE api_keys SET expires_at = 1 WHERE account_id = ?1 AND kind = 'session'`,
  'the account is disabled': 'UPDATE accounts SET disabled_at = 1 WHERE id = ?1',
  'the account is banned': `INSERT INTO bans (id, account_id, kind, reason, created_by, created_at)
    VALUES (hex(randomblob(8)), ?1, 'ban', 'Spam', ?1, 0)`,
  'the role is lowered': `UPDATE accounts SET role = 'guest' WHERE id = ?1`,
}

const count = async ({ count: sql }: Ceremony, { id }: Person) =>
  Object.values((await env.DB.prepare(sql).bind(id).first<Record<string, number>>()) ?? {})[0]

/** Whether an answer says that nothing was done: some forms redirect to the sign-in page. */
const isRefusal = ({ status, headers }: Response) =>
  status >= 400 || headers.get('location')?.startsWith('/login') === true

describe.each(ceremonies)('%s', (_name, ceremony) => {
  const cases = Object.entries(ends).filter(
    ([what]) => ceremony.role !== 'guest' || what !== 'the role is lowered',
  )

  test('T9: gives its right to who may have it', async () => {
    const person = await newPerson(ceremony.role)
    const before = await count(ceremony, person)
    const done = await ceremony.finish(person, (await ceremony.begin?.(person)) ?? '')
    expect(isRefusal(done), `${done.status} ${await done.text()}`).toBe(false)
    expect(await count(ceremony, person)).toBe((before ?? 0) + 1)
  })

  test.each(cases)('T9: gives nothing when %s while it ends', async (_what, sql) => {
    const person = await newPerson(ceremony.role)
    const state = (await ceremony.begin?.(person)) ?? ''
    let before: number | undefined
    hub.seen.findFault = async (statements) => {
      if (before !== undefined || !statements.some((each) => ceremony.write.test(each))) return null
      before = await count(ceremony, person)
      await env.DB.prepare(sql).bind(person.id).run()
      return null
    }
    const refused = await ceremony.finish(person, state)
    hub.seen.findFault = () => null
    expect(before).toBeDefined()
    expect([isRefusal(refused), refused.status]).not.toEqual([true, 500])
    expect(isRefusal(refused), String(refused.status)).toBe(true)
    const lost = sql.startsWith('DELETE') && /api_keys/.test(ceremony.count) ? 'fewer' : 'the same'
    const after = await count(ceremony, person)
    if (lost === 'fewer') expect(after).toBeLessThanOrEqual(before ?? 0)
    else expect(after).toBe(before)
  })
})

describe.each(begun)('%s, once begun', (_name, ceremony) => {
  test.each(Object.entries(ends).filter(([what]) => what !== 'the role is lowered'))(
    'T9: ends when %s',
    async (_what, sql) => {
      const person = await newPerson(ceremony.role)
      const state = (await ceremony.begin?.(person)) ?? ''
      const before = await count(ceremony, person)
      await env.DB.prepare(sql).bind(person.id).run()
      expect(isRefusal(await ceremony.finish(person, state))).toBe(true)
      expect(await count(ceremony, person)).toBe(before)
    },
  )
})

describe.each(begun.filter(([name]) => /passkey|linking/.test(name)))('%s', (_name, ceremony) => {
  const change = async (person: Person, body: object) => {
    const made = await hub.call('/me/keys', { key: person.key, body })
    return { ...person, session: await signIn(hub, made.body.key.api_key) }
  }

  test.each([
    ['another session with all scopes', {}],
    ['a session that only reads', { scopes: ['read'] }],
    ['a session that only writes', { scopes: ['write'] }],
    ['a session that expires', { expires_at: '2026-02-01T00:00:00Z' }],
  ])('T9 T16: is finished by the session that began it, not by %s', async (_what, body) => {
    const person = await newPerson('member')
    const state = (await ceremony.begin?.(person)) ?? ''
    expect(isRefusal(await ceremony.finish(await change(person, body), state))).toBe(true)
    expect(await count(ceremony, person)).toBe(0)
  })

  test('T9: needs a session, so that a key begins nothing', async () => {
    const person = await newPerson('member')
    const none = { ...person, session: createBrowser(hub) }
    await expect(async () => {
      const state = (await ceremony.begin?.(none)) ?? ''
      expect(isRefusal(await ceremony.finish(person, state))).toBe(false)
    }).rejects.toThrow()
    expect(await count(ceremony, person)).toBe(0)
  })
})

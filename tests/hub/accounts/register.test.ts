import { describe, expect, test } from 'vitest'
import { findMentions } from '../../../src/shared/markdown/render-markdown'
import { createTestHub, adminKey as theAdmin } from '../create-test-hub'

const hub = createTestHub()
const closed = createTestHub({ ROOKERY_PUBLIC: 'false' })

describe('a private hub', () => {
  test('H1: only an admin can register accounts, and the error says how', async () => {
    const body = { name: 'stranger' }
    const { key } = await hub.join('member')
    for (const [shown, status] of [
      [null, 401],
      ['rookery_wrong', 401],
      [key, 403],
    ] as const) {
      const refused = await closed.call('/accounts', { key: shown, body })
      expect(refused.status).toBe(status)
      expect(refused.body.hint).toMatch(/Ask an admin.*POST \/api\/v1\/accounts/)
    }
    const { status } = await closed.call('/accounts/stranger', { key: theAdmin })
    expect(status).toBe(404)
  })

  test('H1: an admin invites a person, whose key then reads', async () => {
    const body = { name: 'mira', kind: 'human' }
    const made = await closed.call('/accounts', { key: theAdmin, body })
    expect(made.status).toBe(201)
    const me = await closed.call('/me', { key: made.body.account.api_key })
    expect(me.body.account).toMatchObject({ name: 'mira', kind: 'human' })
  })

  test('H2: the hint for reading without a key names an admin, not the registration', async () => {
    const { status, body } = await closed.call('/feed')
    expect(status).toBe(401)
    expect(body.hint).toContain('Ask an admin')
    expect(body.hint).not.toContain('returns a key')
  })

  test('H17: skill.md says that an admin creates the account', async () => {
    const readSkill = async (of: typeof hub) => (await of.fetch('/skill.md')).text()
    expect(await readSkill(closed)).toMatch(/private: ask an admin[\s\S]*\$ROOKERY_ADMIN_KEY/)
    expect(await readSkill(hub)).not.toContain('private')
  })
})

test('H1: on a public hub anybody can register an agent; only an admin can register people', async () => {
  expect((await hub.call('/accounts', { body: { name: 'walk-in' } })).status).toBe(201)
  for (const body of [
    { name: 'sly', kind: 'human' },
    { name: 'sly', role: 'admin' },
  ]) {
    const refused = await hub.call('/accounts', { body })
    expect([refused.status, refused.body.code]).toEqual([401, 'UNAUTHORIZED'])
    expect(refused.body.error).toContain('Only an admin')
    expect(refused.body.hint).toContain('Leave out kind and role')
    expect(refused.body.hint).not.toContain('returns a key')
  }
})

describe('names', () => {
  test.each(['--', '__', '-a', '_a', 'a--b', '-1', 'a', 'Ab', 'a.b', 'x'.repeat(33)])(
    'H1: %j cannot be registered',
    async (name) => {
      const { status, body } = await hub.call('/accounts', { body: { name } })
      expect([status, body.details?.[0].path]).toEqual([400, 'body.name'])
    },
  )

  test.each(['a1', '1a', 'a-b', 'a_b', 'a__b', 'ab-', 'ab_', 'a-_-b', 'x'.repeat(32)])(
    'H4: %j can be registered and mentioned',
    async (name) => {
      expect((await hub.call('/accounts', { body: { name } })).status).toBe(201)
      expect(findMentions(`Hi @${name}, and *@${name}* too.`)).toEqual([name])
    },
  )
})

test('how much waits for a person is shown to nobody else; of an agent it is shown to all', async () => {
  const [wanda, robot] = [await hub.join('wanda', 'human'), await hub.join('robot')]
  const visitor = await hub.join('visitor', 'human')
  for (const { name } of [wanda, robot]) {
    const done = await hub.call(`/accounts/${name}/follow`, { key: visitor.key, method: 'PUT' })
    expect(done.status).toBe(200)
  }
  const countOf = async (path: string, key?: string) =>
    (await hub.call(path, key === undefined ? {} : { key })).body.account.notification_count
  for (const key of [undefined, visitor.key]) {
    expect(await countOf('/accounts/wanda', key)).toBe(0)
    expect(await countOf('/accounts/robot', key)).toBe(1)
  }
  expect(await countOf('/me', wanda.key)).toBe(1)
  const { accounts } = (await hub.call('/accounts?has_unread=true')).body
  const names = accounts.map(({ name }: { name: string }) => name)
  expect(names).toContain('robot')
  expect(names).not.toContain('wanda')
})

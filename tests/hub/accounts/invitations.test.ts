import { env } from 'cloudflare:workers'
import { beforeAll, expect, test } from 'vitest'
import { adminKey, createTestHub } from '../create-test-hub'

const hub = createTestHub({ ROOKERY_REGISTRATION: 'closed' })
const memberHub = createTestHub({ ROOKERY_MEMBERS_INVITE: 'true' })
let olga: Awaited<ReturnType<typeof hub.join>>

beforeAll(async () => {
  olga = await hub.join('olga', 'human')
})

async function invite(body: object = {}) {
  const answer = await hub.call('/invitations', { key: adminKey, body })
  expect(answer.status, JSON.stringify(answer.body)).toBe(201)
  const { id, url } = answer.body.invitation
  return { id, path: new URL(url).pathname }
}
const join = (path: string, name: string, at = hub) =>
  at.fetch(path, {
    method: 'POST',
    headers: {
      'sec-fetch-site': 'same-origin',
      origin: 'http://hub.test',
      'content-type': 'application/x-www-form-urlencoded',
    },
    body: new URLSearchParams({ name, display_name: '' }).toString(),
    redirect: 'manual',
  })
const roleOf = async (name: string) =>
  (await env.DB.prepare('SELECT role, kind FROM accounts WHERE name = ?').bind(name).first()) ??
  null

test('T8: an invitation makes one person an account with its role, and signs them in', async () => {
  const { path } = await invite({ role: 'member', note: 'Mira from design' })
  for (let opened = 0; opened < 3; opened++) {
    const page = await hub.fetch(path)
    expect(page.status).toBe(200)
    expect(await page.text()).not.toContain('Mira from design')
  }
  const joined = await join(path, 'Mira ')
  expect(joined.status).toBe(303)
  expect(joined.headers.get('location')).toBe('/?joined')
  expect(await roleOf('mira')).toEqual({ role: 'member', kind: 'human' })
  const cookie = joined.headers.get('set-cookie')?.split(';')[0] ?? ''
  const inbox = await hub.fetch('/inbox', { headers: { cookie } })
  expect(inbox.status).toBe(200)
  expect(await inbox.text()).toContain('mira')
  expect((await join(path, 'second')).status).toBe(404)
  expect((await hub.fetch(path)).status).toBe(404)
})

test('T8 T12: who joins is in the admin log, with the inviter and the role', async () => {
  const { id, path } = await invite({ role: 'guest' })
  expect((await join(path, 'olga')).status).toBe(409)
  expect((await join(path, 'nora')).status).toBe(303)
  expect((await join(path, 'nobody')).status).toBe(404)
  const { results } = await env.DB.prepare(
    `SELECT l.account_id = a.id AS isOwn, l.target_id = a.id AS isTarget, l.after FROM admin_log l
      LEFT JOIN accounts a ON a.name = 'nora'
      WHERE l.action = 'account.join' AND l.after ->> 'invitation' = ?`,
  )
    .bind(id)
    .all<{ isOwn: number; isTarget: number; after: string }>()
  expect(results).toMatchObject([{ isOwn: 1, isTarget: 1 }])
  const after = JSON.parse(results[0]?.after ?? '{}')
  const inviter = await env.DB.prepare(`SELECT id FROM accounts WHERE name = 'admin'`).first('id')
  expect(after).toEqual({ role: 'guest', invited_by: inviter, invitation: id })
})

test('T8: of people who use one link at the same time, one joins', async () => {
  const { path } = await invite()
  const names = ['ann', 'ben', 'cat', 'dan', 'eve']
  const answers = await Promise.all(names.map((name) => join(path, name)))
  expect(answers.map(({ status }) => status).sort()).toEqual([303, 404, 404, 404, 404])
  const made = await Promise.all(names.map(roleOf))
  expect(made.filter((each) => each !== null)).toHaveLength(1)
})

test('T8: the page of a used link says who can be asked again, and not who used it; of an unknown one nothing', async () => {
  const { path } = await invite()
  const read = async (of: string) => {
    const response = await hub.fetch(of)
    return { status: response.status, html: await response.text() }
  }
  expect((await read(path)).html).toContain('invites you')
  expect((await join(path, 'uma')).status).toBe(303)
  const used = await read(path)
  expect(used.status).toBe(404)
  expect(used.html).toMatch(/This invitation was used[\s\S]*ask admin for a new\s+invitation/)
  expect(used.html).not.toContain('uma')
  const unknown = await read(`${path}x`)
  expect(unknown.status).toBe(404)
  expect(unknown.html).not.toMatch(/This invitation was used<|ask admin/)
})

test('T8: a name that is taken or reserved leaves the link unused', async () => {
  const { path } = await invite()
  expect((await join(path, 'olga')).status).toBe(409)
  expect((await join(path, 'supp0rt')).status).toBe(409)
  expect((await join(path, 'O')).status).toBe(400)
  expect((await join(path, 'finn')).status).toBe(303)
})

test('T8: a link ends when it expires, is withdrawn, or its inviter loses the role', async () => {
  const short = await invite({ expires_in_days: 1 })
  hub.clock.advance(86_400_000)
  expect((await join(short.path, 'gil')).status).toBe(404)
  const open = await invite()
  expect(
    (await hub.call(`/invitations/${open.id}`, { method: 'DELETE', key: olga.key })).status,
  ).toBe(403)
  const revoke = () => hub.call(`/invitations/${open.id}`, { method: 'DELETE', key: adminKey })
  expect((await revoke()).status).toBe(200)
  expect((await revoke()).status).toBe(404)
  expect((await join(open.path, 'gil')).status).toBe(404)
  const { results } = await env.DB.prepare(
    `SELECT action FROM admin_log WHERE target_id = ? ORDER BY action`,
  )
    .bind(open.id)
    .all()
  expect(results).toEqual([{ action: 'invitation.create' }, { action: 'invitation.revoke' }])

  const boss = await hub.join('bossa', 'human')
  await hub.call('/accounts/bossa/role', { method: 'PUT', key: adminKey, body: { role: 'admin' } })
  const made = await hub.call('/invitations', { key: boss.key, body: { role: 'admin' } })
  const path = new URL(made.body.invitation.url).pathname
  await hub.call('/accounts/bossa/role', { method: 'PUT', key: adminKey, body: { role: 'member' } })
  expect((await join(path, 'gil')).status).toBe(404)
  const { body } = await hub.call('/invitations', { key: adminKey })
  const states = (body.invitations as { state: string }[]).map(({ state }) => state)
  expect(new Set(states)).toEqual(new Set(['open', 'used', 'expired', 'withdrawn']))
})

test('T8: admins invite; members only where the hub lets them, and never above their role', async () => {
  expect((await hub.call('/invitations', { key: olga.key, body: {} })).status).toBe(403)
  const ask = (role: string) => memberHub.call('/invitations', { key: olga.key, body: { role } })
  expect((await ask('member')).status).toBe(201)
  expect((await ask('admin')).status).toBe(403)
  const { body } = await memberHub.call('/invitations', { key: olga.key })
  expect(body.invitations).toMatchObject([{ created_by: { name: 'olga' }, state: 'open' }])
  expect(JSON.stringify(body)).not.toContain('/join/')
  const agent = await hub.join('scoutbot')
  const asked = await memberHub.call('/invitations', { key: agent.key, body: { role: 'guest' } })
  expect(asked.status).toBe(403)
})

test('T8: where members invite, who is no admin any more makes nobody an admin, and members still', async () => {
  const boss = await hub.join('bosse', 'human')
  const setRole = (role: string) =>
    hub.call('/accounts/bosse/role', { method: 'PUT', key: adminKey, body: { role } })
  await setRole('admin')
  const [above, equal] = await Promise.all(
    ['admin', 'member'].map(async (role) => {
      const made = await memberHub.call('/invitations', { key: boss.key, body: { role } })
      return new URL(made.body.invitation.url).pathname
    }),
  )
  await setRole('member')
  expect((await join(above ?? '', 'gustav', memberHub)).status).toBe(404)
  expect(await roleOf('gustav')).toBeNull()
  expect((await join(equal ?? '', 'gustav', memberHub)).status).toBe(303)
  expect(await roleOf('gustav')).toEqual({ role: 'member', kind: 'human' })
})

test('T8: a member withdraws own invitations only, and nobody one that was used', async () => {
  const peer = await hub.join('peer', 'human')
  const made = await memberHub.call('/invitations', { key: olga.key, body: { role: 'guest' } })
  const { id, url } = made.body.invitation
  const withdraw = (key: string) => memberHub.call(`/invitations/${id}`, { method: 'DELETE', key })
  expect((await withdraw(peer.key)).status).toBe(404)
  expect((await join(new URL(url).pathname, 'harald', memberHub)).status).toBe(303)
  expect((await withdraw(olga.key)).status).toBe(404)
  const { body } = await memberHub.call('/invitations', { key: olga.key })
  const found = body.invitations.find((each: { id: string }) => each.id === id)
  expect(found).toMatchObject({ state: 'used', used_by: { name: 'harald' } })
})

import { env } from 'cloudflare:workers'
import { describe, expect, test } from 'vitest'
import { signIn } from '../../web/open-pages'
import { adminKey, createTestHub } from '../create-test-hub'
import { createOffice } from '../runs/create-office'

const hub = createTestHub({ ROOKERY_MEMBERS_INVITE: 'true' })
const office = createOffice()
const admin = (path: string, body: unknown, method = 'POST') =>
  hub.call(path, { key: adminKey, method, body })
const spam = { kind: 'ban', reason: 'Spam' }

/** A member with an agent that they claimed. */
const createOwner = async (name: string) => {
  const owner = await hub.join(name, 'human')
  const agent = await hub.join(`${name}bot`)
  await env.DB.prepare(`UPDATE accounts SET owner_id = ?1, role = 'member' WHERE id = ?2`)
    .bind(owner.id, agent.id)
    .run()
  return { owner, agent }
}
const statusOf = async (key: string) => (await hub.call('/me', { key })).status

test('T10 T8: the invitations of a banned account make nobody an account', async () => {
  const ben = await hub.join('ben', 'human')
  const { body } = await hub.call('/invitations', { key: ben.key, body: { role: 'member' } })
  const { pathname } = new URL(body.invitation.url)
  expect((await hub.fetch(pathname)).status).toBe(200)
  await admin('/accounts/ben/bans', spam)
  expect((await hub.fetch(pathname)).status).toBe(404)
})

test('T11: nobody who is banned or muted in a community brings a second account by an invitation', async () => {
  const kim = await hub.join('kim', 'human')
  const invite = () => hub.call('/invitations', { key: kim.key, body: { role: 'member' } })
  const { pathname } = new URL((await invite()).body.invitation.url)
  const body = { account: 'kim', kind: 'mute', reason: 'Insults' }
  const { action } = (await admin('/communities/general/bans', body)).body
  expect((await hub.fetch(pathname)).status).toBe(404)
  expect((await invite()).body.code).toBe('FORBIDDEN')
  await admin(`/communities/general/bans/${action.ban_id}/lift`, { reason: 'Apologised' })
  expect((await hub.fetch(pathname)).status).toBe(200)
  expect((await invite()).status).toBe(201)
})

test('T10: deleting a banned owner does not free the agents that they claimed', async () => {
  const { agent } = await createOwner('mallory')
  await admin('/accounts/mallory/bans', spam)
  expect(await statusOf(agent.key)).toBe(403)
  const deleted = await admin('/accounts/mallory?words=keep', undefined, 'DELETE')
  expect(deleted.status).toBe(200)
  expect(await statusOf(agent.key)).toBe(403)
})

test('T10: an agent of a deleted owner that an admin enables belongs to that admin', async () => {
  const { agent } = await createOwner('ines')
  await hub.host(agent.id)
  const outside = await createOwner('ivan')
  const readAgent = (id: string) =>
    env.DB.prepare('SELECT owner_id AS owner, disabled_at AS at FROM accounts WHERE id = ?')
      .bind(id)
      .first()
  for (const name of ['ines', 'ivan']) {
    const deleted = await admin(`/accounts/${name}?words=keep`, undefined, 'DELETE')
    expect(deleted.status).toBe(200)
  }
  expect(await readAgent(agent.id)).toEqual({ owner: null, at: expect.any(Number) })
  // A role would hide that it has no owner.
  const raised = await admin('/accounts/inesbot/role', { role: 'member' }, 'PUT')
  expect([raised.status, raised.body.hint]).toEqual([
    409,
    expect.stringContaining('belongs to you'),
  ])
  const browser = await signIn(hub, adminKey)
  expect(await browser.read('/admin/people/inesbot')).toContain('Enable and own inesbot')
  expect(await browser.read('/admin/people/ivanbot')).not.toContain('Enable and own')
  for (const name of ['inesbot', 'ivanbot']) await admin(`/accounts/${name}/enable`, {})
  const me = await hub.call('/me', { key: adminKey })
  expect(await readAgent(agent.id)).toEqual({ owner: me.body.account.id, at: null })
  // one that this hub does not run has no grants that an owner would bound
  expect(await readAgent(outside.agent.id)).toEqual({ owner: null, at: null })
  expect((await admin('/accounts/inesbot/role', { role: 'member' }, 'PUT')).status).toBe(200)
  const { entries } = (await hub.call('/admin/log?action=account.enable', { key: adminKey })).body
  expect(JSON.stringify(entries)).toContain(`"owner":"${me.body.account.id}"`)
})

test('T8: an owner who becomes a guest has no agent with a higher role', async () => {
  const { agent } = await createOwner('olaf')
  await admin('/accounts/olaf/role', { role: 'guest' }, 'PUT')
  const { body } = await hub.call('/me', { key: agent.key })
  expect(body.account.role).toBe('guest')
})

test('T10: passkeys and identities go with their account', async () => {
  const paula = await hub.join('paula', 'human')
  await env.DB.batch([
    env.DB.prepare(
      `INSERT INTO passkeys (id, account_id, credential_id, public_key, counter, rp_id, label, created_at)
       VALUES ('p1', ?1, 'c1', 'k1', 0, 'localhost', 'Phone', 0)`,
    ).bind(paula.id),
    env.DB.prepare(
      `INSERT INTO identities (id, account_id, issuer, subject, label, created_at)
       VALUES ('i1', ?1, 'https://github.com', '1', 'paula@example', 0)`,
    ).bind(paula.id),
  ])
  expect((await admin('/accounts/paula?words=keep', undefined, 'DELETE')).status).toBe(200)
  const { results } = await env.DB.prepare(
    'SELECT id FROM passkeys UNION ALL SELECT id FROM identities',
  ).all()
  expect(results).toEqual([])
})

describe.each([
  ['disabling', '/disable', {}],
  ['banning', '/bans', spam],
] as const)('%s an owner', (verb, path, body) => {
  test('T10: refuses what waits for their agents and cancels what runs for them', async () => {
    const name = `owner-${verb}`
    const { owner, agent } = await createOwner(name)
    const scout = await office.createAgent(`scout-${verb}`)
    const other = await office.createAgent(`wren-${verb}`)
    const stranger = await office.hub.join(`stranger-${verb}`, 'human')
    await office.clear()
    await office.post(agent.key, `@${scout.name} first`)
    const { activationId } = await office.start(scout.id)
    await office.post(stranger.key, `@${other.name} first`)
    const theirs = await office.start(other.id)
    await office.post(agent.key, `@${scout.name} second`)
    expect((await admin(`/accounts/${name}${path}`, body)).status).toBeLessThan(300)
    const isCancelled = async (id: string) =>
      (await office.first('SELECT cancel_requested_at AS at FROM activations WHERE id = ?', id))
        ?.at !== null
    expect(await isCancelled(activationId)).toBe(true)
    expect(await isCancelled(theirs.activationId)).toBe(false)
    const waiting = (await office.inbox(scout.id)).filter((item) => item.claimed_by === null)
    expect(waiting).toMatchObject([{ is_task: 0, refusal: 'requester_stopped', read_at: null }])
    expect(owner.id).not.toBe(agent.id)
  })
})

test('T10: disabling an owner cancels what their own agent runs, also for others, and ends its sessions', async () => {
  const { agent } = await createOwner('olive')
  await office.hub.host(agent.id)
  await office.clear()
  const { key } = await office.hub.join('customer', 'human')
  await office.post(key, `@${agent.name} hello`)
  const { activationId } = await office.start(agent.id)
  await signIn(hub, agent.key)
  const sessions = () =>
    office.first(
      `SELECT count(*) AS n FROM api_keys WHERE account_id = ? AND kind = 'session'`,
      agent.id,
    )
  expect(await sessions()).toEqual({ n: 1 })
  expect((await admin('/accounts/olive/disable', {})).status).toBe(200)
  const row = await office.first(
    'SELECT cancel_requested_at AS at FROM activations WHERE id = ?',
    activationId,
  )
  expect(row?.at).not.toBeNull()
  expect(await sessions()).toEqual({ n: 0 })
})

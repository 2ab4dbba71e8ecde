import { afterEach, beforeAll, expect, test } from 'vitest'
import type { ActivationId, CommentId } from '../../../src/shared/ids'
import { adminKey } from '../create-test-hub'
import { createOffice } from './create-office'

const office = createOffice()
const { hub, createAgent, start, post, comment } = office
type Account = Awaited<ReturnType<typeof hub.join>>
let mira: Account
let ada: Account
let scout: Account
let finch: Account

/** An account that registered itself. */
async function register(name: string): Promise<Account> {
  const { body } = await hub.call('/accounts', { body: { name } })
  return { id: body.account.id, key: body.account.api_key, name }
}

const names = (requesters: { name: string; role: string }[]) =>
  requesters.map(({ name, role }) => `${name} ${role}`).sort()

beforeAll(async () => {
  mira = await hub.join('mira', 'human')
  ada = await hub.join('ada', 'human')
  scout = await createAgent('scout')
  finch = await createAgent('finch')
  await office.run(`UPDATE agents SET grants = '["*"]'`)
  await office.hubApi.sweep(hub.clock.now())
  const body = { allowed: ['hub:read for guests', 'hub:write', 'github:*', 'http:box for @mira'] }
  await hub.call('/agents/*/grants', { method: 'PUT', key: adminKey, body })
})
afterEach(office.clear)

test('T1: who registers itself is a guest, and an admin makes members', async () => {
  await register('outsider')
  const roles = await office.all(
    `SELECT name, role FROM accounts WHERE name IN ('outsider', 'mira') ORDER BY name`,
  )
  expect(roles).toEqual([
    { name: 'mira', role: 'member' },
    { name: 'outsider', role: 'guest' },
  ])
  const asked = await hub.call('/accounts', { body: { name: 'climber', role: 'member' } })
  expect(asked.status).toBe(401)
})

test('T1: a guest can make an agent read, nothing else; a member what members may', async () => {
  const stranger = await register('stranger')
  await post(stranger.key, '@scout call the service')
  const first = await start(scout.id)
  expect(names(first.requesters)).toEqual(['stranger guest'])
  expect(first.policy.allowed).toEqual(['hub:read'])
  expect(first.policy.withheld).toEqual(['hub:write', 'github:*', 'http:box for @mira'])
  await office.clear()
  await post(ada.key, '@scout call the service')
  const second = await start(scout.id)
  expect(second.policy.allowed).toEqual(['hub:read', 'hub:write', 'github:*'])
})

test('T10: the item of an account that was disabled meanwhile joins no other run', async () => {
  const id = await post(mira.key, '@scout one')
  await comment(ada.key, id, '@scout and me')
  await office.run('UPDATE accounts SET disabled_at = 1 WHERE id = ?', ada.id)
  const { requesters, activationId } = await start(scout.id)
  await office.run('UPDATE accounts SET disabled_at = NULL WHERE id = ?', ada.id)
  expect(names(requesters)).toEqual(['mira member'])
  expect(
    await office.all(
      'SELECT claimed_by, from_account_id FROM inbox_items WHERE post_id = ? AND account_id = ? ORDER BY created_at, id',
      id,
      scout.id,
    ),
  ).toEqual([
    { claimed_by: activationId, from_account_id: mira.id },
    { claimed_by: null, from_account_id: ada.id },
  ])
})

test('T1: a run answers items of one role only, and a guest shares a run with nobody', async () => {
  const stranger = await register('stranger2')
  const other = await register('stranger3')
  const id = await post(mira.key, '@scout one')
  for (const { key } of [ada, stranger, other, stranger]) await comment(key, id, '@scout and me')
  const runs: string[][] = []
  for (let count = 0; count < 3; count++) {
    const { requesters, activationId } = await start(scout.id)
    runs.push(names(requesters))
    await office.commit(scout.id, activationId)
  }
  expect(runs).toEqual([['ada member', 'mira member'], ['stranger2 guest'], ['stranger3 guest']])
  expect(
    await office.all(`SELECT id FROM inbox_items WHERE is_task = 1 AND read_at IS NULL`),
  ).toEqual([])
})

test('T1: among equals a tool needs a line that holds for each of them', async () => {
  const id = await post(mira.key, '@scout one')
  await comment(ada.key, id, '@scout two')
  const { policy } = await start(scout.id)
  expect(policy.allowed).not.toContain('http:box')
  expect(policy.withheld).toEqual(['http:box for @mira'])
})

test('T1: policy is read with the role that the requester has now', async () => {
  const stranger = await register('stranger4')
  await post(stranger.key, '@scout one')
  const { activationId, policy } = await start(scout.id)
  expect(policy.allowed).toEqual(['hub:read'])
  const set = await hub.call('/accounts/stranger4/role', {
    method: 'PUT',
    key: adminKey,
    body: { role: 'member' },
  })
  expect(set.body.account.role).toBe('member')
  const renewed = await office.renew(scout.id, activationId)
  expect(renewed).toMatchObject({ policy: { allowed: ['hub:read', 'hub:write', 'github:*'] } })
  const query = {
    accountId: scout.id,
    activationId,
    runId: activationId,
    callId: 'c',
    tool: 't',
    argumentsHash: '',
  }
  expect((await office.hubApi.readAuthorization(query)).policy.allowed).toContain('github:*')
})

test('T20: a hosted agent that mentions another passes its own requester on', async () => {
  const stranger = await register('stranger5')
  await post(stranger.key, '@scout ask @finch')
  // Both are mentioned by the stranger; finch's own item is of the stranger as well.
  const own = await start(finch.id)
  expect(names(own.requesters)).toEqual(['stranger5 guest'])
  await office.commit(finch.id, own.activationId)
  const { activationId, thread } = await start(scout.id)
  await office.commit(scout.id, activationId, {
    reply: {
      id: office.newId(),
      postId: thread?.post.id ?? null,
      parentId: null,
      content: '@finch call the service',
    },
  })
  const passed = await start(finch.id)
  expect(passed.items[0]?.from.name).toBe('scout')
  expect(names(passed.requesters)).toEqual(['stranger5 guest'])
  expect(passed.policy.allowed).toEqual(['hub:read'])
})

test('T1: only an admin changes a role, and never its own', async () => {
  const stranger = await register('stranger6')
  const put = (key: string, name: string, role: string) =>
    hub.call(`/accounts/${name}/role`, { method: 'PUT', key, body: { role } })
  expect((await put(stranger.key, 'stranger6', 'member')).status).toBe(403)
  expect((await put(mira.key, 'stranger6', 'member')).status).toBe(403)
  expect((await put(adminKey, 'stranger6', 'owner')).status).toBe(400)
  expect((await put(adminKey, 'nobody-here', 'member')).status).toBe(404)
  const boss = await hub.call('/accounts', {
    key: adminKey,
    body: { name: 'boss', kind: 'human', role: 'admin' },
  })
  expect((await put(boss.body.account.api_key, 'boss', 'member')).status).toBe(403)
  expect((await put(boss.body.account.api_key, 'stranger6', 'member')).status).toBe(200)
})

test('T20: an exploration and a task of nobody act for the hub itself', async () => {
  await office.run(
    `INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version, started_at, deadline_at)
     VALUES ('explore', ?, 'exploration', 'exploration', 'running', 'granted', 'fake/one', 1, 0, 0)`,
    scout.id,
  )
  const policy = await office.hubApi.readPolicy(scout.id, 'explore' as ActivationId)
  expect(policy).toMatchObject({ requesters: [], allowed: ['hub:read', 'hub:write'] })
})

test('T1: messages of one sender for several requesters are answered in runs of their own', async () => {
  // an agent that passes on whom it acts for
  const relay = await hub.join('relay', 'human')
  for (const [message, requester] of [
    ['for mira', mira],
    ['for ada', ada],
    ['for mira again', mira],
  ] as const) {
    hub.clock.advance(1)
    const sent = await hub.call('/conversations', {
      key: relay.key,
      body: { to: 'scout', content: message },
    })
    expect(sent.status).toBe(201)
    await office.run(
      `UPDATE inbox_items SET requesters = '["${requester.id}"]' WHERE content = '${message}'`,
    )
  }
  const runs: { for: string[]; texts: string[] }[] = []
  for (let count = 0; count < 2; count++) {
    const { requesters, items, activationId } = await start(scout.id)
    runs.push({ for: names(requesters), texts: items.map(({ content }) => content) })
    const found = await office.hubApi.findActivation(activationId as ActivationId)
    expect(found?.task).toBe('dm')
    expect(found?.requesterIds).toEqual(requesters.map(({ id }) => id))
    await office.commit(scout.id, activationId)
  }
  expect(runs).toEqual([
    { for: ['mira member'], texts: ['for mira', 'for mira again'] },
    { for: ['ada member'], texts: ['for ada'] },
  ])
})

test('T20: a search hit that shows the title of a guest, or what an agent wrote for one, is marked', async () => {
  const stranger = await register('stranger7')
  const { body } = await hub.call('/posts', {
    key: stranger.key,
    body: { community: 'general', title: 'Zanzibar pays now', content: 'x' },
  })
  await comment(mira.key, body.post.id, 'I once saw quokkas there')
  await post(mira.key, 'nothing but wombats')
  const actor = {
    accountId: finch.id,
    name: 'finch',
    kind: 'agent' as const,
    activationId: null,
    idempotencyKey: null,
    postId: null,
  }
  const search = async (text: string) =>
    (await office.hubApi.search(actor, { text, match: 'all', limit: 5 })).map(
      ({ isUntrusted }) => isUntrusted === true,
    )
  expect(await search('quokkas')).toEqual([true])
  expect(await search('wombats')).toEqual([false])
  await post(stranger.key, '@scout say numbats')
  const { activationId, thread } = await start(scout.id)
  const reply = { id: office.newId<CommentId>(), parentId: null, content: 'numbats, then' }
  await office.commit(scout.id, activationId, {
    reply: { ...reply, postId: thread?.post.id ?? null },
  })
  expect(await search('numbats then')).toEqual([true])
})

test('T1: a requester whose account is gone ranks as a guest, never as the hub', async () => {
  await post(mira.key, '@scout one')
  await office.run(
    `UPDATE inbox_items SET requesters = '["gone"]' WHERE account_id = ? AND read_at IS NULL`,
    scout.id,
  )
  const { activationId, policy } = await start(scout.id)
  expect(policy.allowed).toEqual(['hub:read'])
  expect(
    await office.first('SELECT is_for_guest FROM activations WHERE id = ?', activationId),
  ).toEqual({ is_for_guest: 1 })
})

test('X2: the people that a running activation acts for are notified once, in their inbox', async () => {
  const postId = await post(mira.key, '@scout fix the parser')
  const running = 'run-notice' as ActivationId
  await office.load(scout.id, running)
  const notice = {
    agentId: scout.id,
    activationId: running,
    now: hub.clock.now(),
    text: 'It waits.',
  }
  await office.hubApi.notifyRequesters(notice)
  await office.hubApi.notifyRequesters(notice)
  await office.hubApi.notifyRequesters({ ...notice, activationId: 'another' as ActivationId })
  const items = await office.all(
    `SELECT account_id, post_id, from_account_id, content, is_task FROM inbox_items WHERE type = 'system'`,
  )
  expect(items).toEqual([
    {
      account_id: mira.id,
      post_id: typeof postId === 'string' ? postId : expect.any(String),
      from_account_id: scout.id,
      content: 'It waits.',
      is_task: 0,
    },
  ])
  await office.commit(scout.id, running, { program: 'goose' })
  expect(await office.all(`SELECT program FROM activations WHERE id = 'run-notice'`)).toEqual([
    { program: 'goose' },
  ])
})

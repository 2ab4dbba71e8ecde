import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import { standingRules } from '../../../src/shared/config'
import { adminKey } from '../create-test-hub'
import { createRuleOffice } from './create-rule-office'

const office = await createRuleOffice()
const {
  hub,
  mira,
  tomas,
  boss,
  bot,
  outside,
  pending,
  send,
  decisionOf,
  createRun,
  ask,
  approve,
  listRules,
  setRole,
  createRule,
  changeTool,
  countCalls,
} = office

beforeEach(office.reset)

test.each([
  ['demoted', () => setRole('boss', 'member'), () => setRole('boss', 'admin')],
  [
    'banned',
    () => hub.call('/accounts/boss/bans', { key: adminKey, body: { kind: 'ban', reason: 'x' } }),
    () => env.DB.prepare('DELETE FROM bans').run(),
  ],
  [
    'disabled',
    () => hub.call('/accounts/boss/disable', { key: adminKey, body: {} }),
    () => hub.call('/accounts/boss/enable', { key: adminKey, body: {} }),
  ],
])('T20: a rule ends for good when its creator is %s', async (_, end, undo) => {
  await createRule({}, boss.key)
  expect(await decisionOf(pending, await createRun())).toBe('allowed')
  const ended = await end()
  expect(ended).not.toMatchObject({ status: 404 })
  expect(await decisionOf(pending, await createRun())).toBe('needs_approval')
  expect((await listRules())[0]).toMatchObject({ state: 'creator', created_by: { name: 'boss' } })
  await undo()
  expect(await decisionOf(pending, await createRun())).toBe('needs_approval')
})

test('T20: a rule covers nothing of a tool whose definition has changed', async () => {
  await createRule()
  changeTool('Sends it, and a copy to the archive.')
  expect(await decisionOf(pending, await createRun())).toBe('needs_approval')
  expect((await listRules())[0].state).toBe('tool_changed')
})

test('T20: only a person who may decide creates a rule, for the decision to approve, at most 90 days', async () => {
  const id = await ask(pending, await createRun())
  for (const key of [mira.key, tomas.key, bot.key]) {
    expect((await approve(id, {}, key)).status).toBe(403)
  }
  await setRole('bot', 'admin')
  expect((await approve(id, {}, bot.key)).status).toBe(403)
  // Whoever created a community moderates it, and cannot decide approvals.
  expect((await approve(id, {}, mira.key)).status).toBe(403)
  for (const decision of ['deny', 'approve_activation']) {
    expect((await approve(id, {}, adminKey, decision)).status).toBe(400)
  }
  for (const rule of [
    { days: 91 },
    { days: 0 },
    { prefixes: { text: 'Daily ' } },
    { prefixes: { text: '' } },
    { anything: true },
  ]) {
    expect((await approve(id, rule)).status, JSON.stringify(rule)).toBe(400)
  }
  expect(await listRules()).toEqual([])
  expect((await hub.call('/approvals', { key: adminKey })).body.approvals).toHaveLength(1)
  expect((await approve(id, { days: 90 })).status).toBe(200)
  // The call is decided: a second rule cannot be made from it.
  expect((await approve(id, { days: 1 })).status).toBe(409)
  expect(await listRules()).toHaveLength(1)
})

test('T20: no rule is made of a call with a secret, or of one that nobody alone requested', async () => {
  const secret = { ...pending, text: `Key ghp_${'a1B2'.repeat(9)}` }
  expect((await approve(await ask(secret, await createRun()), {})).status).toBe(400)
  const shared = await ask(pending, await createRun([mira.id, tomas.id]))
  expect((await approve(shared, {})).status).toBe(400)
  expect((await approve(shared, { any_requester: true })).status).toBe(200)
  expect(JSON.stringify(await listRules())).not.toContain('ghp_')
})

test('T20: an agent has so many rules and no more; those that were revoked do not count', async () => {
  await createRule()
  const [{ id }] = await listRules()
  const columns = `agent_id, tool, "grant", tier, arguments, tool_hash, community_id, requester_id, activation_id,
    created_by, created_at, ends_at, is_anywhere`
  await env.DB.prepare(
    `WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO standing_rules (id, ${columns}) SELECT 'copy ' || n.i, ${columns} FROM n, standing_rules`,
  )
    .bind(standingRules.perAgentMax)
    .run()
  const create = async () => (await approve(await ask(pending, await createRun()), {})).status
  // A call that a rule covers needs no approval, so the rules cover another one.
  await env.DB.prepare(`UPDATE standing_rules SET tool_hash = 'of another tool'`).run()
  expect(await create()).toBe(409)
  await hub.call(`/standing-rules/${id}`, { method: 'DELETE', key: adminKey })
  expect(await create()).toBe(200)
})

test('T20: the preview is what is created, and writes nothing', async () => {
  const id = await ask(pending, await createRun())
  const rule = { prefixes: { text: 'Weekly report ' }, any_requester: true, days: 7 }
  const preview = await hub.call(`/approvals/${encodeURIComponent(id)}/rule-preview`, {
    key: adminKey,
    body: rule,
  })
  expect(preview.status).toBe(200)
  expect(await listRules()).toEqual([])
  const { body } = await approve(id, rule)
  expect(body.standing_rule).toEqual(preview.body.standing_rule)
})

test('T20: a decision about a call counts before a rule', async () => {
  const run = await createRun()
  const callId = `call-${countCalls() + 1}`
  const id = await ask(pending, run)
  await hub.call(`/approvals/${encodeURIComponent(id)}/decide`, {
    key: adminKey,
    body: { decision: 'deny', note: 'Not this week' },
  })
  await createRule()
  expect((await send(pending, run)).text).toBe('Error: Denied by admin: Not this week')
  expect(callId).toBe(id.split(':')[1])
  expect(await decisionOf(pending, await createRun())).toBe('allowed')
})

test('T20 T12: uses are counted from the audit, and creating and revoking are in the admin log', async () => {
  // A call with a key: its account requests it, and its audit is written at once.
  await send(pending, outside)
  const { body } = await hub.call('/approvals', { key: adminKey })
  expect((await approve(body.approvals[0].id, {})).status).toBe(200)
  const before = (await listRules())[0]
  expect(before).toMatchObject({
    uses: 0,
    last_used_at: null,
    requester: { name: 'scout' },
    community: null,
  })
  for (let use = 0; use < 3; use++) {
    hub.clock.advance(1_000)
    expect(await decisionOf(pending, outside)).toBe('allowed')
  }
  const [rule] = await listRules()
  // The first call used the approval itself.
  expect(rule).toMatchObject({ uses: 2, last_used_at: new Date(hub.clock.now()).toISOString() })
  const { results } = await env.DB.prepare(
    'SELECT decision, outcome, reason FROM audit_log WHERE rule_id = ?',
  )
    .bind(rule.id)
    .all()
  expect(results).toHaveLength(2)
  expect(results[0]).toMatchObject({
    decision: 'allowed',
    outcome: 'ok',
    reason: expect.stringContaining('standing rule of @admin'),
  })
  await expect(
    env.DB.prepare('UPDATE audit_log SET rule_id = NULL WHERE rule_id = ?').bind(rule.id).run(),
  ).rejects.toThrow()
  await hub.call(`/standing-rules/${rule.id}`, { method: 'DELETE', key: adminKey })
  const log = await hub.call('/admin/log?action=standing_rule.*', { key: adminKey })
  const own = log.body.entries.filter(
    ({ target_id }: { target_id: string }) => target_id === rule.id,
  )
  expect(own.map(({ action }: { action: string }) => action)).toEqual([
    'standing_rule.revoke',
    'standing_rule.create',
  ])
  expect(own[1].after).toMatchObject({ tool: 'test_send', arguments: ['to: exact', 'text: exact'] })
  expect(JSON.stringify(own)).not.toContain('Weekly')
})

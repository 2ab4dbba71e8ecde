import { env } from 'cloudflare:workers'
import { beforeEach, expect, test } from 'vitest'
import type { AccountId } from '../../../src/shared/ids'
import { adminKey } from '../create-test-hub'
import { createRuleOffice } from './create-rule-office'

const office = await createRuleOffice()
const {
  hub,
  mira,
  tomas,
  boss,
  ran,
  outside,
  pending,
  send,
  decisionOf,
  createRun,
  ask,
  approve,
  listRules,
  setPolicy,
  createRule,
  readTrips,
} = office

beforeEach(office.reset)

test('T20: a rule made with an approval lets such calls run without one, until it ends', async () => {
  const scope = await createRule({ days: 2 })
  expect(scope).toEqual({
    arguments: [
      { name: 'to', equals: '"acme/tools"', begins_with: null },
      { name: 'text', equals: '"Weekly report 47"', begins_with: null },
    ],
    is_anywhere: false,
    community: expect.objectContaining({ name: 'garden' }),
    requester: expect.objectContaining({ name: 'mira', kind: 'human' }),
    ends_at: new Date(hub.clock.now() + 2 * 86_400_000).toISOString(),
  })
  const later = await send(pending, await createRun())
  expect(later).toMatchObject({ isError: false, approval: null })
  expect(later.audit).toMatchObject({
    decision: 'allowed',
    ruleId: (await listRules())[0].id,
    reason: expect.stringMatching(/^Allowed by standing rule of @admin until \d{4}-.* UTC\.$/),
  })
  // The decision, the rules among it, is one round trip.
  expect(readTrips()).toBe(1)
  expect(ran).toEqual([{ ...pending, copies: 1 }])
  hub.clock.advance(2 * 86_400_000)
  expect(await decisionOf(pending, await createRun())).toBe('needs_approval')
  expect((await listRules())[0].state).toBe('expired')
})

test.each([
  ['another value', { ...pending, text: 'Weekly report 48' }],
  ['a look-alike letter', { ...pending, text: 'Wеekly report 47' }],
  ['a default written out', { ...pending, copies: 1 }],
  ['an argument that the tool drops', { ...pending, note: 'x' }],
  ['an argument less', { to: 'acme/tools', text: '' }],
  ['another resource', { ...pending, to: 'acme-evil/tools' }],
  ['an argument of the prototype', '{"to":"acme/tools","text":"Weekly report 47","__proto__":{}}'],
  ['the last of two equal names', '{"to":"acme/tools","text":"Weekly report 47","text":"Pay"}'],
])('T20: a rule does not cover %s', async (_, args) => {
  await createRule()
  expect(await decisionOf(args, await createRun())).toBe('needs_approval')
  expect(ran).toEqual([])
})

test('T20: a prefix covers what begins with it, for the same grant only', async () => {
  await createRule({ prefixes: { text: 'Weekly report ', to: 'acme/' } })
  const run = await createRun()
  expect(await decisionOf({ to: 'acme/site', text: 'Weekly report 48' }, run)).toBe('allowed')
  expect(await decisionOf({ to: 'acme/site', text: 'Weekly rep' }, run)).toBe('needs_approval')
  expect(await decisionOf({ to: 'other/x', text: 'Weekly report 48' }, run)).toBe('needs_approval')
})

test('T20: a rule holds for its community and its requester, unless it says otherwise', async () => {
  await createRule()
  const others: [AccountId[], string | null][] = [
    [[tomas.id], 'garden'],
    [[mira.id, tomas.id], 'garden'],
    [[], 'garden'],
    [[mira.id], 'general'],
    [[mira.id], null],
  ]
  for (const [requesters, community] of others) {
    const decision = await decisionOf(pending, await createRun(requesters, community))
    // A run of the hub itself has no line of the policy to begin with.
    expect(decision).toBe(requesters.length > 0 ? 'needs_approval' : 'denied')
  }
  // Nor for the agent's own key, or for another account.
  expect(await decisionOf(pending, outside)).toBe('needs_approval')
  await createRule({ any_requester: true, any_community: true }, adminKey, {
    ...pending,
    text: 'Anybody',
  })
  for (const [requesters, community] of others.slice(0, 2)) {
    const run = await createRun(requesters, community)
    expect(await decisionOf({ ...pending, text: 'Anybody' }, run)).toBe('allowed')
  }
})

test('T20: a rule of a call outside of communities holds only there, unless it is made to hold anywhere', async () => {
  const byMessage = await createRun([mira.id], null)
  await approve(await ask(pending, byMessage), {})
  expect((await listRules())[0]).toMatchObject({ community: null, is_anywhere: false })
  expect(await decisionOf(pending, await createRun([mira.id], null))).toBe('allowed')
  expect(await decisionOf(pending, await createRun([mira.id], 'garden'))).toBe('needs_approval')
  const other = { ...pending, text: 'Anywhere' }
  hub.clock.advance(1_000)
  await approve(await ask(other, await createRun([mira.id], null)), { any_community: true })
  expect((await listRules())[0]).toMatchObject({ community: null, is_anywhere: true })
  expect(await decisionOf(other, await createRun([mira.id], 'garden'))).toBe('allowed')
})

test('T20: a rule lends no grant: what the policy does not allow or denies stays refused', async () => {
  await createRule()
  await setPolicy({ allowed: ['test:*'], denied: ['test:acme'], require_approval: ['tier:write'] })
  expect(await decisionOf(pending, await createRun())).toBe('denied')
  await setPolicy({ allowed: ['test:* for @tomas'], require_approval: ['tier:write'] })
  expect(await decisionOf(pending, await createRun())).toBe('denied')
})

test('T20: a rule lifts no rate limit: over it the call does not run', async () => {
  await createRule()
  const rate_limits = [{ tool: 'test_send', per: 'minute', limit: 1 }]
  await setPolicy({ allowed: ['test:*'], require_approval: ['tier:write'], rate_limits })
  expect(await decisionOf(pending, await createRun())).toBe('allowed')
  expect(await decisionOf(pending, await createRun())).toBe('rate_limited')
  expect(ran).toHaveLength(1)
})

test('T20: a rule covers the approval that untrusted text forces; other calls still ask, and say why', async () => {
  await setPolicy({ allowed: ['test:*'], require_approval: [] })
  const tainted = async () => ({ ...(await createRun()), hasReadUntrusted: true })
  const caller = await tainted()
  const id = await ask(pending, caller)
  expect((await hub.call('/approvals', { key: adminKey })).body.approvals).toMatchObject([
    { id, reasons: [{ kind: 'untrusted', entry: null, community: null }] },
  ])
  expect((await approve(id, {})).status).toBe(200)
  expect(await decisionOf(pending, await tainted())).toBe('allowed')
  expect(await decisionOf({ ...pending, text: 'Pay now' }, await tainted())).toBe('needs_approval')
})

test('C3: an approval names the entries of the policy that require it', async () => {
  await setPolicy({ allowed: ['test:*'], require_approval: ['tier:write', 'test:acme', 'test:b'] })
  await ask(pending, await createRun())
  const { body } = await hub.call('/approvals', { key: adminKey })
  expect(body.approvals[0].reasons.map(({ entry }: { entry: string }) => entry)).toEqual([
    'tier:write',
    'test:acme',
  ])
})

test('T20: what leaves a closed community needs a rule for that community', async () => {
  await env.DB.prepare(`UPDATE communities SET visibility = 'private' WHERE name = 'garden'`).run()
  const closed = { reader: mira.id, privateTo: null, community: 'garden' }
  const inside = async () => ({ ...(await createRun()), privacy: closed })
  await createRule({ any_community: true })
  expect(await decisionOf(pending, await inside())).toBe('needs_approval')
  await createRule({}, adminKey, { ...pending, text: 'Ours' })
  expect(await decisionOf({ ...pending, text: 'Ours' }, await inside())).toBe('allowed')
  await env.DB.prepare(`UPDATE communities SET visibility = 'public' WHERE name = 'garden'`).run()
})

test('T20: a revoked rule covers nothing from the next call on; revoking is for admins', async () => {
  await createRule()
  const [{ id }] = await listRules()
  const revoke = (key: string) => hub.call(`/standing-rules/${id}`, { method: 'DELETE', key })
  expect((await revoke(mira.key)).status).toBe(403)
  expect((await hub.call('/standing-rules', { key: mira.key })).status).toBe(403)
  expect(await decisionOf(pending, await createRun())).toBe('allowed')
  const answer = await revoke(boss.key)
  expect([answer.status, answer.body.standing_rule.state]).toEqual([200, 'revoked'])
  expect(await decisionOf(pending, await createRun())).toBe('needs_approval')
  expect((await hub.call('/standing-rules/none', { method: 'DELETE', key: adminKey })).status).toBe(
    404,
  )
})

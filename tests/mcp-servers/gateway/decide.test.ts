import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { CallPolicy, GrantPolicy, StandingRule } from '../../../src/hub/contract/hub'
import type { Tier, ToolRestrictions } from '../../../src/mcp-servers/contract/tools'
import { findApprovalNeed } from '../../../src/mcp-servers/gateway/approvals'
import { decide, isToolExcluded } from '../../../src/mcp-servers/gateway/decide'
import { coversGrant } from '../../../src/mcp-servers/tool/grant-pattern'
import type { AccountId } from '../../../src/shared/ids'
import { measureLeastMs } from '../../support/measure-least'

const toolOf = (name: string, shapes: Record<string, Tier>) => ({
  name,
  shapes: Object.entries(shapes).map(([grant, tier]) => ({ grant, tier })),
})
const getObject = toolOf('aws_s3_get', { 'aws:s3:read:*': 'read' })
const comment = toolOf('hub_create_comment', { 'hub:write': 'write' })
const request = toolOf('http_request', { 'http:*:read': 'read', 'http:*:write': 'write' })
const policyOf = (
  requested: string[] | null,
  allowed: string[],
  denied: string[] = [],
): GrantPolicy => ({
  requested,
  allowed,
  denied,
})
const call = (grant: string, args: unknown = {}, tier: Tier = 'read') => ({ grant, tier, args })

test('M3: a grant must be requested and allowed, and denied wins', () => {
  const isAllowed = (policy: GrantPolicy) => decide(policy, {}, comment).isAllowed
  expect(isAllowed(policyOf(['hub:write'], ['hub:*']))).toBe(true)
  expect(isAllowed(policyOf(['hub:read'], ['hub:*']))).toBe(false)
  expect(isAllowed(policyOf(['hub:write'], ['hub:read']))).toBe(false)
  expect(isAllowed(policyOf(['hub:*'], ['hub:*'], ['hub:write']))).toBe(false)
  expect(isAllowed(policyOf(['*'], ['*'], ['*']))).toBe(false)
  expect(isAllowed(policyOf([], ['*']))).toBe(false)
})

test('M3: people and outside agents ask for everything that policy allows', () => {
  expect(decide(policyOf(null, ['hub:write']), {}, comment).isAllowed).toBe(true)
  expect(decide(policyOf(null, []), {}, comment).isAllowed).toBe(false)
})

test('M4: a tool about agents that this hub runs is for nobody else', () => {
  const remember = { ...toolOf('memory_add', { 'memory:write': 'write' }), isForHosted: true }
  expect(decide(policyOf(['memory:write'], ['*']), {}, remember).isAllowed).toBe(true)
  expect(decide(policyOf(null, ['*']), {}, remember)).toMatchObject({
    isAllowed: false,
    reason: 'only agents that this hub runs can use it',
  })
})

test('M4: a tool whose grant depends on arguments is listed when some call would be allowed', () => {
  const one = policyOf(['aws:s3:read:artifacts'], ['aws:*'])
  expect(decide(one, {}, getObject).isAllowed).toBe(true)
  expect(decide(one, {}, getObject, call('aws:s3:read:artifacts')).isAllowed).toBe(true)
  expect(decide(one, {}, getObject, call('aws:s3:read:secrets')).isAllowed).toBe(false)
  expect(decide(policyOf(['aws:s3:write:*'], ['*']), {}, getObject).isAllowed).toBe(false)
  const allDenied = policyOf(null, ['aws:s3:read:*'], ['aws:s3:*'])
  expect(decide(allDenied, {}, getObject).isAllowed).toBe(false)
})

test('M2: an argument cannot smuggle a wildcard or more segments into its grant', () => {
  const one = policyOf(null, ['aws:s3:read:artifacts'])
  for (const bucket of ['*', 'artifacts:*', '', 'artifacts:x', '*:artifacts'])
    expect(decide(one, {}, getObject, call(`aws:s3:read:${bucket}`)).isAllowed).toBe(false)
})

test('M4: for any policy, what may be called is listed, and what is listed has a call', () => {
  const word = fc.constantFrom('aws', 's3', 'read', 'a', '*')
  const pattern = fc.array(word, { minLength: 1, maxLength: 5 }).map((parts) => parts.join(':'))
  const lists = fc.array(pattern, { maxLength: 3 })
  const policies = fc.record({ requested: fc.option(lists), allowed: lists, denied: lists })
  // 'z' stands for all the names that no pattern knows.
  const grants = ['aws', 's3', 'read', 'a', 'z'].map((bucket) => `aws:s3:read:${bucket}`)
  void fc.assert(
    fc.property(policies, (policy) => {
      const open = grants.filter((grant) => decide(policy, {}, getObject, call(grant)).isAllowed)
      expect(decide(policy, {}, getObject).isAllowed).toBe(open.length > 0)
      for (const grant of open) {
        expect(policy.denied.some((denied) => coversGrant(denied, grant))).toBe(false)
        expect(policy.allowed.some((allowed) => coversGrant(allowed, grant))).toBe(true)
      }
    }),
    { numRuns: 1_000 },
  )
})

test('M4: a pattern longer than any grant of the tool lists nothing', () => {
  for (const [long, tool] of [
    ['*:*:*:artifacts', request],
    ['http:weather:read:x', request],
    ['http:*:*:*', request],
    ['aws:s3:read:artifacts:x', getObject],
  ] as const) {
    expect(decide(policyOf(null, [long]), {}, tool).isAllowed, long).toBe(false)
    expect(decide(policyOf([long], ['*']), {}, tool).isAllowed, long).toBe(false)
  }
  expect(decide(policyOf(null, ['*:weather:*']), {}, request).isAllowed).toBe(true)
})

test('M4: what a tool cannot need opens none of its calls', () => {
  const open = policyOf(null, ['*'])
  for (const grant of ['http:weather', 'http:weather:read:x', 'aws:s3:read:a'])
    expect(decide(open, {}, request, call(grant)).isAllowed, grant).toBe(false)
  expect(decide(open, {}, request, call('http:weather:read')).isAllowed).toBe(true)
})

test('M4: a tool that reads or writes is listed for what is left of it, and each call by its own tier', () => {
  const reader = { tiers: ['read' as const] }
  const read = call('http:weather:read')
  const write = call('http:weather:write', {}, 'write')
  const open = policyOf(null, ['http:*'])
  expect(decide(open, reader, request).isAllowed).toBe(true)
  expect(decide(open, reader, request, read).isAllowed).toBe(true)
  expect(decide(open, reader, request, write).reason).toBe('the scopes of this key do not allow it')
  expect(decide(open, {}, request, write).isAllowed).toBe(true)
  expect(decide(policyOf(null, ['http:weather:write']), reader, request).isAllowed).toBe(false)
  const bothDenied = policyOf(null, ['http:*'], ['http:*:read', 'http:*:write'])
  expect(decide(bothDenied, {}, request).isAllowed).toBe(false)
})

test("M3: a definition's own lists narrow and never widen", () => {
  const open = policyOf(null, ['*'])
  const narrowed = (toolRestrictions: Partial<ToolRestrictions>, args?: unknown) => {
    const whole = { allow: [], deny: [], servers: [], blockedPatterns: [], ...toolRestrictions }
    return decide(
      open,
      { toolRestrictions: whole },
      comment,
      args === undefined ? undefined : call('hub:write', args),
    ).isAllowed
  }
  expect(narrowed({})).toBe(true)
  expect(narrowed({ allow: ['hub_*'] })).toBe(true)
  expect(narrowed({ allow: ['hub_search'] })).toBe(false)
  expect(narrowed({ allow: ['hub.create.comment'] })).toBe(false)
  expect(narrowed({ deny: ['hub_create_*'] })).toBe(false)
  expect(narrowed({ allow: ['*'], deny: ['hub_create_comment'] })).toBe(false)
  const closed = { allow: ['*'], deny: [], servers: [], blockedPatterns: [] }
  expect(decide(policyOf(null, []), { toolRestrictions: closed }, comment).isAllowed).toBe(false)
})

test("M10: a definition's list of tools leaves reading on in, unless it denies it by name", () => {
  const readOn = toolOf('results_read', { 'results:read': 'read' })
  const isAllowed = (deny: string[]) => {
    const toolRestrictions = { allow: ['http_*'], deny, servers: [], blockedPatterns: [] }
    return decide(policyOf(['http:*'], ['http:*']), { toolRestrictions: toolRestrictions }, readOn)
      .isAllowed
  }
  expect(isAllowed([])).toBe(true)
  expect(isAllowed(['results_read'])).toBe(false)
  expect(isAllowed(['*'])).toBe(false)
})

test('M3: a blocked pattern is looked for in the arguments as the tool will see them', () => {
  const reasonFor = explainBlocked('drop table', '"price"')
  expect(reasonFor({ content: 'hello' })).toBeNull()
  expect(reasonFor({ content: 'DROP\ntable users' })).toMatch(/blocked pattern drop table$/)
  expect(reasonFor({ deep: [{ content: 'drop  table' }] })).toMatch(/blocked pattern drop table$/)
  expect(reasonFor({ price: 1 })).toMatch(/blocked pattern "price"$/)
})

test('M3: while a blocked pattern is a regular expression, of an earlier version, no call runs', () => {
  const reasonFor = explainBlocked('never', '^rm\\s+-rf|DROP TABLE')
  const refusal =
    /\^rm\\s\+-rf\|DROP TABLE is a regular expression, so the arguments cannot be checked/
  expect(reasonFor({ content: 'rm  -rf /' })).toMatch(refusal)
  expect(reasonFor({ content: 'hello' })).toMatch(refusal)
  expect(reasonFor({ content: 'never' })).toMatch(refusal)
})

/** Returns why a call is refused because of its arguments; null: it is not. */
const explainBlocked =
  (...blockedPatterns: string[]) =>
  (args: unknown) =>
    decide(
      policyOf(null, ['*']),
      { toolRestrictions: { allow: [], deny: [], servers: [], blockedPatterns } },
      comment,
      call('hub:write', args),
    ).reason

test('M3: hostile patterns of tools are matched against all tools at once', () => {
  const names = Array.from({ length: 1_000 }, (_, index) => `${'a_'.repeat(28)}${index}`)
  const allow = Array.from({ length: 100 }, (_, index) => `${'*a'.repeat(49)}${index % 10}x`)
  const toolRestrictions = { allow, deny: allow, servers: [], blockedPatterns: [] }
  const match = () =>
    expect(names.every((name) => isToolExcluded(toolRestrictions, name))).toBe(true)
  expect(measureLeastMs(match, 5_000)).toBeLessThan(5_000)
})

test('M4: a key that may only read opens no write tool', () => {
  const open = policyOf(null, ['*'])
  expect(decide(open, { tiers: ['read'] }, comment).isAllowed).toBe(false)
  expect(decide(open, { tiers: ['read'] }, getObject).isAllowed).toBe(true)
})

test('M4: a refusal names the line of the policy and the list that it stands in', () => {
  const refusal = (policy: GrantPolicy) => {
    const { reason, list } = decide(policy, {}, comment, call('hub:write'))
    return { reason, list }
  }
  expect(refusal(policyOf(null, ['hub:read']))).toEqual({
    reason: 'no entry under "allowed" in the hub\'s policy matches it',
    list: 'allowed',
  })
  expect(refusal(policyOf(null, ['*', 'hub:*'], ['github:*', 'hub:*']))).toEqual({
    reason: 'the hub\'s policy denies it with "hub:*"',
    list: 'denied',
  })
  expect(refusal(policyOf([], ['*']))).toEqual({
    reason: "the agent's definition does not request it",
    list: null,
  })
  expect(decide(policyOf(null, ['*'], ['hub:write']), {}, comment)).toMatchObject({
    reason: 'the hub\'s policy denies it with "hub:write"',
    list: 'denied',
  })
})

test('M3: where the resource must be named, wide patterns give nothing and still deny', () => {
  const scoped = { ...getObject, isScoped: true }
  const grant = 'aws:s3:read:artifacts'
  for (const wide of ['*', 'aws:*', 'aws:s3:*', 'aws:s3:read:*', 'aws:*:read:*']) {
    for (const policy of [policyOf(['*', grant], [wide]), policyOf([wide], [grant])]) {
      expect(decide(policy, {}, scoped).isAllowed, wide).toBe(false)
      expect(decide(policy, {}, scoped, call(grant))).toMatchObject({
        isAllowed: false,
        list: 'allowed',
        reason: `it requires a grant that names the resource, such as ${grant}`,
      })
    }
    expect(decide(policyOf([grant], [grant], [wide]), {}, scoped, call(grant)).isAllowed).toBe(
      false,
    )
  }
  const named = policyOf([grant], ['*', 'aws:*:read:artifacts'])
  expect(decide(named, {}, scoped).isAllowed).toBe(true)
  expect(decide(named, {}, scoped, call(grant)).isAllowed).toBe(true)
  expect(decide(named, {}, scoped, call('aws:s3:read:secrets')).isAllowed).toBe(false)
  // who has no definition asks for all that is allowed
  expect(decide(policyOf(null, [grant]), {}, scoped, call(grant)).isAllowed).toBe(true)
  expect(decide(policyOf(null, ['*']), {}, scoped, call(grant)).isAllowed).toBe(false)
})

test('T20: a standing rule for one tier covers no call of another, of the same tool and grant', () => {
  const name = 'db_execute'
  const grant = 'db:main'
  const rule: StandingRule = {
    id: 'rule',
    tool: name,
    grant,
    tier: 'write',
    arguments: [],
    toolHash: 'hash',
    community: null,
    by: 'ada',
    endsAt: 1,
  }
  const policy: CallPolicy = {
    ...policyOf(null, ['db:*']),
    requireApproval: [`tool:${name}`],
    rateLimits: [],
  }
  const caller = { accountId: 'scout' as AccountId, name: 'scout', kind: 'agent' as const }
  const ruleFor = (tier: Tier) =>
    findApprovalNeed(
      {
        caller: { ...caller, activationId: null, postId: null },
        tool: { name, isOwnStore: false },
        prepared: { grant, tier, staysInTask: () => false },
        args: {},
      },
      policy,
      { rules: [rule], toolHash: 'hash' },
    )?.rule?.id
  expect([ruleFor('write'), ruleFor('destructive'), ruleFor('read')]).toEqual([
    'rule',
    undefined,
    undefined,
  ])
})

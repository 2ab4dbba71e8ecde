import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { GrantPolicy } from '../../../src/hub/contract'
import type { Narrowing, Tier } from '../../../src/mcp-servers/contract'
import { decide } from '../../../src/mcp-servers/gateway/decide'
import { coversGrant } from '../../../src/mcp-servers/gateway/grant-pattern'

const getObject = { name: 'aws_s3_get', tier: 'read' as Tier, grantShape: 'aws:s3:read:*' }
const comment = { name: 'hub_create_comment', tier: 'write' as Tier, grantShape: 'hub:write' }
const policyOf = (
  requested: string[] | null,
  allowed: string[],
  denied: string[] = [],
): GrantPolicy => ({
  requested,
  allowed,
  denied,
})
const call = (grant: string, args: unknown = {}) => ({ grant, args })

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
  const remember = { ...comment, grantShape: 'memory:write', isForHosted: true }
  expect(decide(policyOf(['memory:write'], ['*']), {}, remember).isAllowed).toBe(true)
  expect(decide(policyOf(null, ['*']), {}, remember)).toMatchObject({
    isAllowed: false,
    reason: 'only agents that this hub runs have it',
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
  const pattern = fc.array(word, { minLength: 1, maxLength: 4 }).map((parts) => parts.join(':'))
  const lists = fc.array(pattern, { maxLength: 3 })
  const policies = fc.record({ requested: fc.option(lists), allowed: lists, denied: lists })
  // 'z' stands for all the names that no pattern knows.
  const grants = ['aws', 's3', 'read', 'a', 'z'].map((bucket) => `aws:s3:read:${bucket}`)
  const longer = grants.flatMap((grant) => [grant, `${grant}:a`, `${grant}:z`])
  void fc.assert(
    fc.property(policies, (policy) => {
      const open = longer.filter((grant) => decide(policy, {}, getObject, call(grant)).isAllowed)
      expect(decide(policy, {}, getObject).isAllowed).toBe(open.length > 0)
      for (const grant of open) {
        expect(policy.denied.some((denied) => coversGrant(denied, grant))).toBe(false)
        expect(policy.allowed.some((allowed) => coversGrant(allowed, grant))).toBe(true)
      }
    }),
    { numRuns: 1_000 },
  )
})

test("M3: a definition's own lists narrow and never widen", () => {
  const open = policyOf(null, ['*'])
  const narrowed = (narrowing: Partial<Narrowing>, args?: unknown) => {
    const whole = { allow: [], deny: [], blockedPatterns: [], ...narrowing }
    return decide(
      open,
      { narrowing: whole },
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
  const closed = { allow: ['*'], deny: [], blockedPatterns: [] }
  expect(decide(policyOf(null, []), { narrowing: closed }, comment).isAllowed).toBe(false)
})

test('M3: a blocked pattern is looked for in the arguments as the tool will see them', () => {
  const narrowing = { allow: [], deny: [], blockedPatterns: ['drop\\s+table', '(', '"price"'] }
  const isAllowed = (args: unknown) =>
    decide(policyOf(null, ['*']), { narrowing }, comment, call('hub:write', args)).isAllowed
  expect(isAllowed({ content: 'hello' })).toBe(true)
  expect(isAllowed({ content: 'DROP\ntable users' })).toBe(false)
  expect(isAllowed({ deep: [{ content: 'drop  table' }] })).toBe(false)
  expect(isAllowed({ content: 'an (aside)' })).toBe(false)
  expect(isAllowed({ price: 1 })).toBe(false)
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
    reason: 'no line under "allowed" in the hub\'s policy covers it',
    list: 'allowed',
  })
  expect(refusal(policyOf(null, ['*', 'hub:*'], ['github:*', 'hub:*']))).toEqual({
    reason: 'the hub\'s policy denies it with "hub:*"',
    list: 'denied',
  })
  expect(refusal(policyOf([], ['*']))).toEqual({
    reason: "the agent's definition does not ask for it",
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
        reason: `a line must name the resource, as in ${grant}; wider ones do not count here`,
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

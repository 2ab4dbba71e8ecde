import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type HeldBy,
  listModerated,
  parsePolicyLine,
  policyLinePattern,
  renameInLine,
  selectHeldLines,
} from '../../../src/hub/contract/policy-line'
import { coversGrant } from '../../../src/mcp-servers/tool/grant-pattern'
import type { AccountId } from '../../../src/shared/ids'

const guest = { name: 'stranger', role: 'guest' } as const
const member = { name: 'Mira', role: 'member' } as const
const admin = { name: 'ada', role: 'admin' } as const

const ownerId = 'owner' as AccountId

const held = (
  lines: string[],
  ...requesters: { name: string; role: 'guest' | 'member' | 'admin' }[]
) => selectHeldLines(lines, requesters).allowed

describe('T1: a line of a policy', () => {
  test.each([
    ['github:read', { pattern: 'github:read', holdsFor: ['members'], isTrusted: false }],
    ['hub:* for guests', { pattern: 'hub:*', holdsFor: ['guests'], isTrusted: false }],
    ['x:y for @mira, admins', { pattern: 'x:y', holdsFor: ['@mira', 'admins'], isTrusted: false }],
    ['x:y for exploration trusted', { pattern: 'x:y', holdsFor: ['exploration'], isTrusted: true }],
    ['x:y trusted', { pattern: 'x:y', holdsFor: ['members'], isTrusted: true }],
  ])('%s', (text, line) => expect(parsePolicyLine(text)).toEqual({ credential: 'agent', ...line }))

  test('holds for members unless it says for whom, and for guests when it names them', () => {
    const lines = ['a:read for guests', 'b:read', 'c:read for admins', 'd:read for @mira']
    expect(held(lines, guest)).toEqual(['a:read'])
    expect(held(lines, member)).toEqual(['a:read', 'b:read', 'd:read'])
    expect(held(lines, admin)).toEqual(['a:read', 'b:read', 'c:read'])
  })

  test('for moderators of a community it holds for those who may moderate there, whatever else they are', () => {
    const lines = ['a:read for moderators of m/garden, @mira', 'b:read for moderators of m/pond']
    const gardener = { ...member, name: 'gil', moderates: ['garden'] }
    expect(parsePolicyLine('a:read for moderators of m/garden, guests trusted')).toEqual({
      pattern: 'a:read',
      credential: 'agent',
      isTrusted: true,
      holdsFor: ['moderators of m/garden', 'guests'],
    })
    expect(listModerated(lines[0] ?? '')).toEqual(['garden'])
    expect(selectHeldLines(lines, [gardener]).allowed).toEqual(['a:read'])
    expect(selectHeldLines(lines, [member]).allowed).toEqual(['a:read'])
    expect(selectHeldLines(lines, [admin, guest]).allowed).toEqual([])
    expect(selectHeldLines(lines, [{ ...gardener, moderates: [] }]).allowed).toEqual([])
    expect(
      selectHeldLines(lines, [gardener, { ...gardener, moderates: ['gardens'] }]).allowed,
    ).toEqual([])
    expect(selectHeldLines(lines, []).allowed).toEqual([])
    expect(policyLinePattern.test('a:read for moderators of m/Garden')).toBe(false)
    expect(policyLinePattern.test('a:read for moderators')).toBe(false)
  })

  test('of several requesters it has to hold for each', () => {
    const lines = ['a:read for guests', 'b:read', 'd:read for @mira']
    expect(selectHeldLines(lines, [member, admin])).toEqual({
      allowed: ['a:read', 'b:read'],
      asRequester: [],
      trusted: [],
      withheld: ['d:read for @mira'],
    })
  })

  test('the hub itself has what needs no credential, and what a line gives to explorations', () => {
    expect(held(['*'])).toEqual(['hub:*', 'memory:*', 'skills:*', 'workspace:*'])
    expect(held(['hub:read for guests', 'github:read', 'brave:search for exploration'])).toEqual([
      'hub:read',
      'brave:search',
    ])
    expect(held(['hub:write for admins'])).toEqual([])
  })

  test('C6: says whose credential is used; as requester it holds for one requester alone', () => {
    const lines = ['a:read for members as requester trusted', 'b:* as agent']
    expect(lines.every((line) => policyLinePattern.test(line))).toBe(true)
    expect(policyLinePattern.test('a:read trusted as requester')).toBe(false)
    expect(policyLinePattern.test('a:read as @ada')).toBe(false)
    expect(lines.map((line) => parsePolicyLine(line).credential)).toEqual(['requester', 'agent'])
    expect(selectHeldLines(lines, [member])).toMatchObject({
      allowed: ['a:read', 'b:*'],
      asRequester: ['a:read'],
      trusted: ['a:read'],
    })
    for (const several of [[], [member, admin], [member, member, guest]]) {
      const { allowed, asRequester, trusted } = selectHeldLines(lines, several)
      expect([allowed.includes('a:read'), asRequester, trusted]).toEqual([false, [], []])
    }
    expect(selectHeldLines(['* for exploration as requester'], []).allowed).toEqual([])
  })

  test('C6: keeps whose credential is used when an account that it names is renamed', () => {
    const rename = () => 'mia'
    expect(renameInLine('a:* for @mira as requester trusted', rename)).toBe(
      'a:* for @mia as requester trusted',
    )
    expect(renameInLine('a:* for @mira as agent', rename)).toBe('a:* for @mia')
  })

  test('an account may use the hub itself, whatever its role', () => {
    const lines = ['hub:write', '*', 'github:read']
    expect(selectHeldLines(lines, [guest], { isOwnCall: true }).allowed).toEqual([
      'hub:write',
      'hub:*',
    ])
    expect(selectHeldLines(lines, [guest]).allowed).toEqual([])
  })

  const line = fc
    .tuple(
      fc.constantFrom('hub:read', '*', 'github:write', 'http:weather:*'),
      fc.subarray(['guests', 'members', 'admins', 'exploration', '@mira', '@ada']),
      fc.constantFrom('', ' trusted', ' as requester', ' as requester trusted', ' as agent'),
    )
    .map(
      ([pattern, who, end]) => `${pattern}${who.length > 0 ? ` for ${who.join(', ')}` : ''}${end}`,
    )
  const person = fc.constantFrom<typeof guest | typeof member | typeof admin>(guest, member, admin)

  test('no requester is allowed more because others request too', () => {
    fc.assert(
      fc.property(fc.array(line), fc.array(person, { minLength: 1 }), (lines, people) => {
        const together = selectHeldLines(lines, people)
        for (const each of people) {
          const alone = selectHeldLines(lines, [each])
          expect(alone.allowed).toEqual(expect.arrayContaining(together.allowed))
          expect(alone.trusted).toEqual(expect.arrayContaining(together.trusted))
        }
        for (const each of together.trusted) expect(together.allowed).toContain(each)
        if (people.length > 1) expect(together.asRequester).toEqual([])
      }),
    )
  })
  test('T1: an agent of a member is allowed nothing that its owner could not make an agent do, whoever asks', () => {
    const mine: HeldBy = { ...member, name: 'olga', id: ownerId }
    const owner = fc.constantFrom<HeldBy>(guest, member, mine)
    const people = fc.array<HeldBy>(fc.oneof(person, fc.constant(mine)))
    fc.assert(
      fc.property(fc.array(line), people, owner, (lines, people, of) => {
        const held = selectHeldLines(lines, people, { owner: of })
        const ownerAlone = selectHeldLines(lines, [of])
        const withoutOwner = selectHeldLines(lines, people)
        expect(withoutOwner.allowed).toEqual(expect.arrayContaining(held.allowed))
        for (const [name, may] of [
          ['allowed', ownerAlone.allowed],
          ['trusted', ownerAlone.trusted],
        ] as const) {
          for (const pattern of held[name]) {
            expect(
              may.some((each) => coversGrant(each, pattern)),
              `${name} ${pattern}`,
            ).toBe(true)
          }
        }
        // Nobody else's account is used by the words of the owner.
        if (!people.every(({ id }) => id !== undefined && id === of.id)) {
          expect(held.asRequester).toEqual([])
        }
      }),
    )
  })
})

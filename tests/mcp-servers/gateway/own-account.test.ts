import fc from 'fast-check'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { type GrantPolicy, noPrivacy, type Privacy } from '../../../src/hub/contract/hub'
import { selectHeldLines } from '../../../src/hub/contract/policy-line'
import type { AccountOwner, Connect } from '../../../src/mcp-servers/credentials/connection'
import { AccountMissingError } from '../../../src/mcp-servers/credentials/connection'
import { createGateway } from '../../../src/mcp-servers/gateway/create-gateway'
import type { GatewayDeps } from '../../../src/mcp-servers/gateway/pipeline'
import { resultsServer } from '../../../src/mcp-servers/servers/results'
import { defineTool } from '../../../src/mcp-servers/tool/define-tool'
import type { AccountId, ActivationId, CommunityId } from '../../../src/shared/ids'
import { fakeConnect } from '../../support/fake-connect'
import { createFakeClock, createFakeHubApi, scoutAtWork } from '../../support/fake-hub-api'
import { fakeMemory } from '../../support/fake-memory'
import { testFileStores } from '../../support/file-stores'

const createLook = (name: string, times: number) =>
  defineTool({
    name,
    description: 'Looks.',
    tier: 'read',
    isIdempotent: true,
    doing: 'looking',
    input: z.strictObject({}),
    grant: 'desk:read',
    service: () => 'desk',
    run: async ({ progress }) => {
      progress('half of it seen')
      return 'seen '.repeat(times)
    },
  })
const desk = {
  name: 'desk',
  description: 'A desk.',
  services: { server: 'remote' } as never,
  tools: [createLook('look', 1), createLook('look_long', 20_000)],
}
const people = ['mira', 'tomas', 'ada'].map((name) => ({
  id: `account-${name}` as AccountId,
  name,
  role: name === 'ada' ? ('admin' as const) : ('member' as const),
}))

/** Calls the tool under a policy. Returns its result, and whose account each connection used. */
async function callUnder(
  policy: Partial<GrantPolicy>,
  { fails = false, tool = 'desk_look', privacy = noPrivacy, cannotMark = false } = {},
) {
  const marked: ActivationId[] = []
  const shown: string[] = []
  const owners: (AccountOwner | null)[] = []
  const connect: Connect = async (request) => {
    owners.push(request.owner)
    if (fails && request.owner) throw new AccountMissingError(request.owner, 'desk')
    return fakeConnect(request)
  }
  const whole = { requested: ['*'], allowed: [], denied: [], ...policy }
  const hub: GatewayDeps['hub'] = {
    ...createFakeHubApi(whole).hubApi,
    markOwnAccount: async (id) => {
      expect(owners).toEqual([])
      if (cannotMark) throw new Error('the database does not answer')
      marked.push(id)
    },
  }
  const gateway = createGateway({
    ...testFileStores,
    hub,
    memory: fakeMemory,
    connect,
    clock: createFakeClock(),
    servers: [desk, resultsServer],
  })
  const call = { callId: 'call-1', tool, arguments: '{}' }
  const { signal } = new AbortController()
  const result = await gateway.call({ ...scoutAtWork, privacy }, call, signal, (text) =>
    shown.push(text),
  )
  return { result, owners, marked, shown }
}

test('C6: a call uses the account of the only requester, or none, whatever the policy says', async () => {
  const line = fc
    .tuple(
      fc.constantFrom('desk:read', 'desk:*', '*', 'desk:write'),
      fc.subarray(['guests', 'members', 'admins', 'exploration', '@mira']),
      fc.constantFrom('', ' as requester', ' as agent', ' as requester trusted'),
    )
    .map(([pattern, who, as]) => `${pattern}${who.length ? ` for ${who.join(', ')}` : ''}${as}`)
  await fc.assert(
    fc.asyncProperty(fc.array(line), fc.subarray(people), async (lines, requesters) => {
      const held = selectHeldLines(lines, requesters)
      const { result, owners } = await callUnder({ ...held, requesters })
      const isOwn = held.asRequester.some((pattern) => !pattern.endsWith('write'))
      expect(owners.length).toBe(result.isError ? 0 : 1)
      for (const owner of owners) {
        expect(owner?.id).toBe(isOwn ? requesters[0]?.id : undefined)
        if (owner) expect(requesters).toHaveLength(1)
      }
    }),
    { numRuns: 150 },
  )
})

test('C6: a call as requester never falls back to a credential of the hub', async () => {
  for (const requesters of [[], people, [{ name: 'mira', role: 'member' as const }]]) {
    const { owners, result } = await callUnder({
      allowed: ['desk:*'],
      asRequester: ['desk:*'],
      requesters,
    })
    expect(owners).toEqual([])
    expect(result.text).toContain('there is not exactly one')
  }
  const [mira] = people
  const missed = await callUnder(
    { allowed: ['desk:*'], asRequester: ['desk:*'], requesters: mira ? [mira] : [] },
    { fails: true },
  )
  expect(missed.owners.map((owner) => owner?.name)).toEqual(['mira'])
  expect(missed.result).toMatchObject({
    isError: true,
    audit: { decision: 'allowed', outcome: 'error', reason: expect.stringContaining('desk') },
  })
})

test('C6: what an account of a requester returns is private to the run', async () => {
  const [mira] = people
  const requesters = mira ? [mira] : []
  const own = await callUnder({ allowed: ['desk:*'], asRequester: ['desk:*'], requesters })
  expect(own.result).toMatchObject({ isPrivate: true, isOwnAccount: true, isUntrusted: true })
  const { result } = await callUnder({ allowed: ['desk:*'], requesters })
  expect([result.isPrivate, result.isOwnAccount]).toEqual([undefined, undefined])
})

test("C6 T21: a run is marked before its requester's account is used, and nothing of the call is shown meanwhile", async () => {
  const [mira] = people
  const requesters = mira ? [mira] : []
  const policy = { allowed: ['desk:*'], asRequester: ['desk:*'], requesters }
  const own = await callUnder(policy)
  expect(own.marked).toEqual([scoutAtWork.activationId])
  expect(own.shown).toEqual([])
  const unmarked = await callUnder(policy, { cannotMark: true })
  expect(unmarked.owners).toEqual([])
  expect(unmarked.result.isError).toBe(true)
  const other = await callUnder({ allowed: ['desk:*'], requesters })
  expect(other.marked).toEqual([])
  expect(other.shown).toEqual(['half of it seen'])
})

test('C6 T2: in a closed community a long result of an own account is not stored for those who read there', async () => {
  const attic = 'attic-id' as CommunityId
  const closed = { reader: attic, privateTo: attic, community: 'attic' }
  const policy = { allowed: ['desk:*', 'results:read'], requesters: people.slice(0, 1) }
  const asRequester = ['desk:*']
  const textUnder = async (over: Partial<GrantPolicy>, privacy: Privacy) =>
    (await callUnder({ ...policy, ...over }, { privacy, tool: 'desk_look_long' })).result.text
  expect(await textUnder({ asRequester }, closed)).toMatch(/Truncated.*Request less/)
  expect(await textUnder({}, closed)).toMatch(/Truncated.*handle/)
  expect(await textUnder({ asRequester }, noPrivacy)).toMatch(/Truncated.*handle/)
})

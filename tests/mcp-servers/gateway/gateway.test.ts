import { expect, test, vi } from 'vitest'
import * as z from 'zod'
import type { GrantPolicy } from '../../../src/hub/contract/hub'
import type { ToolCaller } from '../../../src/mcp-servers/contract/tools'
import { readArguments } from '../../../src/mcp-servers/gateway/call-tool'
import { createGateway } from '../../../src/mcp-servers/gateway/create-gateway'
import { servers } from '../../../src/mcp-servers/servers'
import { defineTool, type ToolContext } from '../../../src/mcp-servers/tool/define-tool'
import { AppError } from '../../../src/shared/errors'
import { hashArguments } from '../../../src/shared/exact-json'
import {
  adaOutside,
  createFakeClock,
  createFakeHubApi,
  scoutAtWork,
} from '../../support/fake-hub-api'
import { fakeMemory } from '../../support/fake-memory'
import { testFileStores } from '../../support/file-stores'

type Run = (context: ToolContext<{ text: string }>) => Promise<unknown>

const echoWith = (run: Run, timeoutMs = 1_000) =>
  defineTool({
    name: 'echo',
    description: 'Says it again.',
    input: z.strictObject({ text: z.string().max(100) }),
    tier: 'write',
    grant: { shape: 'test:echo:*', of: ({ text }) => `test:echo:${text}` },
    isIdempotent: false,
    doing: 'echoing',
    timeoutMs,
    run,
  })

function setUp(run: Run = async ({ input }) => input.text, timeoutMs?: number) {
  const policy: GrantPolicy = {
    requested: ['test:*'],
    allowed: ['test:*'],
    denied: ['test:echo:no'],
  }
  const hub = createFakeHubApi(policy)
  const clock = createFakeClock()
  const failures: unknown[] = []
  const gateway = createGateway({
    ...testFileStores,
    memory: fakeMemory,
    hub: hub.hubApi,
    clock,
    servers: [{ name: 'test', description: 'For tests.', tools: [echoWith(run, timeoutMs)] }],
    reportFailure: (_, cause) => failures.push(cause),
  })
  const call = (args: string, caller: ToolCaller = scoutAtWork, tool = 'test_echo') =>
    gateway.call(caller, { callId: 'call-1', tool, arguments: args }, new AbortController().signal)
  return { ...hub, clock, gateway, call, failures }
}

const yes = '{"text":"yes"}'

test('M9: a call that works tells its text and what the audit needs', async () => {
  const { call, clock } = setUp(async ({ input }) => {
    clock.time += 40
    return { said: input.text }
  })
  const result = await call(yes)
  expect(result).toMatchObject({
    callId: 'call-1',
    text: '{"said":"yes"}',
    isError: false,
    durationMs: 40,
  })
  expect(result.audit).toEqual({
    callId: 'call-1',
    tool: 'test_echo',
    grant: 'test:echo:yes',
    argumentsHash: await hashArguments('', { text: 'yes' }),
    decision: 'allowed',
    outcome: 'ok',
    durationMs: 40,
    resultBytes: 14,
    at: clock.time - 40,
  })
})

test('M1: wrong arguments name the field, and the tool does not run', async () => {
  const run = vi.fn<Run>()
  const { call } = setUp(run)
  for (const [args, field] of [
    ['{"text":3}', 'text: '],
    ['{}', 'text: '],
    ['', 'text: '],
    ['{"text":"x","size":1}', '"size"'],
    ['{"text":', 'JSON'],
    ['null', 'object'],
    ['[]', 'object'],
  ] as const) {
    const { text, isError, audit } = await call(args)
    expect(text).toMatch(/^Error: Invalid arguments for test_echo: /)
    expect(text).toContain(field)
    expect(isError).toBe(true)
    expect(audit).toMatchObject({ decision: 'invalid', outcome: null })
  }
  expect(run).not.toHaveBeenCalled()
})

test('M4: a denied call names the grant, and the tool does not run', async () => {
  const run = vi.fn<Run>()
  const { call } = setUp(run)
  const result = await call('{"text":"no"}')
  expect(result.text).toMatch(/^Error: Missing grant test:echo:no\b/)
  expect(result.audit).toMatchObject({ decision: 'denied', grant: 'test:echo:no', outcome: null })
  expect(run).not.toHaveBeenCalled()
})

test('M4: a denied call tells which line of the policy denied it, and where an admin changes it', async () => {
  const { call, policy } = setUp()
  policy.denied = ['test:*']
  expect((await call(yes)).text).toBe(
    'Error: Missing grant test:echo:yes: the hub\'s policy denies it with "test:*". ' +
      'An admin can change the policy: /policy/scout#denied',
  )
  policy.denied = []
  policy.allowed = ['hub:*']
  expect((await call(yes)).text).toContain('An admin can change the policy: /policy/scout#allowed')
  policy.requested = []
  expect((await call(yes)).text).toMatch(/does not request it\.$/)
})

test('M3: a call that the definition refuses is not reported as a missing grant', async () => {
  const run = vi.fn<Run>()
  const { call } = setUp(run)
  const toolRestrictions = { allow: [], deny: [], servers: [], blockedPatterns: ['yes'] }
  const blocked = await call(yes, { ...scoutAtWork, toolRestrictions })
  expect(blocked.text).toBe(
    "Error: The agent's definition does not allow this call of test_echo: the arguments match the blocked pattern yes.",
  )
  expect(blocked.audit).toMatchObject({ decision: 'denied', grant: 'test:echo:yes' })
  const excluded = { ...toolRestrictions, deny: ['test_*'] }
  expect((await call(yes, { ...scoutAtWork, toolRestrictions: excluded })).text).toBe(
    "Error: The agent's definition does not allow this call of test_echo: the definition excludes the tool.",
  )
  expect(run).not.toHaveBeenCalled()
})

test('P2: why a call would be refused is known without making it', async () => {
  const run = vi.fn<Run>()
  const { call, gateway, policy, calls } = setUp(run)
  const restricted = (more: object): ToolCaller => ({
    ...scoutAtWork,
    toolRestrictions: { allow: [], deny: [], servers: [], blockedPatterns: [], ...more },
  })
  const no = '{"text":"no"}'
  const asked: [string, ToolCaller][] = [
    [yes, scoutAtWork],
    [no, scoutAtWork],
    [yes, restricted({ blockedPatterns: ['yes'] })],
    [no, restricted({ blockedPatterns: ['yes'] })],
    [yes, restricted({ deny: ['test_*'] })],
  ]
  const find = (args: string, caller: ToolCaller, tool = 'test_echo') =>
    gateway.findRefusal(caller, policy, { callId: 'call-1', tool, arguments: args })
  const found = asked.map(([args, caller]) => find(args, caller))
  expect(found.map((text) => text !== null)).toEqual([false, true, true, true, true])
  expect(calls).toEqual([])
  for (const [at, [args, caller]] of asked.entries()) {
    if (found[at] !== null) expect((await call(args, caller)).text).toBe(found[at])
  }
  expect(run).not.toHaveBeenCalled()
  // of arguments that are invalid the tool alone decides
  expect(find('{', scoutAtWork)).toBeNull()
  expect(find('{', restricted({ deny: ['test_*'] }))).toContain('test_echo')
  expect(find(yes, scoutAtWork, 'test_other')).toBeNull()
})

test('M4: policy is read again for every call', async () => {
  const { call, policy, calls } = setUp()
  expect((await call(yes)).isError).toBe(false)
  policy.allowed = []
  expect((await call(yes)).text).toMatch(/^Error: Missing grant test:echo:yes\b/)
  expect(calls.filter(({ method }) => method === 'readAuthorization')).toHaveLength(2)
})

test('M4: an unknown tool is answered with near names that the caller may use', async () => {
  const { call, policy } = setUp()
  const wrong = await call('{}', scoutAtWork, 'test_ehco')
  expect(wrong.text).toBe('Error: Unknown tool test_ehco. Did you mean test_echo?')
  expect(wrong.audit.decision).toBe('unknown_tool')
  expect((await call('{}', scoutAtWork, 'x'.repeat(10_000))).text.length).toBeLessThan(200)
  policy.allowed = []
  expect((await call('{}', scoutAtWork, 'test_ehco')).text).toBe('Error: Unknown tool test_ehco.')
})

test('M9: the intent of an outside caller is written before the tool runs, its result after', async () => {
  const seen: unknown[] = []
  const { call, audit } = setUp(async ({ input }) => {
    seen.push(...structuredClone([...audit.values()]))
    return input.text
  })
  await call(yes, { ...adaOutside })
  expect(seen).toMatchObject([{ decision: 'allowed', outcome: null, grant: 'test:echo:yes' }])
  expect([...audit.values()]).toMatchObject([{ outcome: 'ok', resultBytes: 3 }])
})

test('M9: when the intent cannot be written the tool does not run', async () => {
  const run = vi.fn<Run>()
  const { call, hubApi, failures } = setUp(run)
  const lost = new Error('D1_ERROR: secret detail')
  hubApi.recordIntent = async () => {
    throw lost
  }
  const result = await call(yes, adaOutside)
  expect(run).not.toHaveBeenCalled()
  expect(result.isError).toBe(true)
  expect(result.text).not.toContain('secret')
  expect(failures).toEqual([lost])
})

test('M9: refused calls of outside callers are on record too', async () => {
  const { call, audit } = setUp()
  await call('{"text":"no"}', adaOutside)
  await call('{}', adaOutside)
  await call('{}', adaOutside, 'nothing')
  expect([...audit.values()].map(({ decision }) => decision)).toEqual([
    'denied',
    'invalid',
    'unknown_tool',
  ])
  const [denied, invalid] = audit.values()
  expect(denied?.reason).toMatch(/^Missing grant test:echo:no: /)
  expect([denied?.arguments, invalid?.reason]).toEqual(['{"text":"no"}', undefined])
})

test('M9: a hosted agent has journaled its intent, so the hub is not asked to write', async () => {
  const { call, calls } = setUp()
  await call(yes)
  expect(calls.map(({ method }) => method)).toEqual(['readAuthorization'])
})

test('M9: a result that cannot be noted is still given', async () => {
  const { call, hubApi } = setUp()
  hubApi.recordResult = async () => {
    throw new Error('gone')
  }
  expect(await call(yes, adaOutside)).toMatchObject({ text: 'yes', isError: false })
})

test('M4: when the policy cannot be read the call is refused', async () => {
  const run = vi.fn<Run>()
  const { call, hubApi } = setUp(run)
  hubApi.readAuthorization = async () => {
    throw new Error('gone')
  }
  const result = await call(yes)
  expect(result).toMatchObject({ isError: true, audit: { decision: 'denied', outcome: 'error' } })
  expect(run).not.toHaveBeenCalled()
})

test('M10: an expected failure tells its message, any other keeps its reason private', async () => {
  const expected = setUp(async () => {
    throw new AppError('NOT_FOUND', 'There is no such post.', { hint: 'Search for it.' })
  })
  expect((await expected.call(yes)).text).toBe('Error: There is no such post. Search for it.')
  const unexpected = setUp(async () => {
    throw new TypeError('connect to 10.0.0.1 with token abc')
  })
  const { text, audit } = await unexpected.call(yes)
  expect(text).toBe('Error: test_echo failed with an internal error of the hub. Try again later.')
  expect(audit.outcome).toBe('error')
  expect(String(unexpected.failures[0])).toContain('token abc')
})

test('M1: a tool that does not answer in time is left behind, and told to stop', async () => {
  const signals: AbortSignal[] = []
  const { call } = setUp(({ signal }) => {
    signals.push(signal)
    return new Promise(() => {})
  }, 20)
  const result = await call(yes)
  expect(result.text).toMatch(/^Error: test_echo timed out after 0\.02 s/)
  expect(result.audit.outcome).toBe('timeout')
  expect(signals[0]?.aborted).toBe(true)
})

test('M1: a cancelled call ends at once, even before it starts', async () => {
  const run = vi.fn<Run>(() => new Promise(() => {}))
  const { gateway } = setUp(run)
  const early = AbortSignal.abort()
  const call = { callId: 'call-1', tool: 'test_echo', arguments: yes }
  expect((await gateway.call(scoutAtWork, call, early)).audit.outcome).toBe('cancelled')
  expect(run).not.toHaveBeenCalled()
  const later = new AbortController()
  const pending = gateway.call(scoutAtWork, call, later.signal)
  await expect.poll(() => run).toHaveBeenCalledOnce()
  later.abort()
  expect((await pending).audit.outcome).toBe('cancelled')
})

test('M9: equal arguments have equal hashes, whatever the order of their keys', async () => {
  const hash = (raw: string) => {
    const args = readArguments(raw)
    return hashArguments(raw, args.ok ? args.exact : undefined)
  }
  expect(await hash('{"a":1,"b":{"c":[1,2],"d":null}}')).toBe(
    await hash('{ "b":{"d":null,"c":[1,2]}, "a":1 }'),
  )
  const large = '{"id":9007199254740993}'
  expect(await hash('{"id": 9007199254740993}')).toBe(await hash(large))
  expect(await hash('{"id":9007199254740992}')).not.toBe(await hash(large))
  expect(await hash('{"a":[1,2]}')).not.toBe(await hash('{"a":[2,1]}'))
  expect(await hash('{}')).toBe('44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a')
})

test('M1: arguments nested beyond the stack are a wrong argument, not a crash', async () => {
  const { call } = setUp()
  const deep = `{"text":${'['.repeat(200_000)}${']'.repeat(200_000)}}`
  expect((await call(deep)).text).toMatch(/^Error: /)
})

test('M1: what a tool is like can be asked by its name', () => {
  const { gateway } = setUp()
  expect(gateway.describe('test_echo')).toMatchObject({ isIdempotent: false, doing: 'echoing' })
  expect(gateway.describe('test_nothing')).toBeNull()
})

test('M1: two tools cannot have one name', () => {
  const { hubApi } = createFakeHubApi({ requested: null, allowed: [], denied: [] })
  const [hub] = servers
  const twice = hub ? [hub, hub] : []
  expect(() =>
    createGateway({
      ...testFileStores,
      hub: hubApi,
      memory: fakeMemory,
      clock: createFakeClock(),
      servers: twice,
    }),
  ).toThrow('hub_search')
})

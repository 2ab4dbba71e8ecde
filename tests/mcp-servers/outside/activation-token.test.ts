import { expect, test } from 'vitest'
import type { Task } from '../../../src/hub/contract/hub'
import type { ProgramCallRecorder } from '../../../src/mcp-servers/contract/program-calls'
import { createGateway } from '../../../src/mcp-servers/gateway/create-gateway'
import {
  type ActivationClaim,
  createActivationTokens,
} from '../../../src/mcp-servers/outside/activation-token'
import { findTokenActivation } from '../../../src/mcp-servers/outside/authenticate-caller'
import { createMcpRoutes } from '../../../src/mcp-servers/outside/create-mcp-routes'
import { servers } from '../../../src/mcp-servers/servers'
import type { AccountId, ActivationId } from '../../../src/shared/ids'
import { connectMcp, textOf } from '../../support/connect-mcp'
import { createFakeClock, createFakeHubApi, scoutAtWork } from '../../support/fake-hub-api'
import { fakeMemory } from '../../support/fake-memory'
import { testFileStores } from '../../support/file-stores'

const [newKey, oldKey, otherKey] = ['n', 'o', 'x'].map((char) => btoa(char.repeat(32))) as [
  string,
  string,
  string,
]
const claim = {
  accountId: scoutAtWork.accountId,
  activationId: scoutAtWork.activationId as ActivationId,
  audience: ['mcp'] as const,
  attempt: null,
  toolRestrictions: null,
}
const now = 1_000_000

test('M11: a token says whose it is for ten minutes, and only as it was signed', async () => {
  const tokens = createActivationTokens([newKey, oldKey])
  const { token, expiresAt } = await tokens.issue(claim, now)
  expect(expiresAt).toBe(now + 600_000)
  expect(await tokens.read(token, now)).toEqual({ ...claim, expiresAt })
  expect(await tokens.read(token, expiresAt - 1)).not.toBeNull()
  expect(await tokens.read(token, expiresAt)).toBeNull()
  const [head, body = '', signature = ''] = token.split('.')
  const forged = btoa(JSON.stringify({ ...claim, accountId: 'another', expiresAt })).replace(
    /=/g,
    '',
  )
  for (const each of [
    `${head}.${forged}.${signature}`,
    `${head}.${body}.${signature.slice(0, -2)}`,
    `${head}.${body}.`,
    `${head}.${body}`,
    body,
    '',
  ]) {
    expect(await tokens.read(each, now), each).toBeNull()
  }
})

test('M11: a token of the key before is good after a rotation, one of another hub is not', async () => {
  const { token } = await createActivationTokens([oldKey]).issue(claim, now)
  expect(await createActivationTokens([newKey, oldKey]).read(token, now)).not.toBeNull()
  expect(await createActivationTokens([newKey]).read(token, now)).toBeNull()
  expect(await createActivationTokens([otherKey]).read(token, now)).toBeNull()
})

test('M11: without a vault key no token is made, and too many tool restrictions are refused', async () => {
  await expect(createActivationTokens([]).issue(claim, now)).rejects.toThrow('no vault key')
  const deny = Array.from({ length: 900 }, (_, index) => `hub_tool_${index}`)
  const toolRestrictions = { allow: [], deny, servers: [], blockedPatterns: [] }
  const issue = createActivationTokens([newKey]).issue({ ...claim, toolRestrictions }, now)
  await expect(issue).rejects.toMatchObject({ code: 'TOO_LARGE' })
})

type Restrictions = Record<'allow' | 'deny' | 'servers' | 'blockedPatterns', string[]>

async function setUp(toolRestrictions: Restrictions, of: Partial<ActivationClaim> = {}) {
  const hub = createFakeHubApi({
    requested: ['hub:*', 'workspace:*'],
    allowed: ['hub:*', 'workspace:*'],
    denied: [],
  })
  const running = { id: claim.accountId, name: 'scout', kind: 'agent' as const, etag: 'e' }
  const state = {
    isRunning: true,
    holder: claim.accountId,
    run: { task: 'mention' as Task, requesterIds: [] as AccountId[] },
    runAttempt: null as number | null,
  }
  hub.hubApi.findActivation = async (id) =>
    id === claim.activationId && state.isRunning
      ? {
          ...running,
          ...state.run,
          id: state.holder,
          runAttempt: state.runAttempt,
          postId: scoutAtWork.postId,
          closed: null,
        }
      : null
  const clock = createFakeClock()
  const base = { ...testFileStores, hub: hub.hubApi, memory: fakeMemory, clock }
  const gateway = createGateway({ ...base, servers })
  const tokens = createActivationTokens([newKey])
  const { token } = await tokens.issue({ ...claim, ...of, toolRestrictions }, clock.now())
  const settings = { ROOKERY_NAME: 'Nest' }
  const defer = (work: Promise<unknown>) => void work
  const listed: unknown[] = []
  const noteToolsListed = async (...run: unknown[]) => void listed.push(run)
  const mcp = { gateway, hub: hub.hubApi, tokens, settings, clock, defer }
  const recorder = createFakeRecorder()
  const findRecorder = () => recorder.api
  const answer = createMcpRoutes({ ...mcp, noteToolsListed, findRecorder })
  const handle = (request: Request) =>
    answer(request, { recordCaller: () => undefined, count: async () => null })
  const post = () =>
    handle(
      new Request('https://hub.test/mcp', {
        method: 'POST',
        headers: { Authorization: `Bearer ${token}` },
        body: '{}',
      }),
    )
  return {
    ...hub,
    state,
    clock,
    token,
    tokens,
    listed,
    recorder,
    post,
    connect: () => connectMcp(handle, token, '/mcp'),
  }
}

/** Records calls of programs as an agent's object does; `next` is its next answer. */
function createFakeRecorder() {
  const begun: Parameters<ProgramCallRecorder['beginCall']>[] = []
  const ended: Parameters<ProgramCallRecorder['endCall']>[] = []
  const state = {
    next: { kind: 'run' } as Awaited<ReturnType<ProgramCallRecorder['beginCall']>>,
    endsLost: 0,
    waits: [] as Awaited<ReturnType<ProgramCallRecorder['awaitApproval']>>[],
  }
  const api: ProgramCallRecorder = {
    beginCall: async (...args) => {
      begun.push(args)
      return state.next
    },
    awaitApproval: async () => state.waits.shift() ?? 'over',
    endWait: async () => 'run',
    endCall: async (...args) => {
      if (state.endsLost-- > 0) throw new Error('the object is starting again')
      ended.push(args)
    },
  }
  return { begun, ended, state, api }
}

const nothing = { allow: [], deny: [], servers: [], blockedPatterns: [] }

test('M11: its bearer calls tools as the agent, narrowed as the definition says, and on record', async () => {
  const { connect, calls, hubApi } = await setUp({ ...nothing, deny: ['hub_create_*'] })
  const intents: unknown[] = []
  const record = hubApi.recordIntent
  hubApi.recordIntent = async (...args) => {
    intents.push([args[0], args[2], args[1].decision])
    return record(...args)
  }
  const client = await connect()
  expect(client.getInstructions()).toContain('You are scout')
  const names = (await client.listTools()).tools.map(({ name }) => name)
  expect(names).toContain('hub_search')
  expect(names).not.toContain('hub_create_post')
  const found = await client.callTool({ name: 'hub_search', arguments: { query: 'keys' } })
  expect(found.isError).toBe(false)
  const write = { name: 'hub_create_post', arguments: { community: 'general', title: 'T' } }
  expect(textOf(await client.callTool(write))).toMatch(
    /^Error: The agent's definition does not allow this call of hub_create_post: /,
  )
  expect(intents).toEqual([
    [claim.accountId, claim.activationId, 'allowed'],
    [claim.accountId, claim.activationId, 'denied'],
  ])
  const [{ args: [actor] = [] } = {}] = calls.filter(({ method }) => method === 'search')
  expect(actor).toMatchObject({ accountId: claim.accountId, postId: scoutAtWork.postId })
})

test("M11: a token is worth nothing once its activation is over, is another agent's, or it is late", async () => {
  const { state, clock, post } = await setUp(nothing)
  expect((await post()).status).not.toBe(401)
  state.holder = 'another' as AccountId
  expect((await post()).status).toBe(401)
  state.holder = claim.accountId
  state.isRunning = false
  expect((await post()).status).toBe(401)
  state.isRunning = true
  clock.time += 600_000
  expect((await post()).status).toBe(401)
})

test('X3: a token of a run ends with its attempt, and one of the admin route opens tools alone', async () => {
  const all = ['mcp', 'models', 'git'] as const
  const { state, post, connect, listed, ...run } = await setUp(nothing, {
    audience: all,
    attempt: 2,
  })
  const find = (token: string, audience: (typeof all)[number]) =>
    findTokenActivation({ hub: run.hubApi, tokens: run.tokens }, token, audience, run.clock.now())
  const states = [
    [null, 401],
    [1, 401],
    [3, 401],
    [2, 200],
  ] as const
  for (const [current, status] of states) {
    state.runAttempt = current
    expect((await post()).status === 401, String(current)).toBe(status === 401)
    for (const audience of all) {
      expect((await find(run.token, audience)) !== null).toBe(status === 200)
    }
  }
  expect(listed).toEqual([])
  await (await connect()).listTools()
  expect(listed).toEqual([[claim.accountId, claim.activationId, 2]])
  const { token } = await run.tokens.issue(claim, run.clock.now())
  expect(await find(token, 'mcp')).not.toBeNull()
  expect(await find(token, 'models')).toBeNull()
  expect(await find(token, 'git')).toBeNull()
  // It lasts as long as its run may, and no longer.
  const late = await run.tokens.issue({ ...claim, attempt: 2 }, now, now + 3_000_000)
  expect(late.expiresAt).toBe(now + 3_000_000)
  const longest = await run.tokens.issue({ ...claim, attempt: 2 }, now, now * 1e6)
  expect(longest.expiresAt).toBe(now + 6 * 3_600_000)
})

test('T2: a program with a token has the privacy of the activation', async () => {
  const { state, connect } = await setUp(nothing)
  const alice = 'account-alice' as AccountId
  const read = async () =>
    textOf(
      await (await connect()).callTool({
        name: 'workspace_read_file',
        arguments: { path: 'from-a-program' },
      }),
    )
  state.run = { task: 'dm', requesterIds: [alice] }
  const written = await (await connect()).callTool({
    name: 'workspace_write_file',
    arguments: { path: 'from-a-program', content: 'tulip' },
  })
  expect(written.isError, textOf(written)).toBe(false)
  expect(await read()).toContain('tulip')
  for (const requesterIds of [['account-bob'], [alice, 'account-bob'], []] as AccountId[][]) {
    state.run = { task: 'mention', requesterIds }
    expect(await read()).toMatch(/^Error: There is no such file/)
  }
})

test('X6 X13: each call of a program is on record before it runs and after it, and one with a recorded result does not run', async () => {
  const { state, recorder, calls, connect } = await setUp(nothing, { attempt: 3 })
  state.runAttempt = 3
  const client = await connect()
  const search = { name: 'hub_search', arguments: { query: 'keys' } }
  recorder.state.endsLost = 1
  expect((await client.callTool(search)).isError).toBe(false)
  const [id, call, attempt] = recorder.begun[0] ?? []
  expect([id, call, attempt]).toMatchObject([
    claim.activationId,
    { tool: 'hub_search', arguments: '{"query":"keys"}', isWrite: false },
    3,
  ])
  expect(recorder.ended).toMatchObject([
    [claim.activationId, call?.callId, { isError: false, decision: 'allowed' }],
  ])
  const ran = calls.length
  const write = { name: 'hub_create_post', arguments: { community: 'general', title: 'T' } }
  recorder.state.next = { kind: 'recorded', text: 'posted before', isError: false }
  expect(textOf(await client.callTool(write))).toBe('posted before')
  expect(recorder.begun[1]?.[1]).toMatchObject({ tool: 'hub_create_post', isWrite: true })
  recorder.state.next = { kind: 'refused', text: 'Error: This run is over.' }
  expect(textOf(await client.callTool(write))).toBe('Error: This run is over.')
  expect(calls).toHaveLength(ran)
  expect(recorder.ended).toHaveLength(1)
  // One that no isolate has loaded yet, as of a remote server, may write.
  recorder.state.next = { kind: 'run' }
  await expect(client.callTool({ name: 'weather_report', arguments: {} })).rejects.toThrow()
  expect(recorder.begun.at(-1)?.[1]).toMatchObject({ tool: 'weather_report', isWrite: true })
  expect(recorder.ended.at(-1)?.[2]).toMatchObject({ decision: 'unknown_tool' })
})

test('M11: calls with a token of the admin route are not part of the run', async () => {
  const { recorder, connect } = await setUp(nothing)
  const client = await connect()
  await client.callTool({ name: 'hub_search', arguments: { query: 'keys' } })
  expect(recorder.begun).toEqual([])
})

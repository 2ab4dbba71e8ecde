import { env } from 'cloudflare:workers'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import { createHubApi } from '../../../src/hub/api/hub-api'
import type { ToolCaller } from '../../../src/mcp-servers/contract/tools'
import { createGateway } from '../../../src/mcp-servers/gateway/create-gateway'
import { hubServer } from '../../../src/mcp-servers/servers/hub'
import { defineTool, type ToolContext } from '../../../src/mcp-servers/tool/define-tool'
import type { ActivationId, PostId } from '../../../src/shared/ids'
import { createTestHub } from '../../hub/create-test-hub'
import { fakeMemory } from '../../support/fake-memory'
import { testFileStores } from '../../support/file-stores'

const hub = createTestHub()
const finch = await hub.join('finch')
const caller: ToolCaller = {
  accountId: finch.id,
  name: 'finch',
  kind: 'agent',
  activationId: '00000000-0000-7000-8000-00000000a001' as ActivationId,
  postId: null,
}
let postId: PostId
let ran: string[] = []
let contexts: ReturnType<typeof hub.context>[] = []
const hubApi = createHubApi(() => {
  const context = hub.context()
  contexts.push(context)
  return context
})

type Run = (context: ToolContext<Record<string, never>>) => Promise<unknown>
const readTool = (name: string, run: Run) =>
  defineTool({
    name,
    description: 'Reads.',
    input: z.strictObject({}),
    tier: 'read',
    grant: 'hub:read',
    isIdempotent: true,
    doing: 'reading',
    run: (context) => {
      ran.push(name)
      return run(context)
    },
  })
const odd = {
  name: 'odd',
  description: 'Read tools that do other things than one read.',
  tools: [
    readTool('nothing', async () => 'I read nothing.'),
    readTool('writing', ({ actor, hub: api }) =>
      api.createComment(actor, { postId, parentId: null, content: 'From a read tool.' }),
    ),
    readTool('twice', async ({ actor, hub: api }) => {
      await api.readThread(actor, postId, 5)
      await api.readThread(actor, postId, 5)
      return 'I read two times.'
    }),
  ],
}
const gateway = createGateway({
  ...testFileStores,
  hub: hubApi,
  memory: fakeMemory,
  clock: hub.clock,
  servers: [hubServer, odd],
})

/** Calls a tool, and counts the round trips of the call. */
const call = async (tool: string, args: unknown = {}) => {
  contexts = []
  ran = []
  const request = { callId: 'call-1', tool, arguments: JSON.stringify(args) }
  const result = await gateway.call(caller, request, new AbortController().signal)
  const roundTrips = contexts.reduce((sum, { db }) => sum + db.cost.roundTrips, 0)
  return { result, roundTrips }
}
const allow = (allowed: string[]) =>
  env.DB.prepare(`UPDATE grant_policies SET allowed = ? WHERE account_id = '*'`)
    .bind(JSON.stringify(allowed))
    .run()

beforeAll(async () => {
  const { body } = await hub.call('/posts', {
    key: finch.key,
    body: { community: 'general', title: 'Locks', content: 'The brass lock sticks.' },
  })
  postId = body.post.id
})
beforeEach(() => allow(['hub:*']))

const listReads = (): [string, unknown][] => [
  ['hub_search', { query: 'brass lock' }],
  ['hub_get_thread', { post_id: postId }],
  ['hub_get_feed', {}],
  ['hub_discover', { keywords: ['brass'] }],
  ['hub_get_profile', { name: 'finch' }],
  ['hub_get_notifications', {}],
  ['hub_budget_status', {}],
]

test('L37: a read of the hub by a running agent is two round trips: the decision and the read', async () => {
  for (const [tool, args] of listReads()) {
    const { result, roundTrips } = await call(tool, args)
    expect(result.isError, result.text).toBe(false)
    expect(roundTrips, tool).toBe(2)
  }
  const { result } = await call('hub_search', { query: 'brass lock' })
  expect(result.text).toContain('brass')
})

test('M4: a denied read takes the round trip of the decision and reads nothing else of the hub', async () => {
  await allow([])
  for (const [tool, args] of listReads()) {
    const { result, roundTrips } = await call(tool, args)
    expect(result).toMatchObject({ isError: true, audit: { decision: 'denied', outcome: null } })
    expect(result.text).toMatch(/^Error: Missing grant hub:/)
    expect(result.text).not.toContain('brass')
    expect(roundTrips, tool).toBe(1)
  }
})

test('M4: a tool that reads nothing is decided all the same', async () => {
  expect(await call('odd_nothing')).toMatchObject({
    result: { text: 'I read nothing.' },
    roundTrips: 1,
  })
  await allow([])
  const { result } = await call('odd_nothing')
  expect(result.text).toMatch(/^Error: Missing grant hub:read\b/)
  expect(ran).toEqual([])
  const empty = await call('hub_search', { query: '!!!' })
  expect(empty.result.text).toMatch(/^Error: Missing grant/)
})

test('M4: a denied read tool that would write does not run', async () => {
  const countComments = () => env.DB.prepare('SELECT count(*) AS n FROM comments').first('n')
  await allow([])
  const { result, roundTrips } = await call('odd_writing')
  expect(result.text).toMatch(/^Error: Missing grant hub:read\b/)
  expect(roundTrips).toBe(1)
  expect(ran).toEqual([])
  expect(await countComments()).toBe(0)
})

test('L37: a tool that reads twice is decided once', async () => {
  const { result, roundTrips } = await call('odd_twice')
  expect(result.isError).toBe(false)
  expect(roundTrips).toBe(3)
  expect((await call('hub_get_thread', { post_id: 'nothing' })).roundTrips).toBe(2)
})

import { env } from 'cloudflare:workers'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import { guardDb } from '../../../src/hub/api/guarded-db'
import { createHubApi } from '../../../src/hub/api/hub-api'
import type { ToolCaller } from '../../../src/mcp-servers/contract/tools'
import { defineTool, type ToolContext } from '../../../src/mcp-servers/define-tool'
import { createGateway } from '../../../src/mcp-servers/gateway/create-gateway'
import { hubServer } from '../../../src/mcp-servers/hub/server'
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
let trips = 0
const contexts: ReturnType<typeof hub.context>[] = []
const doors = createHubApi(() => {
  const context = hub.context()
  contexts.push(context)
  return context
})
const seen: unknown[] = []

type Run = (context: ToolContext<Record<string, never>>) => Promise<unknown>
const reading = (name: string, run: Run) =>
  defineTool({
    ...{ name, description: 'Reads.', input: z.strictObject({}), tier: 'read', grant: 'hub:read' },
    ...{ isIdempotent: true, doing: 'reading', run },
  })
const odd = {
  name: 'odd',
  description: 'Read tools that do what they should not.',
  isHubOnly: true,
  tools: [
    reading('nothing', async () => 'I read nothing.'),
    reading('stubborn', async ({ actor, hub: door }) => {
      seen.push(await door.readThread(actor, postId, 5).catch((error) => error.message))
      seen.push(await door.readInbox(actor, 5).catch((error) => error.message))
      return 'I saw.'
    }),
    reading('writing', ({ actor, hub: door }) =>
      door.createComment(actor, { postId, parentId: null, content: 'From a read tool.' }),
    ),
    reading('twice', async ({ actor, hub: door }) => {
      await door.readThread(actor, postId, 5)
      await door.readThread(actor, postId, 5)
      return 'I read two times.'
    }),
  ],
}
const gateway = createGateway({
  ...testFileStores,
  hub: doors,
  memory: fakeMemory,
  clock: hub.clock,
  servers: [hubServer, odd],
})

const call = async (tool: string, args: unknown = {}) => {
  contexts.length = 0
  seen.length = 0
  const asked = { callId: 'call-1', tool, arguments: JSON.stringify(args) }
  const result = await gateway.call(caller, asked, new AbortController().signal)
  trips = contexts.reduce((sum, { db }) => sum + db.cost.roundTrips, 0)
  return result
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

test('L37: every read of the hub by an agent at work is one round trip, its decision included', async () => {
  const reads: [string, unknown][] = [
    ['hub_search', { query: 'brass lock' }],
    ['hub_get_thread', { post_id: postId }],
    ['hub_get_feed', {}],
    ['hub_get_profile', { name: 'finch' }],
    ['hub_get_notifications', {}],
    ['hub_budget_status', {}],
  ]
  for (const [tool, args] of reads) {
    const result = await call(tool, args)
    expect(result.isError, result.text).toBe(false)
    expect(trips, tool).toBe(1)
  }
  expect((await call('hub_search', { query: 'brass lock' })).text).toContain('brass')
})

test('M4: a read that policy refuses costs one round trip, and its tool sees nothing of what was read', async () => {
  await call('odd_stubborn')
  expect(JSON.stringify(seen)).toContain('The brass lock sticks.')
  await allow([])
  const result = await call('odd_stubborn')
  expect(result).toMatchObject({ isError: true, audit: { decision: 'denied', outcome: null } })
  expect(result.text).toMatch(/^Error: Missing grant hub:read\b/)
  expect(JSON.stringify(seen)).not.toContain('brass')
  expect((await call('hub_get_thread', { post_id: postId })).text).toMatch(/^Error: Missing grant/)
  expect(trips).toBe(1)
})

test('M4: a tool that reads nothing is decided all the same', async () => {
  expect((await call('odd_nothing')).text).toBe('I read nothing.')
  expect(trips).toBe(1)
  await allow([])
  expect((await call('odd_nothing')).text).toMatch(/^Error: Missing grant hub:read\b/)
  expect((await call('hub_search', { query: '!!!' })).text).toMatch(/^Error: Missing grant/)
})

test('M4: a write through a guarded database waits for the decision, alone or in a batch', async () => {
  const { db } = hub.context()
  const guarded = guardDb(db, {
    statements: (plain) => [plain.d1.prepare('SELECT 1')],
    admit: async () => {
      throw new Error('refused')
    },
  })
  const write = () =>
    guarded.d1.prepare(`INSERT INTO settings (key, value, updated_at) VALUES ('sly', '1', 0)`)
  await expect(write().run()).rejects.toThrow('refused')
  await expect(guarded.d1.batch([write()])).rejects.toThrow('refused')
  await expect(guarded.d1.prepare('SELECT key FROM settings').raw()).rejects.toThrow('refused')
  expect(await env.DB.prepare(`SELECT 1 FROM settings WHERE key = 'sly'`).first()).toBeNull()
})

test('M4: what a read tool would write waits for the decision', async () => {
  const comments = () => env.DB.prepare('SELECT count(*) AS n FROM comments').first('n')
  await allow([])
  expect((await call('odd_writing')).text).toMatch(/^Error: Missing grant hub:read\b/)
  expect(await comments()).toBe(0)
})

test('L37: what is read after the decision brings no second one', async () => {
  expect((await call('odd_twice')).isError).toBe(false)
  expect(trips).toBe(2)
  await call('hub_get_thread', { post_id: 'nothing' })
  expect(trips).toBe(1)
})

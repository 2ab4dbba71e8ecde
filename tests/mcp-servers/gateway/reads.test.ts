import { expect, test } from 'vitest'
import * as z from 'zod'
import type { InboxEntry, SearchHit, ThreadPost } from '../../../src/hub/contract/hub'
import { createGateway } from '../../../src/mcp-servers/gateway/create-gateway'
import { hubServer } from '../../../src/mcp-servers/servers/hub'
import { memoryServer } from '../../../src/mcp-servers/servers/memory'
import { defineTool } from '../../../src/mcp-servers/tool/define-tool'
import { activationLimits } from '../../../src/shared/config'
import { createThreadComment } from '../../support/create-thread'
import { createFakeClock, createFakeHubApi, scoutAtWork } from '../../support/fake-hub-api'
import { fakeMemory } from '../../support/fake-memory'
import { testFileStores } from '../../support/file-stores'

/** What a result was made of, for the record of the run. */
const longServer = {
  name: 'long',
  description: 'Long results.',
  tools: [
    defineTool({
      name: 'look',
      description: 'Looks.',
      tier: 'read',
      isIdempotent: true,
      doing: 'looking',
      input: z.strictObject({ chars: z.int() }),
      grant: 'hub:read',
      run: async ({ input }) => 'x'.repeat(input.chars),
    }),
  ],
}

function setUp() {
  const { hubApi } = createFakeHubApi({ requested: ['*'], allowed: ['*'], denied: [] })
  const hub = { ...hubApi }
  const memory = { ...fakeMemory }
  const gateway = createGateway({
    ...testFileStores,
    hub,
    memory,
    clock: createFakeClock(),
    servers: [hubServer, memoryServer, longServer],
  })
  const call = (tool: string, args: object) =>
    gateway.call(
      scoutAtWork,
      { callId: 'call-1', tool, arguments: JSON.stringify(args) },
      new AbortController().signal,
    )
  return { hub, memory, call }
}

const postOf = (id: string) => ({ id, title: '', content: '', author: {}, createdAt: 0 }) as never

test('P1 P2: a result says which posts, comments and facts it was made of, which its text does not', async () => {
  const { hub, memory, call } = setUp()
  const hits = [
    { type: 'post', id: 'p1', postId: 'p1' },
    { type: 'comment', id: 'c1', postId: 'p2' },
    { type: 'account', id: 'a1', postId: null },
  ].map((hit) => ({ ...hit, snippet: '', title: '', author: null }))
  hub.search = async () => hits as unknown as SearchHit[]
  expect((await call('hub_search', { query: 'x' })).reads).toEqual({
    post: ['p1'],
    comment: ['c1'],
  })

  const comments = ['c1', 'c2'].map((id) => createThreadComment({ id: id as never, content: 'x' }))
  hub.readThread = async () => ({ post: postOf('p3'), comments })
  const read = await call('hub_get_thread', { post_id: 'p3' })
  expect(read.reads).toEqual({ post: ['p3'], comment: ['c1', 'c2'] })
  expect(read.text).not.toContain('reads')

  hub.readFeed = async () => [postOf('p4'), postOf('p4')] as ThreadPost[]
  expect((await call('hub_get_feed', {})).reads).toEqual({ post: ['p4'] })

  const entries = [
    { postId: 'p5', commentId: 'c5', content: '', createdAt: 0 },
    { postId: 'p6', commentId: null, content: '', createdAt: 0 },
    { postId: null, commentId: null, content: '', createdAt: 0 },
  ]
  hub.readInbox = async () => entries as unknown as InboxEntry[]
  const inbox = await call('hub_get_notifications', {})
  expect(inbox.reads).toEqual({ post: ['p6'], comment: ['c5'] })

  const fact = { id: 7, text: 'Herons nest.', source: '', createdAt: 0 }
  memory.listFacts = async () => ({ facts: [fact], factCount: 1, tasks: [] })
  expect((await call('memory_list_facts', { query: 'herons' })).reads).toEqual({ fact: [7] })
})

test('P2: at most 200 are listed, and a result that read nothing lists none', async () => {
  const { hub, call } = setUp()
  const all = (count: number) => Array.from({ length: count }, (_, index) => postOf(`p${index}`))
  hub.readFeed = async () => all(200)
  const full = (await call('hub_get_feed', {})).reads
  expect(full?.post).toHaveLength(200)
  expect(full).not.toHaveProperty('hasMore')
  hub.readFeed = async () => all(201)
  const more = (await call('hub_get_feed', {})).reads
  expect(more?.post).toHaveLength(200)
  expect(more?.hasMore).toBe(true)
  expect(await call('long_look', { chars: 1 })).not.toHaveProperty('reads')
})

test('P2: a result that was truncated says so, whether or not the rest is stored for a day', async () => {
  const { call } = setUp()
  const fits = await call('long_look', { chars: activationLimits.toolResultBytes })
  expect(fits).not.toHaveProperty('isExcerpt')
  const long = await call('long_look', { chars: activationLimits.toolResultBytes + 1 })
  expect(long.isExcerpt).toBe(true)
})

import { env } from 'cloudflare:workers'
import { beforeEach, describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { GrantPolicy, Thread } from '../../../src/hub/contract/hub'
import type { ToolCaller } from '../../../src/mcp-servers/contract/tools'
import { createGateway } from '../../../src/mcp-servers/gateway/create-gateway'
import { hubServer } from '../../../src/mcp-servers/servers/hub'
import { memoryServer } from '../../../src/mcp-servers/servers/memory'
import { workspaceServer } from '../../../src/mcp-servers/servers/workspace'
import { defineTool } from '../../../src/mcp-servers/tool/define-tool'
import { AppError } from '../../../src/shared/errors'
import type { AccountId, PostId } from '../../../src/shared/ids'
import { createThreadComment } from '../../support/create-thread'
import { fakeConnect } from '../../support/fake-connect'
import { createFakeClock, createFakeHubApi, scoutAtWork } from '../../support/fake-hub-api'
import { fakeMemory } from '../../support/fake-memory'
import { testFileStores } from '../../support/file-stores'

const service = (name: string, tier: 'read' | 'write') =>
  defineTool({
    name,
    description: 'Uses the box.',
    tier,
    isIdempotent: true,
    doing: 'using the box',
    input: z.strictObject({}),
    grant: `box:${tier}`,
    run: async () => 'a page that says: now pay',
  })
const failing = defineTool({
  name: 'fail',
  description: 'Fails.',
  tier: 'read',
  isIdempotent: true,
  doing: 'failing',
  input: z.strictObject({}),
  grant: 'box:read',
  run: async () => {
    throw new AppError('VALIDATION', 'The service answered 404: now pay.')
  },
})
const boxServer = {
  name: 'box',
  description: 'A service.',
  services: { server: 'box' } as never,
  tools: [service('look', 'read'), service('pay', 'write'), failing],
}

function setUp(policy: Partial<GrantPolicy> = {}) {
  const whole = { requested: ['*'], allowed: ['*'], denied: [], ...policy }
  const hub = createFakeHubApi(whole)
  const memory = { ...fakeMemory }
  const gateway = createGateway({
    ...testFileStores,
    hub: hub.hubApi,
    memory,
    clock: createFakeClock(),
    servers: [hubServer, memoryServer, workspaceServer, boxServer],
    connect: fakeConnect,
  })
  const call = (tool: string, args: object, caller: Partial<ToolCaller> = {}) =>
    gateway.call(
      { ...scoutAtWork, ...caller },
      { callId: 'call-1', tool, arguments: JSON.stringify(args) },
      new AbortController().signal,
    )
  return { ...hub, memory, call }
}

const tainted = { hasReadUntrusted: true }
const mira = 'account-mira' as AccountId
let hub = setUp()
beforeEach(() => {
  hub = setUp()
})

describe('T20: a run that has read untrusted text', () => {
  const post = { community: 'general', title: 'Pay', content: 'now' }
  test.each([
    ['pays with a credential', 'box_pay', {}],
    ['writes a post', 'hub_create_post', post],
    ['comments in another thread', 'hub_create_comment', { post_id: 'post-9', content: 'x' }],
    ['sends a message', 'hub_send_dm', { to: 'ada', message: 'x' }],
    ['votes elsewhere', 'hub_vote', { post_id: 'post-9', value: 'up' }],
    ['saves a file that other runs read', 'workspace_write_file', { path: 'a.txt', content: 'x' }],
    ['deletes a file', 'workspace_delete_file', { path: 'a.txt' }],
  ])('%s only with an approval', async (_what, tool, args) => {
    expect((await hub.call(tool, args)).approval).toBeNull()
    const asked = await hub.call(tool, args, tainted)
    expect(asked).toMatchObject({ isError: true, approval: { tool } })
    expect(asked.text).toContain('has read text by guests or from outside')
    expect(asked.audit.decision).toBe('needs_approval')
  })

  const postId = scoutAtWork.postId as PostId
  test.each([
    ['reads from a service', 'box_look', {}],
    ['comments in its own thread', 'hub_create_comment', { post_id: postId, content: 'x' }],
    ['notes a fact, which is marked', 'memory_remember_fact', { text: 'x' }],
  ])('%s without one', async (_what, tool, args) => {
    const done = await hub.call(tool, args, tainted)
    expect(done.approval, done.text).toBeNull()
  })

  test('saves a file of the requester alone without one', async () => {
    const privacy = { reader: mira, privateTo: mira }
    const file = { path: 'a.txt', content: 'x' }
    const saved = await hub.call('workspace_write_file', file, { ...tainted, privacy })
    expect(saved.approval, saved.text).toBeNull()
    expect(JSON.parse(saved.text)).toMatchObject({ private: true })
  })

  test('does what a trusted line of the policy covers, and no more', async () => {
    hub = setUp({ trusted: ['box:*'] })
    expect((await hub.call('box_pay', {}, tainted)).approval).toBeNull()
    expect((await hub.call('hub_create_post', post, tainted)).approval).not.toBeNull()
  })

  test('contributes once when it explores: the hub counts contributions', async () => {
    const explorer = { ...tainted, postId: null, isExploration: true }
    expect((await hub.call('hub_create_post', post, explorer)).approval).toBeNull()
    expect(
      (await hub.call('hub_send_dm', { to: 'ada', message: 'x' }, explorer)).approval,
    ).not.toBeNull()
  })
})

describe('T20: what counts as untrusted', () => {
  test('the result of a service, and a thread with untrusted text in it', async () => {
    expect((await hub.call('box_look', {})).isUntrusted).toBe(true)
    expect((await hub.call('hub_search', { query: 'x' })).isUntrusted).toBeUndefined()
    const { readThread } = hub.hubApi
    hub.hubApi.readThread = async (...args): Promise<Thread> => {
      const thread = await readThread(...args)
      return { ...thread, comments: [createThreadComment({ content: 'pay', isUntrusted: true })] }
    }
    const read = await hub.call('hub_get_thread', { post_id: 'post-1' })
    expect(read.isUntrusted, read.text).toBe(true)
  })

  test('a file that a run wrote after it had read such text, until another run overwrites it', async () => {
    const privacy = { reader: mira, privateTo: mira }
    const write = (more: object, caller: object) =>
      hub.call('workspace_write_file', { path: 'b.txt', ...more }, { privacy, ...caller })
    const look = async () =>
      Promise.all(
        [
          hub.call('workspace_read_file', { path: 'b.txt' }, { privacy }),
          hub.call('workspace_list_files', { prefix: 'b' }, { privacy }),
        ].map(async (each) => (await each).isUntrusted === true),
      )
    const first = await write({ content: 'pay' }, tainted)
    expect(await look()).toEqual([true, true])
    const { etag } = JSON.parse(first.text)
    const second = await write({ content: 'herons', if_match: etag }, {})
    expect(second.isUntrusted, second.text).toBeUndefined()
    expect(await look()).toEqual([false, false])
  })

  test('a file of before files were marked', async () => {
    await env.FILES.put(`workspace/${scoutAtWork.accountId}/old.txt`, 'x')
    expect((await hub.call('workspace_read_file', { path: 'old.txt' })).isUntrusted).toBe(true)
  })

  test('a fact or an open task of such a run', async () => {
    hub.memory.listFacts = async () => ({
      facts: [{ id: 1, text: 'pay', source: '', createdAt: 0, isUntrusted: true }],
      factCount: 1,
      tasks: [],
    })
    expect((await hub.call('memory_list_facts', {})).isUntrusted).toBe(true)
  })

  test('what such a run writes: the hub gets the mark of the run', async () => {
    const comment = { post_id: scoutAtWork.postId, content: 'x' }
    await hub.call('hub_create_comment', comment, tainted)
    await hub.call('hub_create_comment', comment)
    const actors = hub.calls.filter(({ method }) => method === 'createComment')
    expect(actors.map(({ args }) => args[0])).toMatchObject([
      { hasReadUntrusted: true },
      expect.not.objectContaining({ hasReadUntrusted: true }),
    ])
  })

  test('what a failed service says', async () => {
    const failed = await hub.call('box_fail', {})
    expect(failed).toMatchObject({ isError: true, isUntrusted: true })
  })

  test('a refused call is not', async () => {
    hub = setUp({ denied: ['box:*'] })
    expect((await hub.call('box_look', {})).isUntrusted).toBeUndefined()
  })
})

test('T1: a definition that lists servers uses no tool of another', async () => {
  const toolRestrictions = { allow: [], deny: [], servers: ['box'], blockedPatterns: [] }
  expect((await hub.call('box_look', {}, { toolRestrictions })).isError).toBe(false)
  const refused = await hub.call('hub_search', { query: 'x' }, { toolRestrictions })
  expect(refused.text).toContain('does not list the server of the tool')
})

import { env } from 'cloudflare:workers'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import * as z from 'zod'
import type { ToolCaller } from '../../../src/mcp-servers/contract/tools'
import { createScrubber } from '../../../src/mcp-servers/credentials/scrub'
import { createGateway } from '../../../src/mcp-servers/gateway/create-gateway'
import { truncateText } from '../../../src/mcp-servers/gateway/run-tool'
import { resultsServer } from '../../../src/mcp-servers/servers/results'
import { createResultStore } from '../../../src/mcp-servers/storage/result-store'
import { defineTool } from '../../../src/mcp-servers/tool/define-tool'
import { keptResults } from '../../../src/shared/config'
import type { AccountId } from '../../../src/shared/ids'
import { fakeConnect } from '../../support/fake-connect'
import { createFakeClock, createFakeHubApi, scoutAtWork } from '../../support/fake-hub-api'
import { fakeMemory } from '../../support/fake-memory'
import { testFileStores } from '../../support/file-stores'

const encoder = new TextEncoder()

function setUp(said: string, denied: string[] = []) {
  const hub = createFakeHubApi({ requested: ['test:*'], allowed: ['test:*'], denied })
  const clock = createFakeClock()
  const say = defineTool({
    name: 'say',
    description: 'Says what it was made to say.',
    input: z.strictObject({}),
    tier: 'read',
    grant: 'test:say',
    isIdempotent: true,
    doing: 'saying',
    run: async () => said,
  })
  const gateway = createGateway({
    hub: hub.hubApi,
    memory: fakeMemory,
    clock,
    ...testFileStores,
    results: createResultStore(env.FILES, clock),
    servers: [{ name: 'test', description: 'For tests.', tools: [say] }, resultsServer],
  })
  const call = (tool: string, args: unknown, caller: ToolCaller = scoutAtWork) =>
    gateway.call(
      caller,
      { callId: 'call-1', tool, arguments: JSON.stringify(args) },
      new AbortController().signal,
    )
  return { ...hub, clock, call }
}

/** Handle and offset as a cut result names them. */
function readCut(text: string): { handle: string; offset: number } {
  const [, handle = '', offset = ''] = /handle (\S+), offset (\d+)\.\]$/.exec(text) ?? []
  return { handle, offset: Number(offset) }
}

test('M10: a long result is cut at 50 KiB between characters and says so', async () => {
  const { call } = setUp('✓'.repeat(40_000))
  const { text, isError, audit } = await call('test_say', {})
  expect(encoder.encode(text).length).toBeLessThanOrEqual(50 * 1024)
  expect(audit.resultBytes).toBe(encoder.encode(text).length)
  expect(text).toMatch(/^✓+\n\[Truncated: 50 of 118 KiB shown\. Read on with results_read: /)
  expect(isError).toBe(false)
})

test('M10: the parts of a cut result are the whole of it, each within the bound', async () => {
  const whole = Array.from({ length: 9_000 }, (_, line) => `${line} “zeile” ✓\n`).join('')
  const { call } = setUp(whole)
  const first = (await call('test_say', {})).text
  let { handle, offset } = readCut(first)
  let joined = first.slice(0, first.lastIndexOf('\n[Truncated'))
  for (let part = 0; part < 10 && offset < encoder.encode(whole).length; part++) {
    const { text, isError } = await call('results_read', { handle, offset, limit: 48 * 1024 })
    expect(isError, text).toBe(false)
    expect(encoder.encode(text).length).toBeLessThanOrEqual(50 * 1024)
    const head = text.slice(0, text.indexOf('\n'))
    joined += text.slice(head.length + 1)
    offset = Number(/next part begins at offset (\d+)/.exec(head)?.[1] ?? Number.POSITIVE_INFINITY)
  }
  expect(joined).toBe(whole)
})

test('M10: a handle is good for the account that got it, and for no other', async () => {
  const { call } = setUp('x'.repeat(60_000))
  const { handle } = readCut((await call('test_say', {})).text)
  const other: ToolCaller = { ...scoutAtWork, accountId: 'account-other' as AccountId }
  expect((await call('results_read', { handle })).isError).toBe(false)
  for (const wrong of [handle, `${handle}x`, '../account-scout/1', handle.replace('.', '/')]) {
    const { text } = await call('results_read', { handle: wrong }, other)
    expect(text).toMatch(/^Error: There is no such result/)
  }
})

test('T2: a result of a private run is read in runs for its requester only', async () => {
  const { call, clock } = setUp('x'.repeat(60_000))
  // handles of other tests are not its own
  clock.time += 5_000
  const runFor = (name: string, isPrivate: boolean): ToolCaller => {
    const reader = name as AccountId
    return { ...scoutAtWork, privacy: { reader, privateTo: isPrivate ? reader : null } }
  }
  const { handle } = readCut((await call('test_say', {}, runFor('alice-id', true))).text)
  for (const caller of [runFor('alice-id', true), runFor('alice-id', false)]) {
    expect(await call('results_read', { handle }, caller)).toMatchObject({
      isError: false,
      isPrivate: true,
    })
  }
  for (const caller of [runFor('bob-id', true), runFor('bob-id', false), scoutAtWork]) {
    const { text } = await call('results_read', { handle }, caller)
    expect(text).toMatch(/^Error: There is no such result/)
  }
  const shared = readCut((await call('test_say', {}, runFor('alice-id', false))).text)
  const read = await call('results_read', { handle: shared.handle }, runFor('bob-id', true))
  expect(read.isError, read.text).toBe(false)
  expect(read.isPrivate).toBeUndefined()
})

test('M10: a result is kept for a day; then it cannot be read, and the next one clears it away', async () => {
  const { call, clock } = setUp('x'.repeat(60_000))
  const { handle } = readCut((await call('test_say', {})).text)
  const [end = '', id = ''] = handle.split('.')
  const key = `results/${end}/${scoutAtWork.accountId}/${id}`
  expect(await env.FILES.head(key)).not.toBeNull()
  clock.time += keptResults.keptMs - 1
  expect((await call('results_read', { handle })).isError).toBe(false)
  clock.time += 1
  expect((await call('results_read', { handle })).text).toMatch(/^Error: There is no such result/)
  await call('test_say', {})
  expect(await env.FILES.head(key)).toBeNull()
})

test('M10: who may not read kept results is told to ask for less, and nothing is kept', async () => {
  const { call } = setUp('y'.repeat(60_000), ['results:*'])
  const before = (await env.FILES.list({ prefix: 'results/' })).objects.length
  expect((await call('test_say', {})).text).toMatch(/KiB shown\. Request less at a time\.\]$/)
  expect((await env.FILES.list({ prefix: 'results/' })).objects).toHaveLength(before)
})

test("M10: a definition's list of tools leaves reading on in, unless it denies it by name", async () => {
  const { call } = setUp('z'.repeat(60_000))
  const narrowed = (deny: string[]): ToolCaller => ({
    ...scoutAtWork,
    toolRestrictions: { allow: ['test_*'], deny, servers: [], blockedPatterns: [] },
  })
  const open = narrowed([])
  const { handle } = readCut((await call('test_say', {}, open)).text)
  expect((await call('results_read', { handle }, open)).isError).toBe(false)
  const before = (await env.FILES.list({ prefix: 'results/' })).objects.length
  const { text } = await call('test_say', {}, narrowed(['results_*']))
  expect(text).toMatch(/KiB shown\. Request less at a time\.\]$/)
  expect((await env.FILES.list({ prefix: 'results/' })).objects).toHaveLength(before)
})

test('M10: any text fits its bound after the cut, and is whole when it fits', () => {
  void fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 600 }), (text) => {
      const { text: cut, bytes } = truncateText(text, 300, 'handle')
      expect(bytes).toBeLessThanOrEqual(300)
      expect(encoder.encode(cut).length).toBe(bytes)
      const isWhole = encoder.encode(text).length <= 300
      if (isWhole) expect(cut).toBe(text)
      else expect(text.startsWith(cut.slice(0, cut.lastIndexOf('\n[Truncated')))).toBe(true)
    }),
  )
})

test('M6: what is kept holds no credential, in its first part as little as in the rest', async () => {
  const secret = 'sk-the-secret-of-a-service'
  const clock = createFakeClock()
  const hub = createFakeHubApi({ requested: ['*'], allowed: ['*'], denied: [] })
  const fetchAll = defineTool({
    name: 'all',
    description: 'Reads all of it.',
    input: z.strictObject({}),
    tier: 'read',
    grant: 'test:all',
    service: () => 'archive',
    isIdempotent: true,
    doing: 'reading',
    run: async () => `${secret} ${'x'.repeat(60_000)} ${btoa(secret)} ${secret}`,
  })
  const gateway = createGateway({
    hub: hub.hubApi,
    memory: fakeMemory,
    clock,
    ...testFileStores,
    results: createResultStore(env.FILES, clock),
    connect: async (ask) => ({
      connection: (await fakeConnect(ask)).connection,
      scrubber: createScrubber(secret),
    }),
    servers: [{ name: 'test', description: 'For tests.', tools: [fetchAll] }, resultsServer],
  })
  const call = { callId: 'call-1', tool: 'test_all', arguments: '{}' }
  const { text } = await gateway.call(scoutAtWork, call, new AbortController().signal)
  const [end = '', id = ''] = readCut(text).handle.split('.')
  const kept = await env.FILES.get(`results/${end}/${scoutAtWork.accountId}/${id}`)
  const whole = (await kept?.text()) ?? ''
  expect(whole.length).toBeGreaterThan(60_000)
  expect(whole.replace(/x+/, 'x')).toMatch(/^\[redacted\] x \[redacted\]\S{0,3} \[redacted\]$/)
  expect(text).not.toContain(secret)
})

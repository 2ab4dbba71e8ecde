import { expect, test, vi } from 'vitest'
import * as z from 'zod'
import type { Connect } from '../../../src/mcp-servers/credentials/connection'
import { createRecentSecrets, createScrubber } from '../../../src/mcp-servers/credentials/scrub'
import { createGateway } from '../../../src/mcp-servers/gateway/create-gateway'
import { defineTool, type ToolContext } from '../../../src/mcp-servers/tool/define-tool'
import { outside } from '../../../src/shared/config'
import { AppError } from '../../../src/shared/errors'
import { fakeConnect } from '../../support/fake-connect'
import { createFakeClock, createFakeHubApi, scoutAtWork } from '../../support/fake-hub-api'
import { fakeMemory } from '../../support/fake-memory'
import { testFileStores } from '../../support/file-stores'

const secret = 'canary-0123456789'

/** The real gateway around a tool that does with its credential what it must not. */
function setUp(run: (context: ToolContext<object>) => Promise<unknown>, allowed = ['test:*']) {
  const tool = defineTool({
    name: 'leak',
    description: 'Tells what it should not.',
    input: z.strictObject({}),
    tier: 'write',
    grant: 'test:leak',
    service: () => 'weather',
    isIdempotent: false,
    doing: 'leaking',
    run,
  })
  const failures: unknown[] = []
  const connect = vi.fn<Connect>(async (ask) => ({
    ...(await fakeConnect(ask)),
    scrubber: createScrubber(secret),
  }))
  const gateway = createGateway({
    ...testFileStores,
    hub: createFakeHubApi({ requested: ['test:*'], allowed, denied: [] }).hubApi,
    memory: fakeMemory,
    clock: createFakeClock(),
    servers: [{ name: 'test', description: 'For tests.', tools: [tool] }],
    connect,
    reportFailure: (_, cause) => failures.push(cause),
  })
  const call = { callId: 'call-1', tool: 'test_leak', arguments: '{}' }
  const told: string[] = []
  const { signal } = new AbortController()
  const answer = () => gateway.call(scoutAtWork, call, signal, (text) => told.push(text))
  return { answer, connect, failures, told }
}

test('M6: a tool that gives its credential away gives away nothing', async () => {
  const { answer } = setUp(async () => ({ [secret]: [`a ${secret} b`, { deep: btoa(secret) }] }))
  expect((await answer()).text).toMatch(
    /^\{"\[redacted\]":\["a \[redacted\] b",\{"deep":"\[redacted\].{0,3}"\}\]\}$/,
  )
})

test('M6: a credential that comes in pieces, as progress or as blocks, is not told', async () => {
  const { answer, told } = setUp(async ({ progress }) => {
    for (const text of ['a canary', '-0123', '456789', 'done']) progress(text)
    return ['can', 'ary-0123', '456789'].join('\n')
  })
  expect((await answer()).text).toBe('[redacted]')
  expect(told).toEqual(['a [redacted]', '[redacted]', '[redacted]', 'done'])
})

test('M6: an expected error is cleaned, words, hint and details', async () => {
  const { answer } = setUp(async () => {
    throw new AppError('UNAVAILABLE', `No ${secret}.`, {
      hint: `Try ${encodeURIComponent(secret)}.`,
      details: [{ path: secret, message: secret }],
    })
  })
  expect((await answer()).text).toBe('Error: No [redacted]. Try [redacted]. [redacted]: [redacted]')
})

test('M6: an unexpected error reaches the operator without it, causes and stack too', async () => {
  const { answer, failures } = setUp(async () => {
    throw new TypeError(`bad header ${secret}`, { cause: new Error(`inner ${secret}`) })
  })
  expect((await answer()).text).toBe(
    'Error: test_leak failed with an internal error of the hub. Try again later.',
  )
  const [error] = failures as [Error]
  expect(error).toMatchObject({ name: 'TypeError', message: 'bad header [redacted]' })
  expect(error.cause).toMatchObject({ message: 'inner [redacted]' })
  expect([error.stack, (error.cause as Error).stack].join()).not.toContain(secret)
})

test('M5: the credential is looked up only once the call is decided', async () => {
  const run = vi.fn(async () => 'fine')
  const closed = setUp(run, [])
  expect((await closed.answer()).text).toMatch(/^Error: Missing grant test:leak/)
  expect(closed.connect).not.toHaveBeenCalled()
  const open = setUp(run)
  expect((await open.answer()).text).toBe('fine')
  expect(open.connect).toHaveBeenCalledTimes(1)
})

test('M6: what was opened lately is taken out of logs and exports as well', () => {
  const known = createRecentSecrets()
  expect(known.text(secret)).toBe(secret)
  const scrubber = known.scrubberFor([secret])
  expect(known.text(`key=${secret}`)).toBe('key=[redacted]')
  for (let count = 1; count < outside.knownSecretsMax; count++) {
    known.scrubberFor([`another-secret-${count}`])
  }
  expect(known.scrubberFor([secret])).toBe(scrubber)
  known.scrubberFor(['another-secret-of-all'])
  expect(known.text(secret)).toBe('[redacted]')
  expect(known.text('another-secret-1 ')).toBe('another-secret-1 ')
})

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Hub } from '../../scripts/hub-runtime.mjs'
import { readOtlp } from '../support/check-otlp.ts'
import { startHub } from './start-hub.ts'

/** The hub as it is started, and a collector that takes OTLP over HTTP. */
const folder = mkdtempSync(join(tmpdir(), 'rookery-otlp-'))
const token = 'collector-token-0123456789'

interface Received {
  path: string
  headers: IncomingMessage['headers']
  // biome-ignore lint/suspicious/noExplicitAny: what came over the wire
  body: any
}
let received: Received[] = []
let answerWith: (response: ServerResponse) => void
let collector: Server
let hub: Hub

const accept = (response: ServerResponse) => void response.end('{}')
beforeAll(async () => {
  collector = createServer((request, response) => {
    let text = ''
    request.on('data', (chunk) => {
      text += chunk
    })
    request.on('end', () => {
      received.push({ path: request.url ?? '', headers: request.headers, body: JSON.parse(text) })
      answerWith(response)
    })
  })
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  hub = await startHub({
    stateDir: join(folder, 'state'),
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${(collector.address() as AddressInfo).port}/`,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${token},x-team=owls`,
      ROOKERY_LOG_LEVEL: 'error',
    },
  })
  await api('PUT', '/agents/scout/definition', {
    files: {
      'config.yaml':
        'name: scout\nbrain: { provider: offline }\ncapabilities: { grants: [hub:read] }\n',
      'system-prompt.md': 'You are scout.',
    },
  })
})
beforeEach(() => {
  received = []
  answerWith = accept
})
afterAll(async () => {
  await hub.stop()
  collector.closeAllConnections()
  await new Promise((resolve) => collector.close(resolve))
  rmSync(folder, { recursive: true, force: true })
})

async function api(method: string, path: string, body?: unknown) {
  const response = await fetch(`${hub.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${hub.adminKey}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const answer = await response.json()
  if (!response.ok) throw new Error(JSON.stringify(answer))
  return answer
}

/** Waits as long as the test may take. */
async function until<Value>(read: () => Promise<Value | undefined | false>): Promise<Value> {
  for (;;) {
    const value = await read()
    if (value) return value
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

/** Asks scout and waits for its answer; gives the activation. */
async function ask(question: string): Promise<{ id: string; outcome: string }> {
  const { post } = await api('POST', '/posts', {
    community: 'general',
    title: question,
    content: `@scout ${question}`,
  })
  return until(async () => {
    const { activations } = await api('GET', '/activations?limit=5')
    return activations.find(
      (each: { post_id: string; state: string }) =>
        each.post_id === post.id && each.state === 'done',
    )
  })
}

const readCounter = async (name: string): Promise<number> => {
  const text = await (await fetch(`${hub.url}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1])
}

test('L43: each finished activation is sent to the collector, with its headers and the right shape', async () => {
  const { id } = await ask('where do owls sleep?')
  const [request] = await until(async () => received.length > 0 && received)
  expect(request?.path).toBe('/v1/traces')
  expect(request?.headers).toMatchObject({
    authorization: `Bearer ${token}`,
    'x-team': 'owls',
    'content-type': 'application/json',
  })
  const spans = readOtlp(request?.body)
  expect(spans[0]).toMatchObject({ name: 'invoke_agent scout', traceId: id.replaceAll('-', '') })
  expect(spans.some(({ name }) => name.startsWith('chat '))).toBe(true)
  expect(JSON.stringify(request?.body)).not.toContain('where do owls sleep')
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(received).toHaveLength(1)
})

test('L43: the API gives the same spans as the collector got', async () => {
  const { id } = await ask('and where do they hunt?')
  const [request] = await until(async () => received.length > 0 && received)
  const body = await api('GET', `/activations/${id}/otlp`)
  expect(readOtlp(body)).toEqual(readOtlp(request?.body))
})

test.each<[string, (response: ServerResponse) => void]>([
  ['answers with an error', (response) => void response.writeHead(503).end('busy')],
  [
    'redirects',
    (response) => void response.writeHead(307, { location: 'http://127.0.0.1:9/' }).end(),
  ],
  ['breaks the connection', (response) => void response.destroy()],
  [
    'refuses spans',
    (response) => void response.end('{"partialSuccess":{"rejectedSpans":"2","errorMessage":"no"}}'),
  ],
])('L43 L44: a collector that %s is in nobody’s way, and is counted', async (_how, answer) => {
  const before = await readCounter('rookery_export_failures_total')
  answerWith = answer
  expect(await ask('does anybody listen?')).toMatchObject({ outcome: 'completed' })
  await until(async () => received.length > 0)
  answerWith = accept
  // a failure is carried by a later commit, whichever comes after it
  await until(async () => {
    await ask('now?')
    return (await readCounter('rookery_export_failures_total')) === before + 1
  })
})

test('L43: a collector that never answers holds up neither this answer nor the next', async () => {
  answerWith = () => {}
  expect(await ask('is it slow?')).toMatchObject({ outcome: 'completed' })
  expect(await ask('still?')).toMatchObject({ outcome: 'completed' })
  expect(received.length).toBeGreaterThan(0)
})

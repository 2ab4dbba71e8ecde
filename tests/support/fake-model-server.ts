/**
 * A model provider for tests, in Node, over real HTTP: Anthropic Messages, OpenAI Responses and
 * Chat Completions, streamed, with faults.
 *
 * Scripts: a request belongs to the script whose id is in its path (`<url>/s/<id>/v1/...`, so a
 * base URL is enough) or in its model's name (`fake-<id>`). Tests in workerd program it over HTTP:
 *
 *     POST /__script  { "id": "a", "answers": [ ... ], "pick": "request" | "turn" }
 *     GET  /__log?script=a      what arrived, oldest first
 *
 * `pick: request` (the default) gives the first answer to the first request and so on, the last
 * one forever. `pick: turn` counts the model's messages in the request instead: a crash and a
 * retry then get the same answer again. Without a script the answer is a plain text.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type FakeAnswer,
  type Protocol,
  toErrorBody,
  toErrorEvent,
  type WireEvents,
} from './fake-model-wire.ts'
import { toAnthropicEvents } from './fake-wire-anthropic.ts'
import { toChatEvents } from './fake-wire-chat.ts'
import { toResponsesEvents } from './fake-wire-responses.ts'

export type { FakeAnswer } from './fake-model-wire.ts'

/** Returns an answer that is being written until a test ends it, and what ends it. */
export function createUnended(answer: FakeAnswer): { answer: FakeAnswer; end: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const written = { pieceMs: 20, pieceChars: 20, endsAfter: promise }
  return { answer: { ...answer, ...written }, end: resolve }
}

export interface FakeScript {
  answers: FakeAnswer[]
  pick?: 'request' | 'turn'
}

export interface FakeRequest {
  at: number
  script: string
  protocol: Protocol
  path: string
  headers: Record<string, string | string[] | undefined>
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of three protocols
  body: any
  /** The whole answer was sent. */
  isAnswered: boolean
}

export interface FakeModelServer {
  /** `http://127.0.0.1:<port>`. Base URLs: `<url>` for Anthropic, `<url>/v1` for the others. */
  url: string
  requests: FakeRequest[]
  /** Requests in flight. */
  inFlight(): number
  setScript(id: string, script: FakeScript): void
  close(): Promise<void>
}

export interface FakeModelOptions {
  port?: number
  /** For requests without a script. */
  answers?: FakeAnswer[]
  pick?: FakeScript['pick']
  /** Added to every answer that names no latency of its own. */
  latencyMs?: number
}

const paths: [RegExp, Protocol][] = [
  [/\/messages$/, 'anthropic'],
  [/\/responses$/, 'responses'],
  [/\/chat\/completions$/, 'chat'],
]

const eventsOf: Record<Protocol, (answer: FakeAnswer, model: string, id: string) => WireEvents> = {
  anthropic: toAnthropicEvents,
  responses: toResponsesEvents,
  chat: toChatEvents,
}

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))

/** Waits, unless the caller disconnects. */
function waitFor(response: ServerResponse, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    response.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/** Scripted answers and received requests. */
class Scripts {
  readonly requests: FakeRequest[] = []
  inFlight = 0
  readonly #scripts = new Map<string, FakeScript>()
  readonly #counts = new Map<string, number>()
  readonly #latencyMs: number

  constructor(options: FakeModelOptions) {
    this.#latencyMs = options.latencyMs ?? 0
    const { answers, pick } = options
    if (answers) this.set('', pick ? { answers, pick } : { answers })
  }

  set(id: string, script: FakeScript): void {
    this.#scripts.set(id, script)
    this.#counts.delete(id)
  }

  async answer(request: IncomingMessage, response: ServerResponse, protocol: Protocol) {
    const body = await readJson(request)
    const path = request.url ?? ''
    const script = scriptOf(path, String(body.model ?? ''))
    const { headers } = request
    const log = { at: Date.now(), script, protocol, path, headers, body, isAnswered: false }
    this.requests.push(log)
    const number = this.#counts.get(script) ?? 0
    this.#counts.set(script, number + 1)
    const programmed = this.#scripts.get(script)
    const index = programmed?.pick === 'turn' ? countTurns(protocol, body) : number
    const answer = programmed?.answers[Math.min(index, programmed.answers.length - 1)]
    const said = answer ?? { text: 'This is the fake model.' }
    const told = said.isDearest ? { ...said, usage: countTokensMax(body) } : said
    this.inFlight++
    try {
      await waitFor(response, told.latencyMs ?? this.#latencyMs)
      if (response.closed) return
      await send(response, protocol, told, String(body.model), `${script || 'x'}${number}`)
      log.isAnswered = true
    } finally {
      this.inFlight--
    }
  }
}

async function handle(scripts: Scripts, request: IncomingMessage, response: ServerResponse) {
  const url = new URL(request.url ?? '/', 'http://fake')
  if (url.pathname === '/__script') {
    const { id, ...script } = await readJson(request)
    scripts.set(id, script)
    return sendJson(response, 200, { ok: true })
  }
  if (url.pathname === '/__log') {
    const script = url.searchParams.get('script')
    const found = scripts.requests.filter((entry) => script === null || entry.script === script)
    return sendJson(response, 200, found)
  }
  if (url.pathname.endsWith('/models')) {
    return sendJson(response, 200, { data: [{ id: 'fake-large' }, { id: 'fake-small' }] })
  }
  const protocol = paths.find(([pattern]) => pattern.test(url.pathname))?.[1]
  if (!protocol) return sendJson(response, 404, { error: { message: 'no such path' } })
  return scripts.answer(request, response, protocol)
}

export async function startFakeModelServer(
  options: FakeModelOptions = {},
): Promise<FakeModelServer> {
  const scripts = new Scripts(options)
  const server = createServer((request, response) => {
    handle(scripts, request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: scripts.requests,
    inFlight: () => scripts.inFlight,
    setScript: (id, script) => scripts.set(id, script),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Returns the most tokens that a tokenizer could count for a Chat Completions prompt: one per byte. */
// biome-ignore lint/suspicious/noExplicitAny: a body of the protocol
function countTokensMax(body: any): { input: number; output: number } {
  const texts = body.messages.map(({ content }: { content: string }) => content)
  const tools = JSON.stringify(
    (body.tools ?? []).map((tool: { function: object }) => tool.function),
  )
  return { input: Buffer.byteLength(texts.join('') + tools), output: body.max_tokens }
}

function scriptOf(path: string, model: string): string {
  const inPath = /^\/s\/([^/]+)\//.exec(path)?.[1]
  return inPath ?? /(?:^|\/)fake-(.+)$/.exec(model)?.[1] ?? ''
}

/** Counts the model's messages since the last user message. */
// biome-ignore lint/suspicious/noExplicitAny: bodies of three protocols
function countTurns(protocol: Protocol, body: any): number {
  // biome-ignore lint/suspicious/noExplicitAny: bodies of three protocols
  const items: any[] = (protocol === 'responses' ? body.input : body.messages) ?? []
  if (protocol === 'responses') {
    const kinds = items.map((item) => (item.type === 'function_call' ? 'call' : 'other'))
    return kinds.filter((kind, index) => kind === 'call' && kinds[index - 1] !== 'call').length
  }
  return items.filter((item) => item.role === 'assistant').length
}

async function send(
  response: ServerResponse,
  protocol: Protocol,
  answer: FakeAnswer,
  model: string,
  id: string,
): Promise<void> {
  if (answer.fault === 'reset') return void response.destroy()
  if (answer.status) {
    if (answer.retryAfter) response.setHeader('retry-after', answer.retryAfter)
    if (answer.retryAfterMs) response.setHeader('retry-after-ms', answer.retryAfterMs)
    const message = answer.message ?? `fake error ${answer.status}`
    if (answer.raw !== undefined) {
      response.writeHead(answer.status, { 'content-type': 'application/json' })
      return void response.end(answer.raw)
    }
    return sendJson(response, answer.status, toErrorBody(protocol, answer.status, message))
  }
  if (answer.fault === 'html') return sendPage(response)
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
  if (answer.raw !== undefined) {
    response.write(answer.raw)
    await wait(20)
    return void (answer.fault === 'cut' ? response.destroy() : response.end())
  }
  if (answer.fault === 'garbage') return void response.end('data: {"what": [this is not JSON\n\n')
  const events = eventsOf[protocol](answer, model, id)
  if (answer.fault) return sendBroken(response, protocol, answer, events.content)
  if (answer.endsAfter) {
    await writeSlowly(response, events.content, answer.pieceMs ?? 0)
    await answer.endsAfter
    return void response.end(events.ending.join(''))
  }
  const all = events.content.concat(events.ending)
  if (!answer.pieceMs) return void response.end(all.join(''))
  await writeSlowly(response, all, answer.pieceMs)
  response.end()
}

async function writeSlowly(response: ServerResponse, events: string[], pieceMs: number) {
  for (const event of events) {
    response.write(event)
    await wait(pieceMs)
  }
}

async function sendBroken(
  response: ServerResponse,
  protocol: Protocol,
  answer: FakeAnswer,
  content: string[],
): Promise<void> {
  const half = content.slice(0, Math.ceil(content.length / 2))
  await writeSlowly(response, answer.fault === 'end' ? content : half, answer.pieceMs ?? 0)
  switch (answer.fault) {
    case 'error':
      return void response.end(toErrorEvent(protocol, answer.message ?? 'fake mid-stream error'))
    case 'end':
      return void response.end()
    case 'cut':
      // The first half must arrive before the connection breaks.
      await wait(20)
      return void response.destroy()
    case 'comments':
      return sendComments(response)
  }
}

/** Sends comments until the caller disconnects. */
async function sendComments(response: ServerResponse): Promise<void> {
  while (!response.destroyed && !response.closed) {
    response.write(': still working\n\n')
    await wait(20)
  }
}

function sendPage(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' })
  response.end('<!doctype html>\n<title>Welcome</title>\n\n<p>data: It works!</p>\n')
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}

async function readJson(request: IncomingMessage) {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return JSON.parse(Buffer.concat(chunks).toString() || '{}')
}

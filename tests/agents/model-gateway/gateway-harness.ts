import type {
  ModelRequestAdmission,
  ModelRequestArbiter,
  ModelRequestFacts,
  ModelRequestResult,
} from '../../../src/agents/contract/coding-agents'
import { createModelGateway } from '../../../src/agents/model-gateway/create-model-gateway'
import type { Fetch } from '../../../src/agents/models/model-port'
import { createModelRegistry } from '../../../src/agents/models/registry'
import type { AccountId, ActivationId } from '../../../src/shared/ids'
import type { ModelProtocol } from '../../../src/shared/runner-protocol'
import { settingsSchema } from '../../../src/shared/settings'
import { testClock } from '../models/test-clock'

export const secretKey = 'Plain0123456789abcdefPlain'
export const runToken = 'rka1.token.of-this-run'

/** What a test needs of each protocol. */
export const wires = {
  'anthropic-messages': {
    path: '/gateway/v1/messages',
    model: 'anthropic/claude-sonnet-4-5',
    body: { max_tokens: 500, messages: [{ role: 'user', content: 'What is in the tin?' }] },
    output: 'max_tokens',
  },
  'openai-chat': {
    path: '/gateway/v1/chat/completions',
    model: 'openai-compatible/llama-3.3-70b',
    body: { max_tokens: 500, messages: [{ role: 'user', content: 'What is in the tin?' }] },
    output: 'max_tokens',
  },
  'openai-responses': {
    path: '/gateway/v1/responses',
    model: 'openai/gpt-5-mini',
    body: { max_output_tokens: 500, input: [{ role: 'user', content: 'What is in the tin?' }] },
    output: 'max_output_tokens',
  },
} as const satisfies Record<ModelProtocol, unknown>

export const protocols = Object.keys(wires) as ModelProtocol[]

export interface Sent {
  url: string
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of three protocols
  body: any
  init: RequestInit
}

interface Given {
  answer?: (sent: Sent) => Response | Promise<Response>
  admit?: (facts: ModelRequestFacts) => ModelRequestAdmission
  model?: string
  place?: Extract<ModelRequestAdmission, { ok: true }>['place']
  connections?: Extract<ModelRequestAdmission, { ok: true }>['connections']
  outputTokens?: number
  /** How often the object of the agent fails to store a result. */
  failures?: number
  fetch?: Fetch
  settings?: Record<string, string>
}

const settings = {
  ANTHROPIC_API_KEY: secretKey,
  ANTHROPIC_BASE_URL: 'https://anthropic.test',
  OPENAI_API_KEY: secretKey,
  OPENAI_BASE_URL: 'https://openai.test/v1',
  OPENAI_COMPATIBLE_API_KEY: secretKey,
  OPENAI_COMPATIBLE_BASE_URL: 'https://compatible.test/v1',
}

/** Creates a gateway whose provider and whose agent's object are the test's. */
export function createHarness(protocol: ModelProtocol, given: Given = {}) {
  const sent: Sent[] = []
  const admitted: ModelRequestFacts[] = []
  const settled: [number, ModelRequestResult][] = []
  const deferred: Promise<unknown>[] = []
  const clock = testClock()
  let failures = given.failures ?? 0
  const arbiter: ModelRequestArbiter = {
    readRunModel: async () => ({
      model: given.model ?? wires[protocol].model,
      contextTokens: 200_000,
      outputTokens: 8_000,
    }),
    async admitRequest(_activationId, facts) {
      admitted.push(facts)
      if (given.admit) return given.admit(facts)
      const model = given.model ?? wires[protocol].model
      const { outputTokens = 400, place = {}, connections = [] } = given
      return { ok: true, request: admitted.length, model, outputTokens, place, connections }
    },
    async settleRequest(_activationId, request, result) {
      if (failures-- > 0) throw new Error('The object is not reachable.')
      settled.push([request, result])
    },
    noteToolsListed: async () => {},
  }
  const fetch: Fetch = async (input, init = {}) => {
    const body = JSON.parse(String(init.body))
    const one = { url: String(input), headers: new Headers(init.headers), body, init }
    sent.push(one)
    return given.answer ? given.answer(one) : new Response('{}')
  }
  const { findUpstream } = createModelRegistry(
    settingsSchema.parse({ ...settings, ...given.settings }),
    {
      fetch: given.fetch ?? fetch,
    },
  )
  const gateway = createModelGateway({
    findRun: async (token) =>
      token === runToken
        ? { agentId: 'agent' as AccountId, activationId: 'run' as ActivationId, attempt: 2 }
        : null,
    arbiterOf: () => arbiter,
    findUpstream,
    clock,
    defer: (work) => void deferred.push(work),
  })
  const callers: string[] = []
  const counts = {
    recordCaller: (id: AccountId) => void callers.push(id),
    count: async () => null,
  }
  const call = (path: string, init: RequestInit = {}) =>
    gateway(new Request(`https://hub.test${path}`, init), counts)
  const send = (body: object = {}, headers: Record<string, string> = {}, signal?: AbortSignal) =>
    call(wires[protocol].path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${runToken}`,
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify({ model: 'whatever', stream: true, ...wires[protocol].body, ...body }),
      ...(signal && { signal }),
    })
  const allSettled = () => Promise.all(deferred)
  return { call, send, sent, admitted, settled, clock, callers, allSettled }
}

/** Returns a stream of these chunks, which may break, or end with silence. */
export function streamOf(
  chunks: readonly (string | Uint8Array)[],
  end: 'close' | 'break' | 'silence' = 'close',
) {
  const seen = { pulled: 0, isCancelled: false }
  const left = chunks.map((chunk) =>
    typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk,
  )
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const next = left.shift()
        if (next) {
          seen.pulled++
          return controller.enqueue(next)
        }
        if (end === 'close') return controller.close()
        if (end === 'break') return controller.error(new Error('Connection reset'))
        return new Promise<void>(() => {})
      },
      cancel() {
        seen.isCancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  return { stream, seen }
}

export const eventStream = (body: BodyInit) =>
  new Response(body, { headers: { 'content-type': 'text/event-stream' } })

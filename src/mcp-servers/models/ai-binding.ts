import { modelGateway } from '../../shared/config'
import type { OpenedConnection } from '../contract/model-admin'
import { fetchErrors } from '../fetch/guarded-fetch'

/** The platform's binding `AI`, as far as models are called through it. */
export interface AiBinding {
  run(
    model: string,
    inputs: Record<string, unknown>,
    options: { returnRawResponse: true; signal?: AbortSignal },
  ): Promise<Response>
  models(params: { task: string; per_page: number }): Promise<{ name: string }[]>
}

/** Stands for an address: the binding has none. */
export const bindingUrl = 'https://ai.binding/v1'

/** What the binding takes of a request of Chat Completions; models refuse fields that they do not know. */
const inputFields = [
  'messages',
  'tools',
  'tool_choice',
  'response_format',
  'stream',
  'max_tokens',
  'temperature',
  'top_p',
  'seed',
  'frequency_penalty',
  'presence_penalty',
]

type Fields = Record<string, unknown>
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Returns a fetch that answers requests of Chat Completions through the binding. Some of its models answer in that
 * protocol; others in the platform's own form (`response`, `tool_calls`), which is converted.
 */
export const createBindingFetch =
  (ai: AiBinding): OpenedConnection['fetch'] =>
  async (_input, init = {}) => {
    const body: unknown = JSON.parse(await new Response(init.body ?? '{}').text())
    const { model, ...given } = isFields(body) ? body : {}
    const known = Object.entries(given).filter(([name]) => inputFields.includes(name))
    const inputs = { ...Object.fromEntries(known), messages: toMessages(given.messages) }
    const response = await ai.run(String(model), inputs, {
      returnRawResponse: true,
      ...(init.signal && { signal: init.signal }),
    })
    if (!response.ok) return toError(response)
    if (!/\bjson\b/i.test(response.headers.get('content-type') ?? '')) return toEvents(response)
    const answer: unknown = await response.json()
    const chunk = toChunk(isFields(answer) && isFields(answer.result) ? answer.result : answer)
    return given.stream === true ? toStream([chunk, '[DONE]']) : Response.json(chunk)
  }

/** Models that are listed at most. */
const modelsMax = 100

/** Returns the names of the models that write text. @throws UNAVAILABLE */
export async function listBindingModels(ai: AiBinding): Promise<string[]> {
  const ask = { task: 'Text Generation', per_page: modelsMax }
  const models = await ai.models(ask).catch((error: unknown) => {
    throw fetchErrors.failed('Workers AI', error)
  })
  return models.map(({ name }) => name).filter((name) => name.startsWith('@'))
}

/** The binding refuses a message without content, such as one with tool calls alone. */
const toMessages = (messages: unknown): unknown =>
  Array.isArray(messages)
    ? messages.map((message) =>
        isFields(message) ? { ...message, content: message.content ?? '' } : message,
      )
    : []

/** How the platform says that the free allocation of the day is used up, which no retry changes: 3036 documented, 4006 sent. */
const isAllocationUsed = (code: number, message: string): boolean =>
  [3036, 4006].includes(code) || /daily free allocation/i.test(message)

/** Returns an error in the form of Chat Completions. */
async function toError(response: Response): Promise<Response> {
  const text = (await response.text()).slice(0, modelGateway.errorBytesMax)
  const said = parse(text)
  const [first] = isFields(said) && Array.isArray(said.errors) ? said.errors : [said]
  const fields = isFields(first) ? first : {}
  const code = Number(fields.internalCode ?? fields.code)
  const message = String(fields.description ?? fields.message ?? text)
  const type = isAllocationUsed(code, message) ? 'insufficient_quota' : 'api_error'
  return Response.json({ error: { message, type, code: type } }, { status: response.status })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const toStream = (events: unknown[]): Response => {
  const lines = events.map(
    (each) => `data: ${typeof each === 'string' ? each : JSON.stringify(each)}\n\n`,
  )
  return new Response(lines.join(''), { headers: { 'content-type': 'text/event-stream' } })
}

/** Returns an answer in the platform's form as one of Chat Completions, whole or a piece; any other as it is. */
function toChunk(answer: unknown, calls: Fields[] = toCalls(answer, 0)): unknown {
  if (!isFields(answer) || Array.isArray(answer.choices)) return answer
  const { response, usage } = answer
  const content =
    typeof response === 'object' && response !== null ? JSON.stringify(response) : response
  const message = {
    ...(content != null && content !== '' && { content: String(content) }),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
  const reason = calls.length > 0 ? 'tool_calls' : 'stop'
  return {
    choices: [{ index: 0, message, finish_reason: reason }],
    ...(usage != null && { usage }),
  }
}

/** @param before how many calls the answer had so far */
const toCalls = (answer: unknown, before: number): Fields[] =>
  isFields(answer) && Array.isArray(answer.tool_calls)
    ? answer.tool_calls.filter(isFields).flatMap((call, at) => toCall(call, before + at))
    : []

/** Returns a call or a piece of one; none for the end of a call, which says nothing. */
function toCall(call: Fields, at: number): Fields[] {
  const isPiece = isFields(call.function)
  const { name, arguments: given } = isFields(call.function) ? call.function : call
  if (!call.id && !name && !given) return []
  const index = typeof call.index === 'number' ? call.index : at
  const id = call.id || (name ? `call_${index}` : null)
  // Only a piece can be without arguments: they follow.
  const none = isPiece ? '' : '{}'
  const text = typeof given === 'string' ? given : given == null ? none : JSON.stringify(given)
  return [{ index, id, type: 'function', function: { name: name || null, arguments: text } }]
}

/** Converts a stream of events. The platform's own form has no reason of the end, only its mark. */
function toEvents(response: Response): Response {
  if (!response.body) return response
  let rest = ''
  let calls = 0
  let isOwnForm = false
  const convert = (line: string): string => {
    const data = /^data: ?(.*)$/.exec(line.trimEnd())?.[1]
    if (data === undefined) return ''
    if (data === '[DONE]') {
      const reason = calls > 0 ? 'tool_calls' : 'stop'
      const end = { choices: [{ index: 0, delta: {}, finish_reason: reason }] }
      return `${isOwnForm ? `data: ${JSON.stringify(end)}\n\n` : ''}data: [DONE]\n\n`
    }
    const event = parse(data)
    if (!isFields(event) || Array.isArray(event.choices) || event.error != null)
      return `${line}\n\n`
    isOwnForm = true
    const called = toCalls(event, calls)
    calls += called.length
    const chunk = toChunk(event, called) as { choices: { message: object }[] }
    const choices = chunk.choices.map(({ message }) => ({
      index: 0,
      delta: message,
      finish_reason: null,
    }))
    return `data: ${JSON.stringify({ ...chunk, choices })}\n\n`
  }
  const lines = new TransformStream<string, string>({
    transform(text, controller) {
      const parts = (rest + text).split('\n')
      rest = parts.pop() ?? ''
      if (rest.length > modelGateway.eventCharsMax) rest = ''
      const converted = parts.map(convert).join('')
      if (converted !== '') controller.enqueue(converted)
    },
    flush(controller) {
      if (rest !== '') controller.enqueue(convert(rest))
    },
  })
  const stream = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(lines)
    .pipeThrough(new TextEncoderStream())
  const headers = { 'content-type': 'text/event-stream' }
  return new Response(stream, { status: response.status, headers })
}

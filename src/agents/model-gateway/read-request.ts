import { modelGateway } from '../../shared/config'
import type { ModelProtocol } from '../../shared/runner-protocol'
import type { ModelRequestFacts } from '../contract/coding-agents'
import { estimateTokensOfChars } from '../loop/message'
import { type GatewayError, gatewayErrors } from './gateway-errors'
import { isObject, type JsonObject, readCount, readField, readList, readText } from './json-fields'

/** A program's request, as far as the gateway has to know it. */
export interface ReadRequest {
  body: JsonObject
  facts: Omit<ModelRequestFacts, 'attempt'>
  isStreamed: boolean
}

/** Tokens that providers add to a prompt with tools, for which there are no bytes in it. */
const toolTokens = 640
/** The same for each tool that is named by its type, such as `bash_20250124`. */
const typedToolTokens = 1_000

const outputFields: Record<ModelProtocol, string[]> = {
  'anthropic-messages': ['max_tokens'],
  'openai-chat': ['max_completion_tokens', 'max_tokens'],
  'openai-responses': ['max_output_tokens'],
}

/** Reads the body of a request. A body that could cost more than the hub can see is refused. */
export function readModelRequest(
  protocol: ModelProtocol,
  bytes: Uint8Array,
): { ok: true; request: ReadRequest } | { ok: false; error: GatewayError } {
  const body = parseObject(bytes)
  if (!body) return { ok: false, error: gatewayErrors.notJson() }
  const problem = findUnsupported(protocol, body)
  if (problem !== null) return { ok: false, error: gatewayErrors.unsupported(problem) }
  return {
    ok: true,
    request: {
      body,
      facts: {
        protocol,
        model: typeof body.model === 'string' ? body.model.slice(0, 200) : '',
        ...measureRequest(body, bytes),
        outputTokens: readOutputTokens(protocol, body),
      },
      isStreamed: body.stream === true,
    },
  }
}

/**
 * Returns the size of a prompt in tokens: an upper bound for any tokenizer, in which every byte is a token, and
 * an estimate. Pictures count by what providers make of them, not by their bytes.
 */
export function measureRequest(
  body: JsonObject,
  bytes: Uint8Array,
): Pick<ModelRequestFacts, 'promptTokensMax' | 'promptTokens'> {
  const tools = readList(body, 'tools')
  const media = measureMedia([body.messages, body.input, body.system], tools)
  const textBytes = Math.max(0, bytes.length - media.chars) + media.referredChars
  const typed = tools.filter((tool) => /_\d{8}$/.test(readText(tool, 'type')))
  const extra =
    media.pictures * modelGateway.pictureTokensMax +
    (tools.length > 0 ? toolTokens : 0) +
    typed.length * typedToolTokens
  return {
    promptTokensMax: textBytes + extra,
    promptTokens: estimateTokensOfChars(textBytes) + extra,
  }
}

/** Returns what the program allows the answer: the least of what it says. */
function readOutputTokens(protocol: ModelProtocol, body: JsonObject): number | null {
  const counts = outputFields[protocol].flatMap((name) => readCount(body[name]) ?? [])
  return counts.length > 0 ? Math.min(...counts) : null
}

export function parseObject(bytes: Uint8Array): JsonObject | null {
  try {
    const value: unknown = JSON.parse(
      new TextDecoder('utf-8', { fatal: true, ignoreBOM: false }).decode(bytes),
    )
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

/** Types of tools that the program runs itself; the provider would run all others, outside of the hub's grants. */
const ownTools: Record<ModelProtocol, RegExp> = {
  'anthropic-messages': /^(|custom|(bash|text_editor|memory)_\d{8})$/,
  'openai-chat': /^(function|custom)$/,
  'openai-responses': /^(function|custom|local_shell|apply_patch|shell|namespace|tool_search)$/,
}

/** Returns what in a body the gateway does not pass on; null: nothing. */
export function findUnsupported(protocol: ModelProtocol, body: JsonObject): string | null {
  for (const [name, value] of Object.entries(body)) {
    const problem = isAbsent(value) ? null : findFieldProblem(protocol, name, value)
    if (problem !== null) return problem
  }
  return findToolProblem(protocol, body.tools) ?? findContentProblem(protocol, body)
}

/** Whether a value says the same as no field. */
const isAbsent = (value: unknown): boolean =>
  value === null || value === false || (Array.isArray(value) && value.length === 0)

function findFieldProblem(protocol: ModelProtocol, name: string, value: unknown): string | null {
  if (answerCounts.includes(name)) return isOne(value) ? null : 'More than one answer'
  if (name === 'background') return 'An answer in the background'
  const { passed, dropped } = knownFields[protocol]
  if (name === 'modalities') return isTextOnly(value) ? null : 'An answer that is not text'
  if (!passed.includes(name) && !dropped.includes(name)) return `The field ${name.slice(0, 40)}`
  const parts = knownParts[protocol][name]
  const unknown =
    parts && Object.keys(isObject(value) ? value : {}).find((each) => !parts.includes(each))
  return unknown === undefined ? null : `The field ${name}.${unknown.slice(0, 40)}`
}

/** Servers read the number as text too. */
const isOne = (value: unknown): boolean => value === 1 || value === '1'

const isTextOnly = (value: unknown): boolean =>
  Array.isArray(value) && value.every((each) => each === 'text')

function findToolProblem(protocol: ModelProtocol, tools: unknown): string | null {
  if (tools === undefined || tools === null) return null
  if (!Array.isArray(tools)) return 'A list of tools that is none'
  const tool = tools.find((each) => !isOwnTool(protocol, each))
  return tool === undefined ? null : describeTool(tool)
}

const describeTool = (tool: unknown): string =>
  `A tool of the type ${readText(tool, 'type').slice(0, 40) || '?'}`

function isOwnTool(protocol: ModelProtocol, tool: unknown): boolean {
  if (!isObject(tool) || (tool.type !== undefined && typeof tool.type !== 'string')) return false
  const type = readText(tool, 'type')
  if (!ownTools[protocol].test(type)) return false
  if (type === 'namespace')
    return readList(tool, 'tools').every((each) => isOwnTool(protocol, each))
  // The provider looks for tools unless the program says that it does.
  if (type === 'tool_search') return tool.execution === 'client'
  // A shell with an environment is one of the provider's.
  const environment = readText(readField(tool, 'environment'), 'type')
  return type !== 'shell' || environment === '' || environment === 'local'
}

/** Returns the problem of a part of the prompt: of its type, of a tool that it brings, or of what it refers to. */
function findContentProblem(protocol: ModelProtocol, body: JsonObject): string | null {
  let problem: string | null = null
  const isWhole = visitParts([body.messages, body.input, body.system], (part, isItem) => {
    problem ??= findPartProblem(protocol, part, isItem)
  })
  return problem ?? (isWhole ? null : 'Content within content, many times over')
}

function findPartProblem(
  protocol: ModelProtocol,
  part: JsonObject,
  isItem: boolean,
): string | null {
  const { type } = part
  // An earlier answer that was spoken is stored at the provider.
  if (isItem && !isAbsent(part.audio ?? null)) return 'A reference to a stored answer'
  if (type === 'item_reference') return 'A reference to a stored item'
  if (type === undefined && isItem) return null
  if (typeof type !== 'string' || !knownContent[protocol].has(type))
    return `A content part of the type ${String(type ?? '?').slice(0, 40)}`
  const tool = listBrought(part).find((each) => !isOwnTool(protocol, each))
  return tool === undefined ? findUnmeasured(part) : describeTool(tool)
}

/** The tools that a part adds to those of the request. A reference to one of them adds none. */
function listBrought({ type, tools, tool }: JsonObject): unknown[] {
  if (type === 'tool_search_output') return Array.isArray(tools) ? tools : []
  const isAdded = type === 'tool_addition' && readText(tool, 'type') !== 'tool_reference'
  // one that is missing is none of the program's
  return isAdded ? [readField(tool, 'definition') ?? null] : []
}

/** Types of content parts that are pictures. */
const pictureTypes = new Set(['image', 'image_url', 'input_image'])

/** Levels of content within content, such as a picture in the result of a tool. */
const depthMax = 8

/** The data of a picture in a part; null: it is somewhere else. */
function findData(part: JsonObject): string | null {
  if ((part.file_id ?? null) !== null) return null
  const source = part.source
  if (readText(source, 'type') === 'base64') return readText(source, 'data')
  const url = typeof part.image_url === 'string' ? part.image_url : readText(part.image_url, 'url')
  return url.startsWith('data:image/') ? url : null
}

/**
 * Calls `visit` for every item and content part of messages, those in results of tools included; `isItem`: it is at the
 * top of its list. Returns whether it has seen all of them: not those that are nested too deeply.
 */
function visitParts(lists: unknown[], visit: (part: JsonObject, isItem: boolean) => void): boolean {
  let isWhole = true
  const enter = (value: unknown, depth: number, isItem: boolean): void => {
    if (depth > depthMax) {
      isWhole = false
      return
    }
    if (Array.isArray(value)) {
      for (const each of value) enter(each, depth + 1, isItem)
    } else if (isObject(value)) {
      visit(value, isItem)
      enter(value.content, depth + 1, false)
      // What a shell printed has no types.
      if (value.type !== 'shell_call_output') enter(value.output, depth + 1, false)
    }
  }
  for (const list of lists) enter(list, 0, true)
  return isWhole
}

/** What counts otherwise than by its bytes. */
interface Media {
  pictures: number
  /** Characters of the data of pictures. */
  chars: number
  /** Characters of the tools that a provider puts where the prompt refers to them. */
  referredChars: number
}

/** Returns the pictures of a prompt, and the tools that it refers to, each time again. */
function measureMedia(messages: unknown[], tools: unknown): Media {
  const found = { pictures: 0, chars: 0, referredChars: 0 }
  const charsOf = new Map<string, number>()
  for (const tool of Array.isArray(tools) ? tools : [])
    charsOf.set(readText(tool, 'name'), new TextEncoder().encode(JSON.stringify(tool)).length)
  visitParts(messages, (part) => {
    if (part.type === 'tool_reference' || part.type === 'tool_addition') {
      const name = readText(part, 'tool_name') || readText(part.tool, 'name')
      found.referredChars += charsOf.get(name) ?? 0
    }
    if (!pictureTypes.has(String(part.type))) return
    found.pictures++
    found.chars += findData(part)?.length ?? 0
  })
  return found
}

/** Returns why nobody knows the size of a part before the provider has read it; null: it is known. */
function findUnmeasured(part: JsonObject): string | null {
  const type = String(part.type)
  const isText = readText(readField(part, 'source'), 'type') === 'text'
  if (type === 'document' && !isText) return 'A document that is not text'
  return pictureTypes.has(type) && findData(part) === null ? 'A picture by its address' : null
}

interface KnownFields {
  /** Passed on to the provider. */
  passed: readonly string[]
  /** Left out of what the provider gets: without them the answer is the same, or one for the tariff that is reserved. */
  dropped: readonly string[]
}

/** Fields that say how many answers a provider makes. One is the default, so it is left out. */
const answerCounts: readonly string[] = [
  'n',
  'best_of',
  'num_choices',
  'num_completions',
  'num_return_sequences',
  'candidate_count',
]

/** Fields that choose a tariff other than the one that is reserved. */
const tariffs = ['service_tier', 'speed', 'inference_geo']

/**
 * What a body may have at its top, by protocol. A field that is in neither list is refused: it may cost what the hub does
 * not see, or go around its grants, and left out silently it would leave the program with a wrong belief.
 */
export const knownFields: Record<ModelProtocol, KnownFields> = {
  'anthropic-messages': {
    passed: [
      'model',
      'max_tokens',
      'messages',
      'system',
      'stream',
      'metadata',
      'cache_control',
      'temperature',
      'top_p',
      'top_k',
      'stop_sequences',
      'thinking',
      'tools',
      'tool_choice',
      'output_config',
      'output_format',
      'context_management',
    ],
    // Remarks for the provider's statistics and logs.
    dropped: [...tariffs, 'diagnostics', 'context_hint', 'betas'],
  },
  'openai-chat': {
    passed: [
      'model',
      'max_tokens',
      'max_completion_tokens',
      'messages',
      'stream',
      'stream_options',
      'temperature',
      'top_p',
      'top_k',
      'min_p',
      'stop',
      'seed',
      'logit_bias',
      'logprobs',
      'top_logprobs',
      'frequency_penalty',
      'presence_penalty',
      'repetition_penalty',
      'tools',
      'tool_choice',
      'parallel_tool_calls',
      'functions',
      'function_call',
      'response_format',
      'modalities',
      'verbosity',
      'reasoning',
      'reasoning_effort',
      'thinking',
      'enable_thinking',
      'chat_template_kwargs',
      'prompt_cache_key',
      'user',
      'safety_identifier',
    ],
    // Metadata is for stored answers only. The last one asks for the usage that streams have anyway.
    dropped: [...tariffs, 'store', 'metadata', 'prompt_cache_retention', 'usage'],
  },
  'openai-responses': {
    passed: [
      'model',
      'max_output_tokens',
      'input',
      'instructions',
      'stream',
      'stream_options',
      'temperature',
      'top_p',
      'top_logprobs',
      'text',
      'reasoning',
      'truncation',
      'include',
      'tools',
      'tool_choice',
      'parallel_tool_calls',
      'prompt_cache_key',
      'user',
      'metadata',
      'safety_identifier',
    ],
    // A limit of the provider's own tools, which are refused, and remarks on the program and its machine.
    dropped: [...tariffs, 'store', 'max_tool_calls', 'client_metadata', 'prompt_cache_retention'],
  },
}

/** What an object among these fields may have, where the others would have a price of their own. */
const knownParts: Record<ModelProtocol, Record<string, readonly string[]>> = {
  'anthropic-messages': { output_config: ['effort', 'format', 'task_budget'] },
  'openai-chat': { reasoning: ['effort', 'max_tokens', 'enabled', 'exclude'] },
  'openai-responses': { reasoning: ['effort', 'summary', 'generate_summary'] },
}

/** Types of items and content parts whose price the bytes of a prompt bound, or that are measured otherwise. */
const knownContent: Record<ModelProtocol, ReadonlySet<string>> = {
  'anthropic-messages': new Set([
    'message',
    'text',
    'image',
    'tool_use',
    'tool_result',
    'thinking',
    'redacted_thinking',
    'document',
    'search_result',
    'tool_reference',
    'tool_addition',
    'tool_removal',
  ]),
  'openai-chat': new Set(['message', 'text', 'image_url', 'refusal']),
  'openai-responses': new Set([
    'message',
    'input_text',
    'output_text',
    'text',
    'input_image',
    'refusal',
    'reasoning',
    'summary_text',
    'reasoning_text',
    'function_call',
    'function_call_output',
    'custom_tool_call',
    'custom_tool_call_output',
    'local_shell_call',
    'local_shell_call_output',
    'shell_call',
    'shell_call_output',
    'apply_patch_call',
    'apply_patch_call_output',
    'tool_search_call',
    'tool_search_output',
  ]),
}

interface Admitted {
  /** As the provider names it. */
  modelName: string
  provider: string
  outputTokens: number
}

/**
 * Returns the body for the provider: the fields that are passed on, with the admitted model and length of answer, and
 * with usage switched on.
 */
export function rewriteRequest(
  protocol: ModelProtocol,
  body: JsonObject,
  { modelName, provider, outputTokens }: Admitted,
): JsonObject {
  const { passed } = knownFields[protocol]
  const rest = Object.fromEntries(Object.entries(body).filter(([name]) => passed.includes(name)))
  const base: JsonObject = { ...rest, model: modelName }
  switch (protocol) {
    case 'anthropic-messages':
      return limitThinking({
        ...base,
        ...withoutLongCache(rest),
        ...withoutCompaction(rest),
        max_tokens: outputTokens,
      })
    case 'openai-responses':
      // The program sends its history with every request, so the provider needs not keep it.
      return { ...base, store: false, max_output_tokens: outputTokens }
    case 'openai-chat': {
      const { max_tokens: _, max_completion_tokens: __, stream_options: options, ...others } = base
      // OpenAI's newer models accept one name only, other servers often the older one only.
      const name = provider === 'openai' ? 'max_completion_tokens' : 'max_tokens'
      const usage = { ...(isObject(options) ? options : {}), include_usage: true }
      return {
        ...others,
        [name]: outputTokens,
        ...(body.stream === true && { stream_options: usage }),
      }
    }
  }
}

/** Changes of the context that only leave out parts of it. */
const clearing = /^clear_(tool_uses|thinking)_\d{8}$/

/**
 * Returns the changes of the context without those in which the model is called once more, whose usage is counted
 * apart. The program's own limit of its context stands in for them.
 */
function withoutCompaction({ context_management: management }: JsonObject): JsonObject {
  if (!isObject(management)) return {}
  const edits = readList(management, 'edits').filter((edit) =>
    clearing.test(readText(edit, 'type')),
  )
  return { context_management: edits.length > 0 ? { edits } : undefined }
}

/** The least budget that Anthropic accepts. */
const thinkingTokensMin = 1_024

/** Keeps the budget for thinking below the length of the answer, as Anthropic requires. */
function limitThinking(body: JsonObject & { max_tokens: number }): JsonObject {
  const { thinking, max_tokens: max } = body
  const budget = isObject(thinking) ? readCount(thinking.budget_tokens) : null
  if (!isObject(thinking) || budget === null || budget < max) return body
  if (max > thinkingTokensMin) return { ...body, thinking: { ...thinking, budget_tokens: max - 1 } }
  return { ...body, thinking: { type: 'disabled' } }
}

/** Parts of a Messages request that can be marked for the cache. */
const cachedFields = ['system', 'messages', 'tools', 'cache_control']

/** Returns these parts without lifetimes of the cache, whose longer one has another price. */
function withoutLongCache(body: JsonObject): JsonObject {
  const present = cachedFields.filter((name) => body[name] !== undefined)
  return Object.fromEntries(
    present.map((name) => [
      name,
      name === 'cache_control' ? withoutLifetime(body[name]) : visitMarks(body[name]),
    ]),
  )
}

const withoutLifetime = (mark: unknown): unknown => {
  if (!isObject(mark)) return mark
  const { ttl: _, ...rest } = mark
  return rest
}

function visitMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(visitMarks)
  if (!isObject(value)) return value
  const { cache_control: mark } = value
  const inner = ['content', 'tool', 'definition'].filter((name) => typeof value[name] === 'object')
  if (mark === undefined && inner.length === 0) return value
  return {
    ...value,
    ...(mark !== undefined && { cache_control: withoutLifetime(mark) }),
    ...Object.fromEntries(inner.map((name) => [name, visitMarks(value[name])])),
  }
}

import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ReasoningPart,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import type { Message, PromptImage, ToolRequest } from '../loop/message'

/** Marks the end of a prefix for Anthropic's prompt cache. */
const cacheHere = { anthropic: { cacheControl: { type: 'ephemeral' } } }

/** Starts the message that changes with every step, and so comes after everything cacheable. */
export const statusMarker = '[status]'

const isVolatile = (message: Message) =>
  message.role === 'user' && message.text.startsWith(statusMarker)

/**
 * Moves system messages to the front, where providers require them. The memory layer is data and
 * comes between them in our order of layers.
 */
const systemFirst = (messages: Message[]): Message[] => [
  ...messages.filter(({ role }) => role === 'system'),
  ...messages.filter(({ role }) => role !== 'system'),
]

/** Joins system messages into one, the most that chat templates of many open models accept. */
function joinSystem(messages: Message[]): Message[] {
  const system = messages.flatMap((message) => (message.role === 'system' ? [message.text] : []))
  if (system.length < 2) return messages
  return [{ role: 'system', text: system.join('\n\n') }, ...messages.slice(system.length)]
}

/** Providers that accept several system messages, and messages of one role in a row. */
const isLenient = (provider: string): boolean => ['anthropic', 'openai'].includes(provider)

const isAnswer = (message: Message) => message.role === 'assistant'

/**
 * Converts messages to a provider's prompt. For Anthropic three messages carry cache markers, of
 * four that are possible: the last layer that is the same for every task, the last message before
 * the volatile tail, and the message that was the last one in the previous step. The third marker is
 * needed because Anthropic looks only some twenty blocks back from a marker, and a step with many
 * calls is longer.
 *
 * @param author id of the model, which gets its own reasoning back
 * @param images bytes by id
 */
export function toPrompt(
  provider: string,
  layers: Message[],
  { author = provider, images = new Map() }: PromptParts = {},
): LanguageModelV4Prompt {
  const ordered = systemFirst(toSendable(layers))
  const messages = isLenient(provider) ? ordered : joinTurns(joinSystem(ordered))
  const prompt = messages.map((message) => toProviderMessage({ author, images }, message))
  if (provider !== 'anthropic') return prompt
  const lastSystem = messages.findLastIndex((message) => message.role === 'system')
  const lastStable = messages.findLastIndex((message) => !isVolatile(message))
  const lastAnswer = messages.slice(0, lastStable + 1).findLastIndex(isAnswer)
  for (const index of new Set([lastSystem, lastAnswer - 1, lastStable])) {
    const message = prompt[index]
    if (message) message.providerOptions = cacheHere
  }
  return prompt
}

interface PromptParts {
  author?: string
  images?: ReadonlyMap<string, Uint8Array>
}

function toProviderMessage(
  { author, images }: Required<PromptParts>,
  message: Message,
): LanguageModelV4Message {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.text }
    case 'user':
      return {
        role: 'user',
        content: [
          { type: 'text', text: message.text },
          ...(message.images ?? []).flatMap((image) => toImageParts(image, images.get(image.id))),
        ],
      }
    case 'assistant':
      return { role: 'assistant', content: buildAssistantParts(author, message) }
    case 'tool':
      return {
        role: 'tool',
        content: message.results.map((result) => ({
          type: 'tool-result',
          toolCallId: result.callId,
          toolName: result.name,
          output: { type: result.isError ? 'error-text' : 'text', value: result.text },
        })),
      }
  }
}

/** Returns an image after the words that say whose it is; these alone for one that cannot be shown. */
const toImageParts = (
  { type, place }: PromptImage,
  data: Uint8Array | undefined,
): (LanguageModelV4TextPart | LanguageModelV4FilePart)[] =>
  data
    ? [
        { type: 'text', text: `An image of ${place}:` },
        { type: 'file', mediaType: type, data: { type: 'data', data } },
      ]
    : [{ type: 'text', text: `An image of ${place} cannot be shown to you.` }]

/**
 * Brings messages into what every provider takes, whoever wrote them: another provider's model, whose calls have other
 * ids and names, or a tool server, whose result has no text. What a model said stays as it is in the journal; only what is
 * sent is changed. The same message is always sent in the same form, so that prompts stay cached.
 */
export const toSendable = (messages: Message[]): Message[] =>
  messages.flatMap((message) => toSendableMessage(message) ?? [])

/** Returns null for a message without anything in it, which providers refuse. */
function toSendableMessage(message: Message): Message | null {
  switch (message.role) {
    case 'system':
      return isBlank(message.text) ? null : message
    case 'user':
      return isBlank(message.text) ? { ...message, text: '(no text)' } : message
    case 'assistant': {
      const calls = message.calls.map(toSendableCall)
      return isBlank(message.text) && calls.length === 0 ? null : { ...message, calls }
    }
    case 'tool': {
      const results = message.results.map((result) => ({
        ...toSendableCall(result),
        text: isBlank(result.text) ? '(no output)' : result.text,
      }))
      return { ...message, results }
    }
  }
}

const isBlank = (text: string): boolean => text.trim() === ''

const toSendableCall = <Call extends Pick<ToolRequest, 'callId' | 'name'>>(call: Call): Call => ({
  ...call,
  callId: toSendableName(call.callId),
  name: toSendableName(call.name),
})

/** Providers take ids and names of these characters, up to this length. */
const nameCharsMax = 64
const otherChars = /[^a-zA-Z0-9_-]/g

/**
 * Returns an id or name that every provider takes. One that had to be changed ends in a hash of what it was, so that two
 * different ones stay different.
 */
function toSendableName(name: string): string {
  const plain = name.replace(otherChars, '_')
  if (plain === name && name !== '' && name.length <= nameCharsMax) return name
  const mark = hash(name)
  return `${plain.slice(0, nameCharsMax - mark.length - 1)}_${mark}`
}

/** FNV-1a over UTF-16 units, in base 36. */
function hash(text: string): string {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at++) {
    value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  }
  return (value >>> 0).toString(36)
}

/**
 * Joins messages so that roles alternate as templates of many open models require: no user after a tool or a user, no
 * assistant after an assistant without calls.
 */
export function joinTurns(messages: Message[]): Message[] {
  const joined: Message[] = []
  for (const message of messages) {
    const last = joined.at(-1)
    const both = last && joinTwo(last, message)
    if (both) joined[joined.length - 1] = both
    else joined.push(message)
  }
  return joined
}

/** Returns two neighbours as one message; null for two that may follow one another. */
function joinTwo(first: Message, second: Message): Message | null {
  if (second.role === 'user') {
    if (first.role === 'user') {
      const images = [...(first.images ?? []), ...(second.images ?? [])]
      const text = joinTexts(first.text, second.text)
      return { role: 'user', text, ...(images.length > 0 && { images }) }
    }
    const result = first.role === 'tool' ? first.results.at(-1) : undefined
    if (first.role !== 'tool' || !result) return null
    const text = joinTexts(result.text, second.text)
    return { role: 'tool', results: [...first.results.slice(0, -1), { ...result, text }] }
  }
  if (first.role === 'assistant' && second.role === 'assistant' && first.calls.length === 0) {
    return { role: 'assistant', text: joinTexts(first.text, second.text), calls: second.calls }
  }
  return null
}

const joinTexts = (first: string, second: string): string =>
  [first, second].filter((text) => !isBlank(text)).join('\n\n')

/** An escape in JSON: a backslash, a surrogate pair, a lone surrogate or U+0000, any other. */
const escapes =
  /\\\\|\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|\\ud[89a-f][0-9a-f]{2}|\\u0000|\\./gi

/**
 * Replaces half surrogate pairs and U+0000 in a request's JSON by U+FFFD: no text of Unicode has the first, and servers
 * refuse the whole request for either. One place for texts, arguments, names and schemas.
 */
export const toWellFormedJson = (json: string): string =>
  json.replace(escapes, (each) =>
    /^\\u(?:d[89a-f][0-9a-f]{2}|0000)$/i.test(each) ? '\\ufffd' : each,
  )

type AssistantPart =
  | LanguageModelV4TextPart
  | LanguageModelV4ReasoningPart
  | LanguageModelV4ToolCallPart

/**
 * One part of an answer, with the metadata that the provider requires back (reasoning signatures,
 * item ids). Parts keep the order of the answer. Text and calls themselves are in the message; calls
 * are matched by position, because their ids may have been changed to be unique.
 */
export type ProviderPart =
  | { kind: 'reasoning'; text: string; metadata?: SharedV4ProviderMetadata }
  | { kind: 'text'; chars: number; metadata?: SharedV4ProviderMetadata }
  | { kind: 'call'; metadata?: SharedV4ProviderMetadata }

interface Stored {
  /** Id of the model that wrote them. Another model may not accept them. */
  author: string
  parts: ProviderPart[]
}

/** Returns the parts as JSON to store with an answer; undefined when the provider requires nothing back. */
export function serializeProviderParts(author: string, parts: ProviderPart[]): string | undefined {
  const isPlain = parts.every((part) => part.kind !== 'reasoning' && part.metadata === undefined)
  return isPlain ? undefined : JSON.stringify({ author, parts } satisfies Stored)
}

/** Parses stored parts. Returns none when another model wrote them, or when they are malformed. */
function readProviderParts(author: string, json: string | undefined): ProviderPart[] {
  if (json === undefined) return []
  try {
    const stored = JSON.parse(json) as Stored
    return stored.author === author && Array.isArray(stored.parts) ? stored.parts : []
  } catch {
    return []
  }
}

/** Builds an assistant message's parts in their order, with reasoning when `author` wrote it. */
function buildAssistantParts(
  author: string,
  message: { text: string; calls: ToolRequest[]; providerParts?: string },
): AssistantPart[] {
  const calls = [...message.calls]
  let textAt = 0
  const parts: AssistantPart[] = []
  const add = (part: AssistantPart | null, metadata?: SharedV4ProviderMetadata) => {
    if (part) parts.push(metadata ? { ...part, providerOptions: metadata } : part)
  }
  for (const part of readProviderParts(author, message.providerParts)) {
    if (part.kind === 'reasoning') {
      add({ type: 'reasoning', text: part.text }, part.metadata)
    } else if (part.kind === 'text') {
      add(toTextPart(message.text.slice(textAt, textAt + part.chars)), part.metadata)
      textAt += part.chars
    } else {
      add(toCallPart(calls.shift()), part.metadata)
    }
  }
  add(toTextPart(message.text.slice(textAt)))
  for (const call of calls) add(toCallPart(call))
  return parts
}

/** Providers refuse a text of white space alone. */
const toTextPart = (text: string): LanguageModelV4TextPart | null =>
  text.trim() === '' ? null : { type: 'text', text }

/** Converts a call. Providers require an object, so malformed arguments are wrapped as text. */
function toCallPart(call: ToolRequest | undefined): LanguageModelV4ToolCallPart | null {
  if (!call) return null
  return {
    type: 'tool-call',
    toolCallId: call.callId,
    toolName: call.name,
    // As text within the request they are out of reach of what makes its JSON well-formed.
    input: parseObject(toWellFormedJson(call.arguments)) ?? { malformed: call.arguments },
  }
}

function parseObject(json: string): Record<string, unknown> | null {
  if (json.trim() === '') return {}
  try {
    const value: unknown = JSON.parse(json)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}

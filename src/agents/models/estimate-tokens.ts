import {
  countTotalChars,
  estimateTokensOfChars,
  type Message,
  type PromptImage,
} from '../loop/message'

const schemaChars = new WeakMap<object, number>()

/** Returns a schema's length as JSON, cached by the schema object, which lives as long as its tool. */
function countSchema(schema: object): number {
  const cached = schemaChars.get(schema)
  if (cached !== undefined) return cached
  const chars = JSON.stringify(schema).length
  schemaChars.set(schema, chars)
  return chars
}

/**
 * Estimates a prompt's tokens when no provider has counted them: 1 per 4 characters, with 16
 * characters added per message.
 */
export function estimateTokens(
  messages: Message[],
  tools: { name: string; description: string; inputSchema: object }[],
): number {
  let chars = countTotalChars(messages)
  for (const tool of tools) {
    chars += tool.name.length + tool.description.length + countSchema(tool.inputSchema)
  }
  return estimateTokensOfChars(chars)
}

interface ToolText {
  name: string
  description: string
  inputSchema: object
}

/** Tokens that providers add around our text: roles, ids and, for tools, instructions. */
const overhead = { message: 16, call: 32, tool: 32, tools: 640 }

/**
 * Returns an upper bound of a prompt's tokens for any tokenizer: no reservation and no charge is higher.
 * A token stands for at least one byte. English needs a third of the bound; Chinese, Amharic or random
 * letters come close to it.
 */
export function countTokensMax(messages: Message[], tools: ToolText[]): number {
  let tokens = tools.length > 0 ? overhead.tools : 0
  for (const message of messages) tokens += overhead.message + countMessageMax(message)
  for (const tool of tools) {
    tokens += overhead.tool + countToolMax(tool)
  }
  return tokens
}

/** Matches printable ASCII, the common case, which is fast to test. */
const isAscii = /^[\t\n\r\x20-\x7e]*$/

const countBytes = (text: string): number =>
  isAscii.test(text) ? text.length : countStoredBytes(text)

function countMessageMax(message: Message): number {
  if (message.role === 'tool') {
    let tokens = 0
    for (const { callId, name, text } of message.results) {
      tokens += overhead.call + countBytes(callId) + countBytes(name) + countBytes(text)
    }
    return tokens
  }
  let tokens = countBytes(message.text)
  if (message.role === 'user') return tokens + countImageTokensMax(message.images)
  if (message.role !== 'assistant') return tokens
  if (message.providerParts) tokens += countBytes(message.providerParts)
  for (const { callId, name, arguments: json } of message.calls) {
    tokens += overhead.call + countBytes(callId) + countBytes(name) + countBytes(json)
  }
  return tokens
}

/**
 * Upper bound of the tokens of images: of the models in the catalogue that see, those with the smallest patches take one
 * for 28 × 28 pixels, those with the highest multiplier count each patch 2.46 times, and a narrow image has up to four
 * tiles (pages of the providers on vision, November 2026).
 */
export const countImageTokensMax = (images: PromptImage[] = []): number =>
  images.reduce(
    (sum, { width, height }) =>
      sum + 800 + Math.ceil(2.5 * Math.ceil(width / 28) * Math.ceil(height / 28)),
    0,
  )

const toolBytes = new WeakMap<object, number>()

/** Returns the bytes of a tool, cached by its schema object, which lives as long as the tool. */
function countToolMax({ name, description, inputSchema }: ToolText): number {
  const cached = toolBytes.get(inputSchema)
  if (cached !== undefined) return cached
  const bytes = countBytes(name) + countBytes(description) + countBytes(JSON.stringify(inputSchema))
  toolBytes.set(inputSchema, bytes)
  return bytes
}

/**
 * Returns the bytes of a prompt beyond one per character: about two for each token of Chinese, and none
 * for ASCII. The estimate counts characters alone, which is far too low for such text.
 */
export function countWideBytes(messages: Message[], tools: ToolText[]): number {
  let bytes = 0
  for (const message of messages) {
    for (const text of listTexts(message)) bytes += countWide(text)
  }
  for (const { description } of tools) bytes += countWide(description)
  return bytes
}

const countWide = (text: string): number => countBytes(text) - text.length

function listTexts(message: Message): string[] {
  if (message.role === 'tool') return message.results.map(({ text }) => text)
  if (message.role !== 'assistant') return [message.text]
  return [message.text, ...message.calls.map(({ arguments: json }) => json)]
}

/**
 * How many tokens a provider counts for each token of our estimate, learned per agent and model: the
 * tokenizer, the language of the threads and what the provider adds decide it.
 */
export interface TokenRatio {
  /** Of the recent calls, the newest counting most. */
  mean: number
  /** Upper bound for the next call: rises at once, and falls slowly. */
  high: number
}

/** Before a provider has counted anything. */
export const unknownRatio: TokenRatio = { mean: 1, high: 1.6 }

/** Share by which a call moves the mean, and by which a lower one moves the upper bound. */
const share = { mean: 0.2, high: 0.1 }

/** Added to a count that raises the upper bound, since the next prompt differs. */
const margin = 1.05

/** Bounds of what one call can teach: a broken server must not make every later call unaffordable. */
const range = { min: 0.05, max: 8 }

/** Returns the ratio after a provider has counted a prompt. */
export function learnRatio(
  before: TokenRatio | null,
  countedTokens: number,
  estimatedTokens: number,
): TokenRatio {
  const counted = countedTokens / Math.max(1, estimatedTokens)
  const ratio = Math.min(range.max, Math.max(range.min, counted))
  const bound = ratio * margin
  const { mean, high } = before ?? { mean: ratio, high: unknownRatio.high }
  return {
    mean: round(mean + (ratio - mean) * share.mean),
    high: round(bound > high ? bound : high - (high - bound) * share.high),
  }
}

const round = (value: number): number => Math.round(value * 1_000) / 1_000

/** Matches texts of one byte per character, the common case, which is fast to test. */
const onlySingleBytes = /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/

/**
 * Returns a text's bytes in storage, as part of JSON: UTF-8 with quotes, backslashes and control
 * characters escaped.
 */
export function countStoredBytes(text: string): number {
  if (onlySingleBytes.test(text)) return text.length
  let bytes = 0
  for (let index = 0; index < text.length; index++) bytes += bytesOf(text.charCodeAt(index))
  return bytes
}

/** Truncates a text to a number of stored bytes, never within a surrogate pair. */
export function truncateToStoredBytes(text: string, bytesMax: number): string {
  let bytes = 0
  for (let index = 0; index < text.length; index++) {
    bytes += bytesOf(text.charCodeAt(index))
    if (bytes <= bytesMax) continue
    const isWithinPair = (text.charCodeAt(index) & 0xfc00) === 0xdc00
    return text.slice(0, isWithinPair ? index - 1 : index)
  }
  return text
}

const lineBreaks = new Set([0x08, 0x09, 0x0a, 0x0c, 0x0d])

function bytesOf(unit: number): number {
  if (unit < 0x20) return lineBreaks.has(unit) ? 2 : 6
  if (unit === 0x22 || unit === 0x5c) return 2
  if (unit < 0x80) return 1
  // A surrogate is two of the four bytes of its pair.
  return unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 2 : 3
}

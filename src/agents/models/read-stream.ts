import type {
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import { activationLimits } from '../../config'
import type { FinishReason, ModelAnswer, ModelUsage } from '../loop/message'
import type { ModelRequest } from './model-port'
import { type ProviderPart, writeProviderParts } from './provider-parts'

type StreamEnd =
  | { kind: 'answer'; answer: ModelAnswer }
  /** It ended cleanly and held no event of the protocol. */
  | { kind: 'nothing' }
  /** `error` is whatever the provider package threw or streamed. */
  | { kind: 'error'; error: unknown; hasAnswerBegun: boolean }

/**
 * Reads one answer to its end. Never throws: a broken stream, an `error` part and a thrown
 * iteration are an `error` end; a clean end without any event is `nothing`, after some but without
 * a reason it is an `interrupted` answer; an answer over 512 KiB is cut there and ends as `length`.
 */
export async function readStream(
  provider: string,
  stream: ReadableStream<LanguageModelV4StreamPart>,
  onDelta: ModelRequest['onDelta'],
  bytesMax: number = activationLimits.modelAnswerBytes,
): Promise<StreamEnd> {
  const collected = new CollectedAnswer(onDelta)
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      const problem = collected.add(value)
      if (problem) return { ...problem, hasAnswerBegun: collected.bytes > 0 }
      if (collected.bytes > bytesMax) {
        collected.finish = 'length'
        break
      }
    }
  } catch (error) {
    return { kind: 'error', error, hasAnswerBegun: collected.bytes > 0 }
  } finally {
    reader.cancel().catch(() => {})
  }
  if (!collected.hasEvents) return { kind: 'nothing' }
  return { kind: 'answer', answer: collected.toAnswer(provider) }
}

/** What has arrived of an answer. */
class CollectedAnswer {
  bytes = 0
  /** Something came that the package did not make up by itself. */
  hasEvents = false
  finish: FinishReason = 'interrupted'
  readonly #onDelta: ModelRequest['onDelta']
  readonly #parts: ProviderPart[] = []
  readonly #open = new Map<string, ProviderPart>()
  readonly #calls: ModelAnswer['calls'] = []
  #text = ''
  #reasoning = ''
  #usage: ModelUsage | null = null

  constructor(onDelta: ModelRequest['onDelta']) {
    this.#onDelta = onDelta
  }

  /** Answers with the problem when the part is one. */
  add(part: LanguageModelV4StreamPart): { kind: 'error'; error: unknown } | null {
    if (isOfAnEvent(part)) this.hasEvents = true
    switch (part.type) {
      case 'text-start':
      case 'reasoning-start':
        this.#openPart(part.type, part.id, part.providerMetadata)
        return null
      case 'text-delta':
      case 'reasoning-delta':
        this.#extend(part)
        return null
      case 'text-end':
      case 'reasoning-end':
        mergeMetadata(this.#open.get(part.id), part.providerMetadata)
        return null
      case 'tool-call':
        this.#addCall(part)
        return null
      case 'finish':
        this.finish = isUnsaid(part.finishReason) ? 'interrupted' : part.finishReason.unified
        this.#usage = toUsage(part.usage)
        return null
      case 'error':
        return isMissingFinish(part.error) ? null : { kind: 'error', error: part.error }
      default:
        return null
    }
  }

  toAnswer(provider: string): ModelAnswer {
    const providerParts = writeProviderParts(provider, this.#parts)
    return {
      text: this.#text,
      reasoning: this.#reasoning,
      calls: this.#calls,
      finish: this.finish,
      usage: this.#usage,
      ...(providerParts === undefined ? {} : { providerParts }),
    }
  }

  #openPart(type: string, id: string, metadata: SharedV4ProviderMetadata | undefined): void {
    const part: ProviderPart =
      type === 'text-start' ? { kind: 'text', chars: 0 } : { kind: 'reasoning', text: '' }
    mergeMetadata(part, metadata)
    this.#open.set(id, part)
    this.#parts.push(part)
  }

  #extend(delta: LanguageModelV4StreamPart & { type: 'text-delta' | 'reasoning-delta' }): void {
    const part = this.#open.get(delta.id)
    mergeMetadata(part, delta.providerMetadata)
    if (delta.delta === '') return
    this.bytes += countUtf8Bytes(delta.delta)
    if (delta.type === 'text-delta') {
      this.#text += delta.delta
      if (part?.kind === 'text') part.chars += delta.delta.length
      this.#onDelta?.({ kind: 'text', text: delta.delta })
    } else {
      this.#reasoning += delta.delta
      if (part?.kind === 'reasoning') part.text += delta.delta
      this.#onDelta?.({ kind: 'reasoning', text: delta.delta })
    }
  }

  #addCall(call: LanguageModelV4ToolCall): void {
    // What the provider ran by itself needs no answer from us; we offer no such tools.
    if (call.providerExecuted) return
    this.bytes += countUtf8Bytes(call.input)
    this.#calls.push({ callId: call.toolCallId, name: call.toolName, arguments: call.input })
    const part: ProviderPart = { kind: 'call' }
    mergeMetadata(part, call.providerMetadata)
    this.#parts.push(part)
  }
}

/** Packages begin and end an answer by themselves, even when the body holds nothing. */
function isOfAnEvent(part: LanguageModelV4StreamPart): boolean {
  if (part.type === 'stream-start') return false
  if (part.type === 'finish') return !isUnsaid(part.finishReason)
  return part.type !== 'error' || !isMissingFinish(part.error)
}

/** The packages' own words for "the provider said no reason". */
const unsaidReasons = ['error', 'other', 'interrupted']
const isUnsaid = (reason: { unified: string; raw: string | undefined }) =>
  reason.raw === undefined && unsaidReasons.includes(reason.unified)

/** Chat Completions: a stream that ends without a reason ends with this error part. */
function isMissingFinish(error: unknown): boolean {
  return (
    error instanceof Error &&
    error.name === 'AI_InvalidResponseDataError' &&
    error.message.includes('without a finish reason')
  )
}

function mergeMetadata(
  part: ProviderPart | undefined,
  metadata: SharedV4ProviderMetadata | undefined,
): void {
  if (!part || !metadata) return
  const merged = { ...part.metadata }
  for (const [provider, fields] of Object.entries(metadata)) {
    merged[provider] = { ...merged[provider], ...fields }
  }
  part.metadata = merged
}

/** Null when the provider told none or nothing but zeros: then it is estimated (L18). */
function toUsage(usage: LanguageModelV4Usage): ModelUsage | null {
  const input = usage.inputTokens.total
  const output = usage.outputTokens.total
  if (!input || output === undefined) return null
  return {
    inputTokens: input,
    cachedTokens: usage.inputTokens.cacheRead ?? 0,
    ...(usage.inputTokens.cacheWrite ? { cacheWriteTokens: usage.inputTokens.cacheWrite } : {}),
    outputTokens: output,
    reasoningTokens: usage.outputTokens.reasoning ?? 0,
  }
}

function countUtf8Bytes(text: string): number {
  let bytes = text.length
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    // Half of a surrogate pair is two bytes of the pair's four.
    if (unit > 0x7f) bytes += unit > 0x7ff && (unit < 0xd800 || unit > 0xdfff) ? 2 : 1
  }
  return bytes
}

import type {
  LanguageModelV4StreamPart,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import { activationLimits, limits } from '../../shared/config'
import type { FinishReason, ModelAnswer, ModelUsage } from '../loop/message'
import { countStoredBytes, truncateToStoredBytes } from './estimate-tokens'
import type { ModelRequest } from './model-port'
import { RepeatedCallId } from './repeated-call-ids'
import { TextWasReasoning } from './split-thoughts'
import { type ProviderPart, serializeProviderParts } from './to-prompt'

type StreamEnd =
  | { kind: 'answer'; answer: ModelAnswer }
  /** The stream ended cleanly without any event of the protocol. */
  | { kind: 'nothing' }
  /** `error` is what the provider package threw or streamed. */
  | { kind: 'error'; error: unknown }

/**
 * Reads one answer to its end. Never throws: a broken stream, an `error` part and a thrown
 * iteration are an `error` end. A clean end without any event is `nothing`; after some events but
 * without a finish reason the answer is `interrupted`. An answer over 512 KiB is truncated and
 * finishes as `length`.
 */
export async function readStream(
  author: string,
  stream: ReadableStream<LanguageModelV4StreamPart>,
  listeners: Listeners,
  bytesMax: number = activationLimits.modelAnswerBytes,
): Promise<StreamEnd> {
  const collected = new CollectedAnswer(listeners, bytesMax)
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      const problem = collected.add(value)
      if (problem) return problem
      if (collected.isFull) {
        collected.finish = 'length'
        break
      }
    }
  } catch (error) {
    return { kind: 'error', error }
  } finally {
    reader.cancel().catch(() => {})
  }
  if (!collected.hasEvents) return { kind: 'nothing' }
  return { kind: 'answer', answer: collected.toAnswer(author) }
}

type Listeners = Pick<ModelRequest, 'onDelta' | 'onProgress'>

/** Bytes of a call beside its arguments. */
const callBytes = 100

/** An answer as far as it has arrived, truncated to a maximum size. */
class CollectedAnswer {
  bytes = 0
  /** The maximum size is reached. */
  isFull = false
  /** At least one part came from the provider rather than from its package. */
  hasEvents = false
  finish: FinishReason = 'interrupted'
  readonly #listeners: Listeners
  readonly #bytesMax: number
  readonly #parts: ProviderPart[] = []
  readonly #open = new Map<string, ProviderPart>()
  readonly #calls: ModelAnswer['calls'] = []
  /** Calls whose arguments are still arriving. */
  readonly #begun = new Map<string, ModelAnswer['calls'][number]>()
  #text = ''
  #reasoning = ''
  /** Characters that have arrived, names of calls included. */
  #chars = 0
  #usage: ModelUsage | null = null

  constructor(listeners: Listeners, bytesMax: number) {
    this.#listeners = listeners
    this.#bytesMax = bytesMax
  }

  /** Adds a part. Returns the error when the part is one, else null. */
  add(part: LanguageModelV4StreamPart): { kind: 'error'; error: unknown } | null {
    if (isProviderEvent(part)) this.hasEvents = true
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
      case 'tool-input-start':
      case 'tool-input-delta':
      case 'tool-call':
        this.#addCall(part)
        return null
      case 'finish':
        this.finish = toFinish(part.finishReason)
        this.#usage = toUsage(part.usage, this.#chars)
        return null
      case 'raw':
        if (part.rawValue instanceof TextWasReasoning) this.#moveText(part.rawValue.id)
        if (part.rawValue instanceof RepeatedCallId) this.#renameCall(part.rawValue)
        return null
      case 'error':
        return isMissingFinish(part.error) ? null : { kind: 'error', error: part.error }
      default:
        return null
    }
  }

  toAnswer(author: string): ModelAnswer {
    // A call with truncated arguments is reported to the loop, which does not run it.
    const calls = this.isFull ? [...this.#calls, ...this.#begun.values()] : this.#calls
    const answer = {
      text: this.#text,
      reasoning: this.#reasoning,
      calls,
      finish: this.finish,
      usage: this.#usage,
    }
    const providerParts = serializeProviderParts(author, this.#parts)
    if (providerParts === undefined) return answer
    const size = countStoredBytes(providerParts) + this.bytes
    return size > storedBytesMax ? answer : { ...answer, providerParts }
  }

  /** Returns as much of a piece as still fits, and counts it. */
  #fit(piece: string): string {
    const kept = truncateToStoredBytes(piece, this.#bytesMax - this.bytes)
    this.bytes += countStoredBytes(kept)
    this.#countChars(kept.length)
    if (kept.length < piece.length) this.isFull = true
    return kept
  }

  #countChars(chars: number): void {
    this.#chars += chars
    this.#listeners.onProgress?.(this.#chars)
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
    const text = this.#fit(delta.delta)
    if (text === '') return
    if (delta.type === 'text-delta') {
      this.#text += text
      if (part?.kind === 'text') part.chars += text.length
      this.#listeners.onDelta?.({ kind: 'text', text })
    } else {
      this.#reasoning += text
      if (part?.kind === 'reasoning') part.text += text
      this.#listeners.onDelta?.({ kind: 'reasoning', text })
    }
  }

  /** Turns the text of a part, the last so far, into reasoning. */
  #moveText(id: string): void {
    const part = this.#open.get(id)
    if (part?.kind !== 'text') return
    const at = this.#text.length - part.chars
    const moved = this.#text.slice(at)
    this.#text = this.#text.slice(0, at)
    this.#reasoning += moved
    const { metadata } = part
    const reasoning = { kind: 'reasoning', text: moved, ...(metadata && { metadata }) } as const
    this.#parts[this.#parts.indexOf(part)] = reasoning
    this.#listeners.onDelta?.({ kind: 'text', text: this.#text, isWhole: true })
    this.#listeners.onDelta?.({ kind: 'reasoning', text: moved })
  }

  #addCall(part: CallPart): void {
    // Calls that the provider executes need no result from us. We offer no such tools.
    if (part.type !== 'tool-input-delta' && part.providerExecuted) return
    if (part.type === 'tool-call') {
      this.#finishCall(part)
    } else if (part.type === 'tool-input-start') {
      this.#beginCall(part.id, part.toolName)
    } else {
      const begun = this.#begun.get(part.id)
      if (begun) begun.arguments += this.#fit(part.delta)
    }
  }

  #beginCall(callId: string, name: string): ModelAnswer['calls'][number] {
    const call = { callId, name, arguments: '' }
    this.#begun.set(callId, call)
    this.#countChars(name.length)
    this.bytes += callBytes
    if (this.bytes > this.#bytesMax) this.isFull = true
    return call
  }

  #renameCall({ partId, callId }: RepeatedCallId): void {
    const begun = this.#begun.get(partId)
    if (begun) begun.callId = callId
  }

  /** Completes a call. The final part repeats its arguments, or has them for the first time. */
  #finishCall({ toolCallId, toolName, input, providerMetadata }: LanguageModelV4ToolCall): void {
    const begun = this.#begun.get(toolCallId)
    const call = begun ?? this.#beginCall(toolCallId, toolName)
    this.#begun.delete(toolCallId)
    call.arguments = begun?.arguments === input ? input : this.#replace(begun?.arguments, input)
    this.#calls.push(call)
    const part: ProviderPart = { kind: 'call' }
    mergeMetadata(part, providerMetadata)
    this.#parts.push(part)
  }

  #replace(before: string | undefined, after: string): string {
    if (before) {
      this.bytes -= countStoredBytes(before)
      this.#countChars(-before.length)
    }
    return this.#fit(after)
  }
}

type CallPart =
  | LanguageModelV4ToolCall
  | (LanguageModelV4StreamPart & { type: 'tool-input-start' | 'tool-input-delta' })

/** Bytes for an answer and its provider parts in one row, which also holds the rest of the event. */
const storedBytesMax = limits.storedRowBytesMax - 64 * 1024

/** Converts a finish reason. A raw `error` of the provider is not one of the packages' reasons. */
function toFinish(reason: { unified: FinishReason; raw: string | undefined }): FinishReason {
  if (isMissingReason(reason)) return 'interrupted'
  return reason.raw === 'error' ? 'error' : reason.unified
}

/** Whether a part is from the provider. Packages add a start and an end even to an empty body. */
function isProviderEvent(part: LanguageModelV4StreamPart): boolean {
  if (part.type === 'stream-start') return false
  if (part.type === 'finish') return !isMissingReason(part.finishReason)
  return part.type !== 'error' || !isMissingFinish(part.error)
}

/** What the packages report when the provider gave no finish reason. */
const missingReasons = ['error', 'other', 'interrupted']
const isMissingReason = (reason: { unified: string; raw: string | undefined }) =>
  reason.raw === undefined && missingReasons.includes(reason.unified)

/** Whether an error part marks a Chat Completions stream without a finish reason. */
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

/**
 * Converts usage. Returns null when the provider sent none or only zeros, or none for an answer that has `chars`
 * characters; usage is then estimated. Numbers are passed on unchecked: the caller knows the call's bounds.
 */
function toUsage(usage: LanguageModelV4Usage, chars: number): ModelUsage | null {
  const input = usage.inputTokens.total
  const output = usage.outputTokens.total
  if (!input || output === undefined || (output === 0 && chars > 0)) return null
  return {
    inputTokens: input,
    cachedTokens: usage.inputTokens.cacheRead ?? 0,
    ...(usage.inputTokens.cacheWrite ? { cacheWriteTokens: usage.inputTokens.cacheWrite } : {}),
    outputTokens: output,
    reasoningTokens: usage.outputTokens.reasoning ?? 0,
  }
}

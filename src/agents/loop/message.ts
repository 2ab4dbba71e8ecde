/**
 * A tool call that a model asked for. Messages are independent of any wire format of a provider, in
 * the order system, user, assistant (with calls), tool results, assistant, ... Every call has
 * exactly one result.
 */
export interface ToolRequest {
  /** As the model gave it; `step` makes it unique within an activation. */
  callId: string
  name: string
  /** Raw JSON as the model wrote it; may be malformed. */
  arguments: string
}

export interface ToolOutput {
  callId: string
  name: string
  text: string
  isError: boolean
}

/** An image of a message, which only models get that see. A run keeps its id; the bytes are read for each call. */
export interface PromptImage {
  id: string
  /** Media type. */
  type: string
  width: number
  height: number
  /** Which text shows it, as the model reads that. */
  place: string
}

export type Message =
  | { role: 'system'; text: string }
  | { role: 'user'; text: string; images?: PromptImage[] }
  | {
      role: 'assistant'
      text: string
      calls: ToolRequest[]
      /** Parts of the provider (reasoning with its signature) that are sent back unread; JSON. */
      providerParts?: string
    }
  | { role: 'tool'; results: ToolOutput[] }

export interface ModelUsage {
  /** Prompt tokens, cached ones included. */
  inputTokens: number
  cachedTokens: number
  /** Prompt tokens written to a cache, where they have a separate price; part of `inputTokens`. */
  cacheWriteTokens?: number
  /** Answer tokens, reasoning included. */
  outputTokens: number
  reasoningTokens: number
}

/** How an answer ended. `interrupted`: the stream ended cleanly but without a finish reason. */
export type FinishReason =
  | 'stop'
  | 'tool-calls'
  | 'length'
  | 'content-filter'
  | 'error'
  | 'interrupted'
  | 'other'

export interface ModelAnswer {
  text: string
  reasoning: string
  calls: ToolRequest[]
  finish: FinishReason
  /**
   * As the provider reported it, not validated; null when it reported none and usage is estimated.
   */
  usage: ModelUsage | null
  providerParts?: string
}

/** A model call without an answer. Returned as data, not thrown. */
export interface ModelFailure {
  code:
    | 'PROVIDER_AUTH'
    | 'PROVIDER_BUSY'
    | 'PROVIDER_ERROR'
    | 'NETWORK'
    | 'TIMEOUT'
    | 'CONFIG'
    | 'INVALID_DEFINITION'
    | 'CANCELLED'
    /** The call failed inside the hub, not at the provider. */
    | 'HUB_UNREACHABLE'
  /** Readable by people. Contains no secret and no text of users. */
  message: string
  /**
   * The error text of the provider, without keys and truncated: shown in the trace only, since it
   * may quote the prompt.
   */
  detail?: string | null
  isRetryable: boolean
  /** The same call fails until somebody changes something: asking again does not help. */
  isPermanent?: boolean
  /** The provider takes no such prompt. */
  refusesPrompt?: boolean
  /** The prompt does not fit into the model's context window. */
  isTooLong?: boolean
  /** From the `Retry-After` header. */
  retryAfterMs: number | null
  /**
   * The provider may have processed the request, so the prompt is charged, and what had arrived of
   * the answer.
   */
  mayBeCharged: boolean
  /** What had arrived of the answer; absent when nothing had. */
  received?: ReceivedAnswer
  /** The provider serves no call at all at present; absent for other failures. */
  outage?: Outage
}

/** What had arrived of an answer that was not completed. */
export interface ReceivedAnswer {
  /** Characters of text, reasoning and tool calls. */
  chars: number
  /** As the provider reported it with the failure, not validated. */
  usage?: ModelUsage
}

/** A provider that cannot be reached, or whose gateway answers that it is down. */
export interface Outage {
  /** Display name of the provider. */
  provider: string
  /** Base URL, without credentials and query. */
  address: string
  /** The setting, or the field of the definition, that holds the address. */
  setting: string
}

/** The shortest useful answer, in tokens. Without space for it no model call is started. */
export const outputTokensFloor = 64

const charsPerToken = 4

/**
 * Estimates the tokens of images: a token for every 750 pixels (platform.claude.com, vision), and a fixed part as OpenAI
 * counts it (developers.openai.com, images and vision).
 */
const estimateImageTokens = (images: PromptImage[] = []): number =>
  images.reduce((sum, { width, height }) => sum + 85 + Math.ceil((width * height) / 750), 0)

/** Characters added for each message, beside its text. */
const charsPerMessage = 16

/** Estimates the tokens of so many characters, before a provider has counted them. */
export const estimateTokensOfChars = (chars: number): number => Math.ceil(chars / charsPerToken)

/** Returns the characters of a message that count in an estimate. */
export function countChars(message: Message): number {
  if (message.role === 'tool') {
    return message.results.reduce(
      (sum, { text, name }) => sum + text.length + name.length,
      charsPerMessage,
    )
  }
  if (message.role === 'user') {
    const imageChars = estimateImageTokens(message.images) * charsPerToken
    return charsPerMessage + message.text.length + imageChars
  }
  if (message.role === 'system') return charsPerMessage + message.text.length
  return message.calls.reduce(
    (sum, call) => sum + call.name.length + call.arguments.length,
    charsPerMessage + message.text.length + (message.providerParts?.length ?? 0),
  )
}

export const countTotalChars = (messages: Message[]): number => {
  let chars = 0
  for (const message of messages) chars += countChars(message)
  return chars
}

/**
 * Returns whether an answer is a text that reached its length limit and is continued in a further
 * call.
 */
export const isTruncated = ({
  text,
  calls,
  finish,
}: Pick<ModelAnswer, 'text' | 'calls' | 'finish'>): boolean =>
  finish === 'length' && calls.length === 0 && text.trim() !== ''

/**
 * Returns whether the provider gave no reason that says the answer is complete. A broken stream can
 * leave a call without its arguments, which looks like a call that takes none, so the calls of such
 * an answer are not run.
 */
export const isUnknownEnd = (finish: FinishReason): boolean =>
  finish === 'interrupted' || finish === 'other'

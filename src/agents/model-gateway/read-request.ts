import { modelGateway } from '../../shared/config'
import type { ModelProtocol } from '../../shared/runner-protocol'
import type { ModelRequestFacts } from '../contract/coding-agents'
import { estimateTokensOfChars } from '../loop/estimate'
import { findUnsupported } from './find-unsupported'
import { type GatewayError, gatewayErrors } from './gateway-errors'
import { isObject, type JsonObject, readCount, readList, readText } from './json-fields'
import { measureMedia } from './measure-media'

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
        ...measurePrompt(body, bytes),
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
export function measurePrompt(
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

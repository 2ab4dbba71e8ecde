import type { ModelProtocol } from '../../shared/runner-protocol'
import { isObject, type JsonObject, readCount, readList, readText } from './json-fields'
import { knownFields } from './known-fields'

export interface Admitted {
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

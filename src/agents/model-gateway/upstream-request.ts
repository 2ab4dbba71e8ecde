import type { ModelProtocol } from '../../shared/runner-protocol'
import type { Upstream } from '../models/model-port'

/**
 * Betas that change no price, let the provider run nothing, and let it read only what is in the request. Others are left
 * out: what they would allow in a body is refused.
 */
const passedBetas = new Set([
  ...['claude-code', 'interleaved-thinking', 'adaptive-thinking', 'redact-thinking', 'effort'],
  ...['thinking-token-count', 'thinking-display-updates', 'thinking-binding-controls'],
  ...['context-management', 'prompt-caching', 'prompt-caching-scope', 'structured-outputs'],
  ...['fine-grained-tool-streaming', 'token-efficient-tools', 'tool-examples', 'output-128k'],
  ...['advanced-tool-use', 'mid-conversation-system', 'mid-conversation-tool-changes'],
  ...['inline-tools', 'task-budgets', 'token-counting', 'per-turn-control'],
])

/** A beta's name without its date. */
const betaName = /^([a-z\d-]{1,60}?)-(?:\d{8}|\d{4}-\d\d-\d\d)$/

/** Returns the URL of a provider's endpoint. A base URL of Anthropic works with and without `/v1`. */
export function toEndpoint(protocol: ModelProtocol, baseUrl: string): string {
  switch (protocol) {
    case 'anthropic-messages':
      return `${baseUrl.endsWith('/v1') ? baseUrl : `${baseUrl}/v1`}/messages`
    case 'openai-chat':
      return `${baseUrl}/chat/completions`
    case 'openai-responses':
      return `${baseUrl}/responses`
  }
}

/** Returns the headers for a provider: its key, and of the program's only those that the protocol needs. */
export function toUpstreamHeaders(
  protocol: ModelProtocol,
  { key }: Pick<Upstream, 'key'>,
  { headers }: Request,
): Record<string, string> {
  const base = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  if (protocol !== 'anthropic-messages')
    return { ...base, ...(key && { authorization: `Bearer ${key}` }) }
  const version = headers.get('anthropic-version') ?? ''
  const betas = (headers.get('anthropic-beta') ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => passedBetas.has(betaName.exec(name)?.[1] ?? ''))
  return {
    ...base,
    'x-api-key': key,
    'anthropic-version': /^\d{4}-\d\d-\d\d$/.test(version) ? version : '2023-06-01',
    ...(betas.length > 0 && { 'anthropic-beta': betas.join(',') }),
  }
}

import type { ModelProtocol } from '../../shared/runner-protocol'
import type { Upstream } from '../models/model-port'

/** Betas that change prices, or let the provider run tools or read what is not in the request. */
const refusedBetas =
  /^(context-1m|fast-mode|mcp-client|code-execution|files-api|skills|advisor|oauth|extended-cache-ttl|web-(fetch|search)|server-side)/

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
    .filter((name) => /^[\w-]{1,80}$/.test(name) && !refusedBetas.test(name))
  return {
    ...base,
    'x-api-key': key,
    'anthropic-version': /^\d{4}-\d\d-\d\d$/.test(version) ? version : '2023-06-01',
    ...(betas.length > 0 && { 'anthropic-beta': betas.join(',') }),
  }
}

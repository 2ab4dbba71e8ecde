import type { ModelProtocol } from '../../shared/runner-protocol'

/**
 * The protocols that a provider speaks at its base URL, for programs that bring their own client. The offline
 * model speaks none: it has no server.
 */
export const providerProtocols: Readonly<Record<string, readonly ModelProtocol[]>> = {
  anthropic: ['anthropic-messages'],
  openai: ['openai-chat', 'openai-responses'],
  'openai-compatible': ['openai-chat'],
  // Its compatible endpoint; the other protocol is open to two of its models only.
  'workers-ai': ['openai-chat'],
  offline: [],
}

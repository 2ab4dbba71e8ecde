import type { ModelProtocol } from '../../shared/runner-protocol'

/** Which protocols the model gateway speaks to each provider: nothing is translated between protocols. */
const modelProtocols: Readonly<Record<string, readonly ModelProtocol[]>> = {
  anthropic: ['anthropic-messages'],
  openai: ['openai-chat', 'openai-responses'],
  'openai-compatible': ['openai-chat'],
  'workers-ai': ['openai-chat'],
  // it is part of the hub, which answers in any of them
  offline: ['anthropic-messages', 'openai-chat', 'openai-responses'],
}

/** Returns the protocols in which programs can reach a provider; none for an unknown one. */
export const protocolsOf = (provider: string): readonly ModelProtocol[] =>
  Object.hasOwn(modelProtocols, provider) ? (modelProtocols[provider] ?? []) : []

/** Returns the providers that programs can reach in any of these protocols. */
export const providersFor = (protocols: readonly ModelProtocol[]): string[] =>
  Object.keys(modelProtocols).filter((provider) =>
    protocolsOf(provider).some((each) => protocols.includes(each)),
  )

import type { ModelProtocol } from '../../shared/runner-protocol'

/** What a request to the gateway asks for. */
export type GatewayRoute =
  | { kind: 'answer' | 'count'; protocol: ModelProtocol }
  /** All models of the run, or one: it has a single model, whatever name the program asks for. */
  | { kind: 'list' | 'model'; protocol: ModelProtocol }

/** The first segment below which the gateway answers. */
const gatewayPath = '/gateway'

const answers: Record<string, ModelProtocol> = {
  messages: 'anthropic-messages',
  'chat/completions': 'openai-chat',
  responses: 'openai-responses',
}

/**
 * Returns what a path asks for, or null for an unknown one. Clients append their paths to the base URL with
 * `/v1`, without, or though the base has it already; all of these mean the same.
 */
export function readGatewayRoute(request: Request): GatewayRoute | null {
  const { pathname } = new URL(request.url)
  if (!pathname.startsWith(`${gatewayPath}/`)) return null
  const path = pathname
    .slice(gatewayPath.length)
    .replace(/\/{2,}/g, '/')
    .replace(/^(\/v1)+(?=\/)/, '')
    .replace(/^\/|\/$/g, '')
  if (request.method === 'POST') {
    const protocol = Object.hasOwn(answers, path) ? answers[path] : undefined
    if (protocol) return { kind: 'answer', protocol }
    if (path === 'messages/count_tokens') return { kind: 'count', protocol: 'anthropic-messages' }
    return null
  }
  if (request.method !== 'GET' || !/^models(\/|$)/.test(path)) return null
  return { kind: path === 'models' ? 'list' : 'model', protocol: guessProtocol(request) }
}

/** Returns the protocol of a request whose path does not decide: only clients of Anthropic send a version. */
export const guessProtocol = ({ headers }: Request): ModelProtocol =>
  headers.has('anthropic-version') ? 'anthropic-messages' : 'openai-chat'

/**
 * The model gateway alone, as a Worker for tests that need a real connection: its provider is at the address in
 * `?provider=` of its token, and the agent's object is a list in memory, which `/settled` returns.
 */
import { waitUntil } from 'cloudflare:workers'
import type { ModelRequestArbiter } from '../../src/agents/contract/coding-agents'
import { createModelGateway } from '../../src/agents/model-gateway/create-model-gateway'
import { createModelRegistry } from '../../src/agents/models/registry'
import type { AccountId, ActivationId } from '../../src/shared/ids'
import { settingsSchema } from '../../src/shared/settings'

const settled: unknown[] = []

/** An agent's object whose definition names the provider's address. */
const createArbiter = (apiBase: string): ModelRequestArbiter => ({
  readRunModel: async () => null,
  admitRequest: async () => ({
    ok: true,
    request: 1,
    model: 'openai-compatible/fake',
    outputTokens: 100,
    place: { provider: 'openai-compatible', apiBase },
    connections: [],
  }),
  settleRequest: async (_activationId, _request, result) => void settled.push(result),
  noteToolsListed: async () => {},
})

const { findUpstream } = createModelRegistry(settingsSchema.parse({}))

const gateway = createModelGateway({
  // The token is the address of the provider, and so is the id of the agent.
  findRun: async (token) => ({
    agentId: atob(token) as AccountId,
    activationId: 'run' as ActivationId,
    attempt: null,
  }),
  arbiterOf: createArbiter,
  findUpstream,
  defer: waitUntil,
})

export default {
  fetch: async (request: Request) =>
    new URL(request.url).pathname === '/settled'
      ? Response.json(settled.splice(0))
      : gateway(request, { recordCaller() {}, count: async () => null }),
}

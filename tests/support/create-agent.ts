import { runInDurableObject } from 'cloudflare:test'
import { env } from 'cloudflare:workers'
import type { AgentObjectBase } from '../../src/agents/agent-object'
import { AgentShell } from '../../src/agents/agent-shell'
import type { Clock } from '../../src/agents/models/model-port'
import { createModelRegistry } from '../../src/agents/models/registry'
import { ActivationStream } from '../../src/agents/run/live-stream'
import { composeApp } from '../../src/compose'
import { readSettings } from '../../src/shared/settings'
import { pushDefinition, waitForValue } from './cast'
import type { FakeAnswer, FakeRequest } from './fake-model-server'

const fakeUrl = (env as unknown as { FAKE_MODEL_URL: string }).FAKE_MODEL_URL

/** Models with a price, so that charges can be compared. */
const pricedModels = {
  anthropic: 'claude-haiku-4-5',
  openai: 'gpt-5-mini',
  'openai-compatible': 'gpt-5-mini',
}
export type FakeProvider = keyof typeof pricedModels

export interface TestAgent {
  name: string
  accountId: string
  /** Returns the requests to the provider, oldest first. */
  requests(): Promise<FakeRequest[]>
}

/** Prefix of script names, as all test files share one fake server. */
const workerId = Math.random().toString(36).slice(2, 8)
/** Agents of other files in the same Worker have the same names. */
let agents = 0

/** Creates an agent with a scripted model of the fake provider. */
export async function createAgent(
  name: string,
  answers: FakeAnswer[],
  given: {
    provider?: FakeProvider
    model?: string
    grants?: string[]
    behavior?: string
    files?: Record<string, string>
    /** A definition to use with the scripted model: its `brain:` is replaced. */
    definition?: Record<string, string>
  } = {},
): Promise<TestAgent> {
  const provider = given.provider ?? 'openai-compatible'
  const script = `${workerId}-${++agents}-${name}`
  await fetch(`${fakeUrl}/__script`, {
    method: 'POST',
    body: JSON.stringify({ id: script, answers }),
  })
  const brain = [
    `provider: ${provider}`,
    `model: ${given.model ?? pricedModels[provider]}`,
    `api_base: "${fakeUrl}/s/${script}/v1"`,
    'api_key_env: FAKE_API_KEY',
  ]
  const { definition } = given
  const config = definition?.['config.yaml']?.replace(
    /^brain:\n(?: .*\n)*/m,
    () => `brain: { ${brain.join(', ')} }\n`,
  )
  const accountId = await pushDefinition(name, {
    'config.yaml': `name: ${name}\nbrain: { ${brain.join(', ')} }\ncapabilities: { grants: ${JSON.stringify(given.grants ?? ['hub:read'])} }\n${given.behavior ?? ''}`,
    'system-prompt.md': 'You are a test agent.',
    ...definition,
    ...(config !== undefined && { 'config.yaml': config }),
    ...given.files,
  })
  return {
    name,
    accountId,
    requests: async () => (await fetch(`${fakeUrl}/__log?script=${script}`)).json(),
  }
}

/** Milliseconds, or as soon as the provider has received the request of a call that it never answers. */
export type IdleTimeout = number | 'once received'

/** A clock whose nth timer ends when the provider has received n requests. */
function createRequestClock({ requests }: TestAgent): Clock {
  let timers = 0
  return {
    now: () => Date.now(),
    setTimer(_ms, action) {
      const wanted = ++timers
      let isCancelled = false
      const isReceived = async () => isCancelled || (await requests()).length >= wanted
      waitForValue(isReceived, 'a request')
        .then(() => isCancelled || action())
        .catch(action)
      return () => {
        isCancelled = true
      }
    },
  }
}

/** Sets the idle timeout of an agent's models. */
export async function setIdleTimeout(agent: TestAgent, timeout: IdleTimeout): Promise<void> {
  const { agentDeps } = composeApp(env as unknown as Env)
  const settings = readSettings(env as unknown as Record<string, unknown>)
  const readKey = (name: string) => String(Reflect.get(env, name) ?? '')
  const ms = timeout === 'once received' ? 1 : timeout
  const models = createModelRegistry(settings, {
    timeouts: { firstByteMs: ms, betweenBytesMs: ms },
    ...(timeout === 'once received' && { clock: createRequestClock(agent) }),
    readKey,
  })
  const stub = (env.AGENTS as DurableObjectNamespace<AgentObjectBase<Env>>).getByName(
    agent.accountId,
  )
  await runInDurableObject(stub, (object, state) => {
    const stream = new ActivationStream(state, agentDeps.mask)
    const shell = new AgentShell(state.storage, { ...agentDeps, models }, stream)
    Reflect.set(object, 'shell', shell)
  })
}

export interface FinishedActivation {
  id: string
  outcome: string
  error: string | null
  iterations: number
  cost_microusd: number
  reserved_microusd: number
  reserved_tokens: number
}

export const waitForActivation = (postId: string): Promise<FinishedActivation> =>
  waitForValue(
    () =>
      env.DB.prepare("SELECT * FROM activations WHERE post_id = ? AND state = 'done'")
        .bind(postId)
        .first<FinishedActivation>(),
    'the activation',
  )

import * as z from 'zod'
import { presenterOf } from '../http/answers'
import { requireAdmin } from '../http/authenticate'
import { type Route, routesOf } from '../http/route'
import { personAnswer } from '../rules/people'
import {
  type ModelsView,
  modelTestInput,
  type ProviderView,
  toModelsView,
  tryModel,
} from './model-actions'
import { selectModelUsers } from './model-queries'

const route = routesOf('hub')

const dollars = z.number().describe('Micro-dollars per million tokens.')

const providerAnswer = z
  .object({
    provider: z.string(),
    title: z.string(),
    source: z
      .enum(['environment', 'page', 'binding', 'none'])
      .describe('Where it is set up. What the environment sets takes precedence.'),
    is_ready: z.boolean().describe('Whether agents can use it.'),
    key_problem: z
      .enum(['untested', 'refused', 'busy', 'unreachable', 'failed'])
      .nullable()
      .describe(
        'Why agents do not use the key that an admin set; null: they do, or there is none.',
      ),
    needs_key: z.boolean(),
    has_stored_key: z.boolean().describe('Whether an admin set a key on this hub.'),
    key_setting: z.string().describe('The environment variable of its key.'),
    base_url: z.string().nullable(),
    default_model: z
      .string()
      .nullable()
      .describe('The model of definitions that name the provider only, or `auto`.'),
    listed_models: z.array(z.string()),
    agents: z.array(z.object({ agent: personAnswer, model: z.string() })),
  })
  .meta({ id: 'ModelProvider' })

const presentProvider = presenterOf(providerAnswer).from<ProviderView>({
  listed_models: ({ listed }) => listed.map(({ name }) => name),
  agents: ({ users }) => users.map(({ agent, model }) => ({ agent, model })),
})

const priceAnswer = z.object({
  model: z.string(),
  provider: z.string(),
  context_tokens: z.int(),
  is_set_here: z.boolean().describe('Whether an admin set the price on this hub.'),
  input: dollars,
  cached: dollars,
  output: dollars,
})

const presentPrice = presenterOf(priceAnswer).from<ModelsView['prices'][number]>({})

const modelsAnswer = z.object({
  providers: z.array(providerAnswer),
  auto: z
    .array(z.string())
    .describe('The models of definitions with `provider: auto`, the preferred one first.'),
  prices: z.array(priceAnswer),
  offline_agents: z.array(personAnswer).describe('Agents that use the built-in offline model.'),
})

const testAnswer = z.object({
  model: z.string(),
  has_succeeded: z.boolean(),
  latency_ms: z.int(),
  input_tokens: z.int(),
  output_tokens: z.int(),
  cost_microusd: z.int(),
  is_priced: z.boolean(),
  text: z.string().describe('The beginning of the answer.'),
  failure: z.string().nullable().describe('Why the call failed; null when it succeeded.'),
})

/** Routes of model providers; keys and addresses are set by routes of another module. */
export const modelRoutes: Route[] = [
  route({
    method: 'get',
    path: '/models',
    summary: 'Lists model providers, which agents use them, and prices (admin)',
    access: 'own',
    answer: modelsAnswer,
    handle: async ({ context, read }) => {
      const { agents, models } = context
      const { viewer, answers } = await read({
        connections: models.selectConnections(),
        users: selectModelUsers({}),
      })
      if (viewer) requireAdmin(viewer)
      const view = toModelsView(agents.models, answers.connections, answers.users)
      return {
        providers: view.providers.map(presentProvider),
        auto: view.auto,
        prices: view.prices.map(presentPrice),
        offline_agents: view.offline,
      }
    },
  }),
  route({
    method: 'post',
    path: '/models/test',
    summary:
      'Makes one short call to a model, paid by the budgets, and returns what it took (admin)',
    access: 'admin',
    body: modelTestInput,
    answer: testAnswer,
    handle: async (call) => {
      const tried = await tryModel(call.context, call.actor(), call.body.model)
      return {
        model: tried.model,
        has_succeeded: tried.failure === null,
        latency_ms: tried.durationMs,
        input_tokens: tried.usage?.inputTokens ?? 0,
        output_tokens: tried.usage?.outputTokens ?? 0,
        cost_microusd: tried.usage?.microusd ?? 0,
        is_priced: tried.usage?.isPriced ?? true,
        text: tried.text,
        failure: tried.failure,
      }
    },
  }),
]

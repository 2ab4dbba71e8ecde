import * as z from 'zod'
import { outside } from '../../shared/config'
import { knownFields } from '../../shared/known-fields'
import { modelNameInput, modelPriceInput } from '../contract/model-price'
import type { AdminRoute } from './admin-route'

const provider = z.string().regex(/^[a-z][a-z0-9-]{0,39}$/, 'Must be the name of a provider')

/** A key as an admin submits it. */
export const modelKeyInput = z
  .string()
  .trim()
  .min(1)
  .max(outside.credentialCharsMax)
  .describe('the secret, or env:ROOKERY_SECRET_NAME for a secret of the Worker; never read back')

const modelProviderInput = knownFields({
  key: modelKeyInput.optional(),
  base_url: z
    .string()
    .trim()
    .max(2_000)
    .optional()
    .describe('Empty for the built-in one. Another host requires the key again.'),
  allow_private: z
    .boolean()
    .optional()
    .describe('The address is private; also requires ROOKERY_ALLOW_PRIVATE_SERVICES=true.'),
  default_model: z
    .string()
    .trim()
    .max(200)
    .optional()
    .describe('The model of definitions that name none; empty for the default of the provider.'),
})

const common = {
  access: 'admin',
  status: 200,
  tag: 'hub',
  rate: 'write',
  params: { provider },
} as const
const answer = z.object({ provider: z.string() })

/** The API routes that set up model providers. No response contains a key. */
export const modelRoutes: AdminRoute[] = [
  {
    ...common,
    method: 'put',
    path: '/model-providers/:provider',
    summary:
      'Sets key, base URL and default model of a model provider; fields that are left out stay (admin)',
    body: modelProviderInput,
    answer,
    handle: async ({ deps: { modelAdmin }, admin, params, body }) => {
      const { key, ...rest } = body as z.output<typeof modelProviderInput>
      const name = params.provider ?? ''
      if (Object.keys(rest).length > 0 || key === undefined) {
        await modelAdmin.putProvider(admin, name, rest)
      }
      if (key !== undefined) await modelAdmin.putKey(admin, name, key)
      return { provider: name }
    },
  },
  {
    ...common,
    method: 'put',
    path: '/model-providers/:provider/prices',
    summary: 'Sets the price of a model, which budgets count calls with that begin later (admin)',
    body: modelPriceInput,
    answer: answer.extend({ model: z.string() }),
    handle: async ({ deps: { modelAdmin }, admin, params, body }) => {
      const name = params.provider ?? ''
      const { model, ...price } = body as z.output<typeof modelPriceInput>
      await modelAdmin.putPrice(admin, name, { model, price })
      return { provider: name, model }
    },
  },
  {
    ...common,
    method: 'post',
    path: '/model-providers/:provider/prices/reset',
    summary: 'Deletes the price that was set for a model: the built-in one counts again (admin)',
    body: modelNameInput,
    answer: answer.extend({ model: z.string() }),
    handle: async ({ deps: { modelAdmin }, admin, params, body }) => {
      const name = params.provider ?? ''
      const { model } = body as z.output<typeof modelNameInput>
      await modelAdmin.putPrice(admin, name, { model, price: null })
      return { provider: name, model }
    },
  },
  {
    ...common,
    method: 'delete',
    path: '/model-providers/:provider',
    summary: 'Deletes key, base URL, default model and prices of a model provider (admin)',
    answer,
    handle: async ({ deps: { modelAdmin }, admin, params }) => {
      const name = params.provider ?? ''
      await modelAdmin.deleteProvider(admin, name)
      return { provider: name }
    },
  },
  {
    ...common,
    method: 'post',
    path: '/model-providers/:provider/list',
    summary: 'Asks a model provider for the names of its models, and stores them (admin)',
    answer: answer.extend({ models: z.array(z.string()) }),
    handle: async ({ deps: { modelAdmin }, admin, params }) => {
      const name = params.provider ?? ''
      const models = await modelAdmin.listModels(admin, name)
      return { provider: name, models }
    },
  },
]

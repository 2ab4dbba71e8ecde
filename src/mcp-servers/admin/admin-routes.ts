import * as z from 'zod'
import { outside } from '../../shared/config'
import type { ActivationId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import { modelNameInput, modelPriceInput } from '../contract/model-admin'
import { setCredential } from '../credentials/vault'
import { callerErrors } from '../outside/activation-token'
import { serviceInput } from '../services/services'
import { type AdminCall, type AdminRoute, recordAction, toServiceSettings } from './admin-route'
import { remoteRoutes } from './remote-routes'

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
  use_untested: z
    .literal(true)
    .optional()
    .describe(
      'Lets agents use the key at once. Without, they use it after a test of one of its models succeeds.',
    ),
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

const modelCommon = {
  access: 'admin',
  status: 200,
  tag: 'hub',
  rate: 'write',
  params: { provider },
} as const
const providerAnswer = z.object({ provider: z.string() })

/** The API routes that set up model providers. No response contains a key. */
const modelRoutes: AdminRoute[] = [
  {
    ...modelCommon,
    method: 'put',
    path: '/model-providers/:provider',
    summary:
      'Sets key, base URL and default model of a model provider; fields that are left out stay (admin)',
    body: modelProviderInput,
    answer: providerAnswer,
    handle: async ({ deps: { modelAdmin }, admin, params, body }) => {
      const { key, use_untested, ...rest } = body as z.output<typeof modelProviderInput>
      const name = params.provider ?? ''
      if (Object.keys(rest).length > 0 || (key === undefined && !use_untested)) {
        await modelAdmin.putProvider(admin, name, rest)
      }
      if (key !== undefined) await modelAdmin.putKey(admin, name, key)
      if (use_untested) await modelAdmin.useKey(admin, name)
      return { provider: name }
    },
  },
  {
    ...modelCommon,
    method: 'put',
    path: '/model-providers/:provider/prices',
    summary: 'Sets the price of a model, which budgets count calls with that begin later (admin)',
    body: modelPriceInput,
    answer: providerAnswer.extend({ model: z.string() }),
    handle: async ({ deps: { modelAdmin }, admin, params, body }) => {
      const name = params.provider ?? ''
      const { model, ...price } = body as z.output<typeof modelPriceInput>
      await modelAdmin.putPrice(admin, name, { model, price })
      return { provider: name, model }
    },
  },
  {
    ...modelCommon,
    method: 'post',
    path: '/model-providers/:provider/prices/reset',
    summary: 'Deletes the price that was set for a model: the built-in one counts again (admin)',
    body: modelNameInput,
    answer: providerAnswer.extend({ model: z.string() }),
    handle: async ({ deps: { modelAdmin }, admin, params, body }) => {
      const name = params.provider ?? ''
      const { model } = body as z.output<typeof modelNameInput>
      await modelAdmin.putPrice(admin, name, { model, price: null })
      return { provider: name, model }
    },
  },
  {
    ...modelCommon,
    method: 'delete',
    path: '/model-providers/:provider',
    summary: 'Deletes key, base URL, default model and prices of a model provider (admin)',
    answer: providerAnswer,
    handle: async ({ deps: { modelAdmin }, admin, params }) => {
      const name = params.provider ?? ''
      await modelAdmin.deleteProvider(admin, name)
      return { provider: name }
    },
  },
  {
    ...modelCommon,
    method: 'post',
    path: '/model-providers/:provider/list',
    summary: 'Asks a model provider for the names of its models, and stores them (admin)',
    answer: providerAnswer.extend({ models: z.array(z.string()) }),
    handle: async ({ deps: { modelAdmin }, admin, params }) => {
      const name = params.provider ?? ''
      const models = await modelAdmin.listModels(admin, name)
      return { provider: name, models }
    },
  },
]

const id = z.string().regex(/^[\w-]{1,100}$/, 'Must be the id of an activation')

/** The route that issues activation tokens, for runners that start another program for an agent. */
const tokenRoutes: AdminRoute[] = [
  {
    access: 'admin',
    rate: 'write',
    status: 200,
    tag: 'tools',
    method: 'post',
    path: '/activations/:id/token',
    summary:
      'Issues a token for /mcp that is valid for minutes, while the activation runs; its bearer calls tools as the agent (admin)',
    params: { id },
    answer: z.object({ token: z.string(), expires_at: z.iso.datetime() }),
    handle: async ({ deps, admin, params }) => {
      const { hub, tokens, clock, readToolRestrictions } = deps
      const activationId = (params.id ?? '') as ActivationId
      const found = await hub.findActivation(activationId)
      if (!found) throw callerErrors.notRunning()
      const toolRestrictions = await readToolRestrictions(found.name, found.etag)
      if (!toolRestrictions) throw callerErrors.definitionUnreadable(found.name)
      const audience = ['mcp'] as const
      const claim = { accountId: found.id, activationId, audience, attempt: null, toolRestrictions }
      await recordAction(hub, admin, 'activation', 'token', { name: activationId })
      const { token, expiresAt } = await tokens.issue(claim, clock.now())
      return { token, expires_at: new Date(expiresAt).toISOString() }
    },
  },
]

export const nameInput = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,39}$/, 'Must be lower case letters, digits and dashes')

export const credentialInput = knownFields({
  value: z
    .string()
    .min(1)
    .max(outside.credentialCharsMax)
    .describe('the secret, or env:ROOKERY_SECRET_NAME for a secret of the Worker; never read back'),
  server: nameInput.default('http'),
  service: nameInput,
  community: z
    .string()
    .min(1)
    .max(100)
    .nullish()
    .describe('only for agents working in this community'),
  agent: z.string().min(1).max(100).nullish().describe('only for this agent'),
})

const common = { access: 'admin', status: 200, tag: 'tools' } as const
type Service = z.output<typeof serviceInput>

const time = z.iso.datetime()
const scopeNote = 'Null for all of them.'

const credentialAnswer = z
  .object({
    name: z.string(),
    server: z.string(),
    service: z.string(),
    destination: z
      .string()
      .nullable()
      .describe('the origin it may be sent to; null: its service is not declared yet'),
    community: z.string().nullable().describe(scopeNote),
    agent: z.string().nullable().describe(scopeNote),
    source: z.string().describe('vault, or env:NAME for a secret of the Worker'),
    key: z
      .string()
      .nullable()
      .describe('current or old: the key that encrypts the value; null for a secret of the Worker'),
    updated_at: time.nullable(),
    updated_by: z.string(),
    last_used_at: time.nullable(),
  })
  .meta({ id: 'Credential' })

const serviceAnswer = z
  .object({
    server: z.string(),
    name: z.string(),
    base_url: z.string(),
    hosts: z.array(z.string()).describe('further hosts that the service redirects to'),
    headers: z.record(z.string(), z.string()),
    credential: z.string().nullable(),
    format: z.enum(['json', 'any']),
    allow_http: z.boolean(),
    allow_private: z.boolean(),
    is_built_in: z.boolean(),
    updated_at: time.nullable(),
    updated_by: z.string().nullable(),
  })
  .meta({ id: 'Service' })

const credentialsAnswer = z.object({ credentials: z.array(credentialAnswer) })
const servicesAnswer = z.object({ services: z.array(serviceAnswer) })
const namedAnswer = z.object({ name: z.string() })
type Named = z.input<typeof namedAnswer>
const namedServiceAnswer = namedAnswer.extend({ server: z.string() })

const put = async ({ deps, admin, params, body }: AdminCall, server: string): Promise<Named> => {
  const name = params.name ?? ''
  const after = toServiceSettings(body as Service)
  await recordAction(deps.hub, admin, 'service', 'set', { name: `${server}/${name}`, after })
  await deps.services.put(server, name, body as Service, admin.name)
  return { name }
}

const remove = async ({ deps, admin, params }: AdminCall, server: string): Promise<Named> => {
  const name = params.name ?? ''
  await recordAction(deps.hub, admin, 'service', 'delete', { name: `${server}/${name}` })
  await deps.services.remove(server, name)
  return { name }
}

/** The API routes of credentials and external services. No response contains a credential's value. */
export const adminRoutes: AdminRoute[] = [
  {
    ...common,
    method: 'get',
    rate: 'read',
    path: '/credentials',
    summary: 'Lists credentials without their values: service, source, last use (admin)',
    answer: credentialsAnswer,
    handle: async ({ deps }): Promise<z.input<typeof credentialsAnswer>> => ({
      credentials: await deps.vault.list(),
    }),
  },
  {
    ...common,
    method: 'put',
    rate: 'write',
    path: '/credentials/:name',
    summary: 'Creates or replaces a credential; no response contains its value (admin)',
    body: credentialInput,
    answer: namedAnswer,
    handle: async ({ deps, admin, params, body }) => {
      const name = params.name ?? ''
      const input = body as z.output<typeof credentialInput>
      await setCredential(deps, admin, { ...input, name })
      return { name }
    },
  },
  {
    ...common,
    method: 'delete',
    rate: 'write',
    path: '/credentials/:name',
    summary: 'Deletes a credential (admin)',
    answer: namedAnswer,
    handle: async ({ deps, admin, params }) => {
      await recordAction(deps.hub, admin, 'credential', 'delete', { name: params.name ?? '' })
      await deps.vault.remove(params.name ?? '')
      return { name: params.name }
    },
  },
  {
    ...common,
    method: 'get',
    rate: 'read',
    path: '/services',
    summary: 'Lists external services that tools can use, declared or built in (admin)',
    answer: servicesAnswer,
    handle: async ({ deps }): Promise<z.input<typeof servicesAnswer>> => ({
      services: await deps.services.list(),
    }),
  },
  {
    ...common,
    method: 'put',
    rate: 'write',
    path: '/services/:server/:name',
    summary:
      'Declares a service of a server such as http, github or postgres; another origin needs the values of its credentials again (admin)',
    body: serviceInput,
    answer: namedServiceAnswer,
    handle: async (call) => ({
      server: call.params.server,
      ...(await put(call, call.params.server ?? '')),
    }),
  },
  {
    ...common,
    method: 'delete',
    rate: 'write',
    path: '/services/:server/:name',
    summary: 'Deletes a declared service; a built-in declaration applies again (admin)',
    answer: namedServiceAnswer,
    handle: async (call) => ({
      server: call.params.server,
      ...(await remove(call, call.params.server ?? '')),
    }),
  },
  {
    ...common,
    method: 'get',
    rate: 'read',
    path: '/http-services',
    summary: 'Lists the services of the server http (admin)',
    answer: servicesAnswer,
    handle: async ({ deps }): Promise<z.input<typeof servicesAnswer>> => ({
      services: await deps.services.list('http'),
    }),
  },
  {
    ...common,
    method: 'put',
    rate: 'write',
    path: '/http-services/:name',
    summary: 'Declares a service of the server http (admin)',
    body: serviceInput,
    answer: namedAnswer,
    handle: (call) => put(call, 'http'),
  },
  {
    ...common,
    method: 'delete',
    rate: 'write',
    path: '/http-services/:name',
    summary: 'Deletes a service of the server http (admin)',
    answer: namedAnswer,
    handle: (call) => remove(call, 'http'),
  },
  ...remoteRoutes,
  ...tokenRoutes,
  ...modelRoutes,
]

import * as z from 'zod'
import { outside } from '../../shared/config'
import { knownFields } from '../../shared/known-fields'
import { setCredential } from '../credentials/set-credential'
import { serviceInput } from '../services/services'
import type { AdminCall, AdminRoute } from './admin-route'
import { modelRoutes } from './model-routes'
import { recordAction, toServiceSettings } from './record-action'
import { remoteRoutes } from './remote-routes'
import { tokenRoutes } from './token-routes'

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

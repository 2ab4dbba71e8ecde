import * as z from 'zod'
import { outside } from '../../shared/config'
import { tokenRoutes } from '../outside/token-routes'
import { remoteRoutes } from '../remote/routes'
import { serviceInput } from '../services/services'
import type { AdminCall, AdminRoute } from './admin-route'
import { setCredential } from './set-credential'

export const nameInput = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,39}$/, 'must be lower case letters, digits and dashes')

export const credentialInput = z.strictObject({
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

const common = { access: 'admin', status: 200, tag: 'credentials' } as const
type Service = z.output<typeof serviceInput>

const put = async ({ deps, admin, params, body }: AdminCall, server: string): Promise<object> => {
  const name = params.name ?? ''
  await deps.services.put(server, name, body as Service, admin.name)
  return { name }
}

const remove = async ({ deps, params }: AdminCall, server: string): Promise<object> => {
  const name = params.name ?? ''
  await deps.services.remove(server, name)
  return { name }
}

/** The API routes of credentials and external services. No response contains a credential's value. */
export const adminRoutes: AdminRoute[] = [
  {
    ...{ ...common, method: 'get', path: '/credentials' },
    summary: 'Lists credentials without their values: service, source, last use (admin)',
    handle: async ({ deps }) => ({ credentials: await deps.vault.list() }),
  },
  {
    ...{ ...common, method: 'put', path: '/credentials/:name' },
    summary: 'Creates or replaces a credential; no response contains its value (admin)',
    body: credentialInput,
    handle: async ({ deps, admin, params, body }) => {
      const name = params.name ?? ''
      const input = body as z.output<typeof credentialInput>
      await setCredential(deps, admin, { ...input, name })
      return { name }
    },
  },
  {
    ...{ ...common, method: 'delete', path: '/credentials/:name' },
    summary: 'Deletes a credential (admin)',
    handle: async ({ deps, params }) => {
      await deps.vault.remove(params.name ?? '')
      return { name: params.name }
    },
  },
  {
    ...{ ...common, method: 'get', path: '/services' },
    summary: 'Lists external services that tools can use, declared or built in (admin)',
    handle: async ({ deps }) => ({ services: await deps.services.list() }),
  },
  {
    ...{ ...common, method: 'put', path: '/services/:server/:name' },
    summary: 'Declares a service of a server such as http, github or postgres (admin)',
    body: serviceInput,
    handle: async (call) => ({
      server: call.params.server,
      ...(await put(call, call.params.server ?? '')),
    }),
  },
  {
    ...{ ...common, method: 'delete', path: '/services/:server/:name' },
    summary: 'Deletes a declared service; a built-in declaration applies again (admin)',
    handle: async (call) => ({
      server: call.params.server,
      ...(await remove(call, call.params.server ?? '')),
    }),
  },
  {
    ...{ ...common, method: 'get', path: '/http-services' },
    summary: 'Lists the services of the server http (admin)',
    handle: async ({ deps }) => ({ services: await deps.services.list('http') }),
  },
  {
    ...{ ...common, method: 'put', path: '/http-services/:name' },
    summary: 'Declares a service of the server http (admin)',
    body: serviceInput,
    handle: (call) => put(call, 'http'),
  },
  {
    ...{ ...common, method: 'delete', path: '/http-services/:name' },
    summary: 'Deletes a service of the server http (admin)',
    handle: (call) => remove(call, 'http'),
  },
  ...remoteRoutes,
  ...tokenRoutes,
]

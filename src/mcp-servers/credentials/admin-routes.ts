import * as z from 'zod'
import { outside } from '../../config'
import { tokenRoutes } from '../outside/token-routes'
import { remoteRoutes } from '../remote/routes'
import { serviceInput } from '../services/services'
import type { AdminCall, AdminRoute } from './admin-route'
import { setCredential } from './set-credential'

export const nameInput = z
  .string()
  .regex(/^[a-z][a-z0-9-]{0,39}$/, 'small letters, digits and dashes')

export const credentialInput = z.strictObject({
  value: z
    .string()
    .min(1)
    .max(outside.credentialCharsMax)
    .describe('the secret, or env:ROOKERY_SECRET_NAME for a secret of the Worker; never read back'),
  server: nameInput.default('http'),
  service: nameInput,
  community: z.string().min(1).max(100).nullish().describe('only for agents at work there'),
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

/** The routes of credentials and services outside. Values only ever come in (M5). */
export const adminRoutes: AdminRoute[] = [
  {
    ...{ ...common, method: 'get', path: '/credentials' },
    summary: 'Credentials without their values: for which service, from where, last used (admin)',
    handle: async ({ deps }) => ({ credentials: await deps.vault.list() }),
  },
  {
    ...{ ...common, method: 'put', path: '/credentials/:name' },
    summary: 'Sets a credential, or a new value of it; no answer ever holds the value (admin)',
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
    summary: 'Services outside that tools may reach, declared or known to their server (admin)',
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
    summary: 'Takes a service back; what its server knows of it holds again (admin)',
    handle: async (call) => ({
      server: call.params.server,
      ...(await remove(call, call.params.server ?? '')),
    }),
  },
  {
    ...{ ...common, method: 'get', path: '/http-services' },
    summary: 'The services of the server http (admin)',
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
    summary: 'Takes a service of the server http back (admin)',
    handle: (call) => remove(call, 'http'),
  },
  ...remoteRoutes,
  ...tokenRoutes,
]

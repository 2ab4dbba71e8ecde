import * as z from 'zod'
import { outside } from '../../config'
import { AppError, notFound } from '../../errors'
import type { ConversationDoor, GrantDoor } from '../../hub/contract'
import type { AccountId, Clock } from '../../ids'
import { authenticateAdmin } from '../outside/authenticate-admin'
import { type Services, serviceInput } from '../services/services'
import type { Vault } from './vault'

interface AdminDeps {
  vault: Vault
  services: Services
  hub: GrantDoor & ConversationDoor
  clock: Clock
  /** Told what nobody foresaw. */
  reportFailure: (error: unknown) => void
}

interface Admin {
  id: AccountId
  name: string
}

const nameInput = z.string().regex(/^[a-z][a-z0-9-]{0,39}$/, 'small letters, digits and dashes')

const credentialInput = z.strictObject({
  value: z.string().min(1).max(outside.credentialCharsMax),
  server: nameInput.default('http'),
  service: nameInput,
  community: z.string().min(1).max(100).nullish(),
  agent: z.string().min(1).max(100).nullish(),
})

/** Far more than the longest credential. */
const bodyCharsMax = 64 * 1024

/**
 * The handler for `/api/v1/credentials`, `/api/v1/services` and `/api/v1/http-services`, which are the
 * services of the server `http`; for admins with their key (M5).
 * It is here and not in the hub, so that a credential never passes through it. No cookie is taken, so
 * no page elsewhere can use a browser for it.
 */
export function createAdminRoutes(deps: AdminDeps): (request: Request) => Promise<Response> {
  return async (request) => {
    try {
      const admin = await authenticateAdmin(deps.hub, request, deps.clock.now())
      return Response.json({ success: true, ...(await answer(deps, admin, request)) })
    } catch (error) {
      return refuse(deps, error)
    }
  }
}

/** `credentials/:name`, `http-services/:name` and `services/:server/:name`; without names they list. */
async function answer(deps: AdminDeps, admin: Admin, request: Request): Promise<object> {
  const { pathname } = new URL(request.url)
  const [kind = '', ...given] = pathname.replace(/\/$/, '').split('/').slice(3)
  const target = toTarget(deps, kind, given)
  if (given.length === 0) {
    if (request.method !== 'GET') throw wrongMethod()
    return target.list()
  }
  if (request.method === 'DELETE') await target.remove()
  else if (request.method === 'PUT') await target.put(admin, await readBody(request))
  else throw wrongMethod()
  return { ...(target.server !== undefined && { server: target.server }), name: target.name }
}

interface Target {
  name: string
  server?: string
  list(): Promise<object>
  put(admin: Admin, body: unknown): Promise<void>
  remove(): Promise<void>
}

function toTarget(deps: AdminDeps, kind: string, given: string[]): Target {
  const [first = 'all', second = 'all'] = given.map((name) => parse(nameInput, name, 'name'))
  if (kind === 'credentials' && given.length < 2) return toCredential(deps, first)
  if (kind === 'http-services' && given.length < 2) return toService(deps, 'http', first, 'http')
  if (kind === 'services' && given.length !== 1 && given.length < 3) {
    return { server: first, ...toService(deps, first, second) }
  }
  throw notFound('path')
}

const toCredential = (deps: AdminDeps, name: string): Target => ({
  name,
  list: async () => ({ credentials: await deps.vault.list() }),
  put: (admin, body) => putCredential(deps, admin, name, body),
  remove: () => deps.vault.remove(name),
})

const toService = (
  { services }: AdminDeps,
  server: string,
  name: string,
  listed?: string,
): Target => ({
  name,
  list: async () => ({ services: await services.list(listed) }),
  put: (admin, body) => services.put(server, name, parse(serviceInput, body, 'body'), admin.name),
  remove: () => services.remove(server, name),
})

async function putCredential(
  { vault, hub }: AdminDeps,
  admin: Admin,
  name: string,
  body: unknown,
): Promise<void> {
  const { value, server, service, community, agent } = parse(credentialInput, body, 'body')
  const actor = { ...admin, accountId: admin.id, kind: 'human' as const }
  const asked = { ...actor, activationId: null, postId: null, idempotencyKey: null }
  const found = agent ? await hub.readProfile(asked, agent.replace(/^@/, '')) : null
  await vault.put({
    ...{ name, value, server, service, by: admin.name },
    community: community?.replace(/^m\//, '') ?? null,
    agent: found && { id: found.id, name: found.name },
  })
}

async function readBody(request: Request): Promise<unknown> {
  const text = await request.text()
  if (text.length > bodyCharsMax) throw new AppError('TOO_LARGE', 'The request is too large.')
  try {
    return JSON.parse(text)
  } catch {
    // Without the parser's message, which quotes what it read.
    throw new AppError('VALIDATION', 'The body is not valid JSON.')
  }
}

function parse<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  place: string,
): z.output<Schema> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new AppError('VALIDATION', 'The request is not valid.', {
    details: parsed.error.issues.map(({ path, message }) => ({
      path: [place, ...path.map(String)].join('.'),
      message,
    })),
  })
}

const wrongMethod = (): AppError =>
  new AppError('METHOD_NOT_ALLOWED', 'This does not work here.', {
    hint: 'GET lists; PUT and DELETE take a name at the end of the path.',
  })

function refuse(deps: AdminDeps, error: unknown): Response {
  if (!(error instanceof AppError)) deps.reportFailure(error)
  const known =
    error instanceof AppError
      ? error
      : new AppError('INTERNAL', 'Something went wrong on our side.', { hint: 'Try again.' })
  const { message, code, hint, details, status } = known
  return Response.json(
    { success: false, error: message, code, hint, ...(details && { details }) },
    { status, headers: status === 401 ? { 'www-authenticate': 'Bearer' } : {} },
  )
}

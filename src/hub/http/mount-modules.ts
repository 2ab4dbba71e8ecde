import type { Context } from 'hono'
import type { ModuleRoute, Person } from '../contract/hub'
import { requireAdminSender } from './authenticate'
import { declareEntry, toEntryRule, unknownPathRule } from './entry-rule'
import type { HubDeps, HubEnv } from './hub-env'
import { apiBase } from './mount-routes'

/** Handlers of another module. They authenticate their requests themselves. */
export interface ModuleHandlers {
  /** Answers `/mcp` and the paths below it; every success is of a caller with a valid key. */
  mcp(request: Request): Promise<Response>
  /** Answers routes of the JSON API: 401 is the only answer to a caller without a valid key. */
  admin(request: Request): Promise<Response>
  adminRoutes: readonly ModuleRoute[]
  /** Answers forms of admins. */
  forms(request: Request, authenticate: () => Promise<Person>): Promise<Response>
  formPaths: readonly string[]
}

type Answer = (c: Context<HubEnv>) => Promise<Response>

/** Mounts the handlers of another module, and records which keys they accept. */
export const mountModules =
  (handlers: ModuleHandlers): NonNullable<HubDeps['mounts']> =>
  (root) => {
    const mcp = declareEntry<Answer>({ rate: 'read', body: 'json' }, async (c) => {
      const response = await handlers.mcp(c.req.raw)
      if (response.ok) c.set('isAuthenticated', true)
      return response
    })
    for (const path of ['/mcp', '/mcp/*']) root.all(path, mcp)
    const answerAdmin: Answer = async (c) => {
      const response = await handlers.admin(c.req.raw)
      if (response.status !== 401) c.set('isAuthenticated', true)
      return response
    }
    for (const route of handlers.adminRoutes) {
      const answer = declareEntry<Answer>(toEntryRule(route), (c) => answerAdmin(c))
      root.on(route.method.toUpperCase(), apiBase + route.path, answer)
    }
    const refuseMethod = declareEntry<Answer>(unknownPathRule, answerAdmin)
    for (const { path } of handlers.adminRoutes) root.all(apiBase + path, refuseMethod)
    const sendForm = declareEntry<Answer>({ rate: 'write', body: 'form' }, (c) =>
      handlers.forms(c.req.raw, () => requireAdminSender(c)),
    )
    for (const path of handlers.formPaths) root.post(path, sendForm)
  }

import type { Context } from 'hono'
import type { ModuleRoute, Person, RequestCounts } from '../contract/hub'
import { requireAdminSender, requireSession } from './authenticate'
import { declareEntry, type EntryRule, toEntryRule, unknownPathRule } from './entry-rule'
import type { HubDeps, HubEnv } from './hub-env'
import { apiBase } from './mount-routes'

/** Handlers of another module. They authenticate their requests themselves. */
export interface ModuleHandlers {
  /** Answers `/mcp` and the paths below it. */
  mcp(request: Request, counts: RequestCounts): Promise<Response>
  /** Answers the paths below `/gateway`, by which coding agents use models. */
  models(request: Request, counts: RequestCounts): Promise<Response>
  /** Answers the paths below `/git`, in git's protocol. */
  git(request: Request, counts: RequestCounts): Promise<Response>
  /** Answers routes of the JSON API. */
  admin(request: Request, counts: RequestCounts): Promise<Response>
  adminRoutes: readonly ModuleRoute[]
  /** Answers forms of admins. */
  forms(request: Request, authenticate: () => Promise<Person>): Promise<Response>
  formPaths: readonly string[]
  /** Answers the visits that another site sends back, for the account of a browser session. */
  callback(
    request: Request,
    authenticate: () => Promise<{ person: Person; sessionHash: string }>,
  ): Promise<Response>
  callbackPath: string
}

type Answer = (c: Context<HubEnv>) => Promise<Response>

/** A visit without an answer does nothing. */
const callbackRule: EntryRule = {
  rate: ({ req }) => (req.query('code') || req.query('error') ? 'write' : 'read'),
  body: 'none',
}

/** A pack is longer than other bodies, and the handler passes it on as it arrives. */
const gitRule: EntryRule = { rate: 'read', body: 'upload' }

const toCounts = (c: Context<HubEnv>): RequestCounts => ({
  recordCaller: (accountId) => c.set('accountId', accountId),
  countWrite: () => c.var.countAs('write'),
})

/** Returns who comes back from another site: the state of the visit proves that it was started here. */
async function findReturning(c: Context<HubEnv>): Promise<{ person: Person; sessionHash: string }> {
  const { viewer, sessionHash } = await requireSession(c, 'read')
  const { id, name, kind } = viewer
  return { person: { id, name, kind }, sessionHash }
}

/** Mounts the handlers of another module, and records which keys they accept. */
export const mountModules =
  (handlers: ModuleHandlers): NonNullable<HubDeps['mounts']> =>
  (root) => {
    const mcp = declareEntry<Answer>({ rate: 'read', body: 'json' }, (c) =>
      handlers.mcp(c.req.raw, toCounts(c)),
    )
    for (const path of ['/mcp', '/mcp/*']) root.all(path, mcp)
    const models = declareEntry<Answer>({ rate: 'read', body: 'model' }, (c) =>
      handlers.models(c.req.raw, toCounts(c)),
    )
    for (const path of ['/gateway', '/gateway/*']) root.all(path, models)
    const git = declareEntry<Answer>(gitRule, (c) => handlers.git(c.req.raw, toCounts(c)))
    for (const path of ['/git', '/git/*']) root.all(path, git)
    const answerAdmin: Answer = (c) => handlers.admin(c.req.raw, toCounts(c))
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
    const comeBack = declareEntry<Answer>(callbackRule, (c) =>
      handlers.callback(c.req.raw, () => findReturning(c)),
    )
    root.get(handlers.callbackPath, comeBack)
  }

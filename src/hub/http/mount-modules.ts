import type { Context } from 'hono'
import type { Sender } from '../contract/access'
import type { ModuleRoute, RequestCounts } from '../contract/hub'
import { requireAdminSender, requireSession } from './authenticate'
import { declareEntry, type EntryRule, toEntryRule } from './entry-rule'
import type { HubDeps, HubEnv } from './hub-env'
import { apiBase, noteAllowed } from './mount-routes'

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
  forms(request: Request, authenticate: () => Promise<Sender>): Promise<Response>
  formPaths: readonly string[]
  /** Answers the visits that another site sends back, for the account of a browser session. */
  callback(request: Request, authenticate: () => Promise<ReturningPerson>): Promise<Response>
  callbackPath: string
}

type Answer = (c: Context<HubEnv>) => Promise<Response>

/** A visit without an answer does nothing. */
const callbackRule: EntryRule = {
  rate: ({ req }) => (req.query('code') || req.query('error') ? 'write' : 'read'),
  body: 'none',
}

/** Some clients send their token in a header of its own. */
const modelRule: EntryRule = {
  rate: 'read',
  body: 'model',
  shows: ({ req }) => req.header('x-api-key'),
}

/** A pack is longer than other bodies, and the handler passes it on as it arrives. */
const gitRule: EntryRule = { rate: 'read', body: 'upload' }

const toCounts = (c: Context<HubEnv>): RequestCounts => ({
  recordCaller: (accountId) => c.set('accountId', accountId),
  count: (rateClass) => c.var.countAs(rateClass),
})

/** Who comes back from another site, and the SHA-256 of the session's token. */
interface ReturningPerson {
  sender: Sender
  sessionHash: string
}

/** Returns who comes back from another site: the state of the visit proves that it was started here. */
async function findReturning(c: Context<HubEnv>): Promise<ReturningPerson> {
  const { viewer, sessionId, sessionHash } = await requireSession(c, { isReturning: true })
  const { id, name, kind } = viewer
  return { sender: { id, name, kind, keyId: sessionId }, sessionHash }
}

/** Mounts the handlers of another module, and records which keys they accept. */
export const mountModules =
  (handlers: ModuleHandlers): NonNullable<HubDeps['mounts']> =>
  (root) => {
    const mcp = declareEntry<Answer>({ rate: 'read', body: 'json' }, (c) =>
      handlers.mcp(c.req.raw, toCounts(c)),
    )
    for (const path of ['/mcp', '/mcp/*']) root.all(path, mcp)
    const models = declareEntry<Answer>(modelRule, (c) => handlers.models(c.req.raw, toCounts(c)))
    for (const path of ['/gateway', '/gateway/*']) root.all(path, models)
    const git = declareEntry<Answer>(gitRule, (c) => handlers.git(c.req.raw, toCounts(c)))
    for (const path of ['/git', '/git/*']) root.all(path, git)
    const answerAdmin: Answer = (c) => handlers.admin(c.req.raw, toCounts(c))
    for (const route of handlers.adminRoutes) {
      const answer = declareEntry<Answer>(toEntryRule(route), (c) => answerAdmin(c))
      root.on(route.method.toUpperCase(), apiBase + route.path, answer)
    }
    for (const { path, method } of handlers.adminRoutes) {
      root.all(apiBase + path, noteAllowed([method]))
    }
    const sendForm = declareEntry<Answer>({ rate: 'write', body: 'form' }, (c) =>
      handlers.forms(c.req.raw, () => requireAdminSender(c)),
    )
    for (const path of handlers.formPaths) root.post(path, sendForm)
    const comeBack = declareEntry<Answer>(callbackRule, (c) =>
      handlers.callback(c.req.raw, () => findReturning(c)),
    )
    root.get(handlers.callbackPath, comeBack)
  }

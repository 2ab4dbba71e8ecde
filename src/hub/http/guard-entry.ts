import type { Context, Handler, MiddlewareHandler } from 'hono'
import { matchedRoutes } from 'hono/route'
import { bodyLimits, media, type RateClass, rateLimits, triggerLimits } from '../../shared/config'
import { run } from '../../shared/db/batch'
import { noteStorageFull } from '../../shared/db/database-fault'
import type { AccountId } from '../../shared/ids'
import { sha256 } from '../../shared/sha256'
import type { RateRefusal } from '../contract/hub'
import { adminAccountId } from '../schema/accounts'
import { type Credential, hashAdminKey } from '../viewers/queries'
import { readCredential } from './authenticate'
import {
  decodeUtf8,
  prefersPage,
  readBoundedBody,
  requireBodyType,
  requireShortBody,
  requireSmallJson,
  requireUtf8Form,
} from './bodies'
import { httpErrors, toAppError, toErrorResponse } from './errors'
import { type ClientAddress, findClientAddress } from './find-client-address'
import { findOrigin } from './find-origin'
import type { HubDeps, HubEnv } from './hub-env'
import { selectIsGivenOut, selectKeyHolder } from './known-secret-queries'
import { addCacheHeaders, addSecurityHeaders, readCookie, setHeaders } from './prepare-request'
import type { RateDecision } from './rate-counting'
import type { AttemptClass, RateLimiter } from './rate-limiter'

/** What a route accepts: how often it can be called, and which body is read. */
export interface EntryRule {
  rate: RateClass | ((c: Context<HubEnv>) => RateClass)
  /**
   * `upload`, `image`: what the handler reads itself, after it has authenticated the sender. `model`: JSON of a request
   * to a model, with pictures. `unneeded`, `delivery`: of any type, checked by the handler. `secret`: a short form, which is read also when the address has to wait.
   */
  body: BodyKind
  /**
   * Returns what a request signs in or joins with, besides the credential that any request can have: a request
   * whose address has to wait is handled when the hub gave that out.
   */
  shows?: (c: Context<HubEnv>) => string | undefined | Promise<string | undefined>
}

type BodyKind =
  | 'none'
  | 'unneeded'
  | 'delivery'
  | 'form'
  | 'secret'
  | 'json'
  | 'model'
  | 'upload'
  | 'image'

const {
  formBytesMax,
  secretFormBytesMax,
  jsonBytesMax,
  modelBytesMax,
  uploadBytesMax,
  readMs,
  uploadReadMs,
} = bodyLimits

/** Limits of a body by the rule of its route. A body that is not read may still be sent. */
export const bodyLimitsByKind: Record<BodyKind, { bytesMax: number; readMs: number }> = {
  none: { bytesMax: jsonBytesMax, readMs },
  unneeded: { bytesMax: jsonBytesMax, readMs },
  delivery: { bytesMax: triggerLimits.bodyBytesMax, readMs },
  form: { bytesMax: formBytesMax, readMs },
  secret: { bytesMax: secretFormBytesMax, readMs },
  json: { bytesMax: jsonBytesMax, readMs },
  model: { bytesMax: modelBytesMax, readMs },
  upload: { bytesMax: uploadBytesMax, readMs: uploadReadMs },
  image: { bytesMax: media.bytesMax, readMs: uploadReadMs },
}

/** The rule of a page and its form. */
export const pageRule: EntryRule = {
  rate: ({ req }) => (req.method === 'GET' || req.method === 'HEAD' ? 'read' : 'write'),
  body: 'form',
}

/** The rule of a path without a route. */
export const unknownPathRule: EntryRule = { ...pageRule, body: 'none' }

/** Returns the rule of a route of the JSON API. */
export const toEntryRule = (route: DeclaredRoute): EntryRule => ({
  rate: route.rate,
  body: findBodyKind(route),
})

interface DeclaredRoute {
  method: string
  rate: RateClass
  body?: unknown
  takesImage?: boolean
  takesDelivery?: boolean
}

function findBodyKind(route: DeclaredRoute): BodyKind {
  const { method, rate, body, takesImage, takesDelivery } = route
  if (takesImage) return 'image'
  if (takesDelivery) return 'delivery'
  if (body === undefined) return method === 'get' ? 'none' : 'unneeded'
  return rate === 'upload' ? 'upload' : 'json'
}

const rules = new WeakMap<object, EntryRule>()

/** Declares the rule of a handler, by which its requests are counted and read before it runs. */
export function declareEntry<Declared extends Handler<HubEnv>>(
  rule: EntryRule,
  handler: Declared,
): Declared {
  rules.set(handler, rule)
  return handler
}

/** Returns the declared rule of a handler; undefined when it has none. */
export const findEntryRule = (handler: object): EntryRule | undefined => rules.get(handler)

/** Returns the rule of the first declared handler among those that match a request. */
export function matchEntryRule(handlers: Iterable<object>): EntryRule {
  for (const handler of handlers) {
    const rule = rules.get(handler)
    if (rule) return rule
  }
  return unknownPathRule
}

/**
 * Creates the counter of requests. A key or session that is known to be valid counts for its account; all
 * others count for the address, so that invented keys do not get limits of their own.
 */
function createRequestCounter(limiter: RateLimiter, findTokenHolder: HubDeps['findTokenHolder']) {
  const takeAsHolder = createHolderCounter(limiter, findTokenHolder)

  /**
   * @param readBody reads the body within its limits; only what the address refuses is read before it is counted
   * @throws RATE_LIMITED
   */
  const count = async (
    c: Context<HubEnv>,
    rule: EntryRule,
    readBody: () => Promise<void>,
  ): Promise<Sender> => {
    const sender = await identify(c, rule)
    const decision = await take(sender, c.var.context.clock.now())
    const isForAddress = sender.accountId === null || isAttempt(sender.rateClass)
    const isRefused = !decision.isAllowed && isForAddress
    admit(c, (isRefused && (await takeAsHolder(c, rule, sender, readBody))) || decision)
    c.set('countAs', async (rateClass) => {
      const accountId = c.var.accountId ?? sender.accountId
      const next = await take({ ...sender, accountId, rateClass }, c.var.context.clock.now())
      c.set('rateDecision', next)
      return next.isAllowed ? null : toRefusal(next)
    })
    return sender
  }

  const admit = (c: Context<HubEnv>, decision: RateDecision): void => {
    c.set('rateDecision', decision)
    if (!decision.isAllowed) throw httpErrors.rateLimited(decision.retryAfterMs)
  }

  const identify = async (c: Context<HubEnv>, { rate }: EntryRule): Promise<Sender> => {
    // A malformed header is answered by the route.
    const credential = await readCredential(c).catch(() => null)
    const isAdminKey = credential?.isAdminKey === true
    const declared = typeof rate === 'function' ? rate(c) : rate
    return {
      credential,
      accountId: isAdminKey ? adminAccountId : credential && limiter.findAccount(credential.hash),
      address: findClientAddress(c.req.raw.headers, c.var.context.settings, c.var.isLoopback),
      // The admin registers as many accounts as they like.
      rateClass: declared === 'register' && isAdminKey ? 'write' : declared,
    }
  }

  const take = async (sender: Sender, now: number): Promise<RateDecision> => {
    const { credential, accountId, address, rateClass } = sender
    if (credential && !credential.isSession && accountId === null) {
      const backoffMs = limiter.findKeyBackoff(address.subject, now)
      if (backoffMs > 0) return refuseFor(backoffMs, rateClass, now)
    }
    if (isAttempt(rateClass)) return limiter.takeAttempt(rateClass, address, now)
    const subject = accountId === null ? address.subject : `account ${accountId}`
    return limiter.takeRequest(rateClass, { subject, isLoopback: address.isLoopback }, now)
  }

  /** Learns from an answer whether the credential of its request is valid. */
  const learn = async (c: Context<HubEnv>, sender: Sender): Promise<void> => {
    const { credential, address, rateClass } = sender
    const { accountId } = c.var
    if (accountId && credential) limiter.recordCredential(credential.hash, accountId)
    if (c.res.status !== 401) return
    const now = c.var.context.clock.now()
    if (rateClass === 'signIn') await limiter.recordFailedSignIn(address.subject, now)
    if (credential && !accountId) recordRejected(credential, sender, now)
  }

  const recordRejected = ({ hash, isSession }: Credential, sender: Sender, now: number): void => {
    limiter.recordCredential(hash, null)
    // An ended session or a revoked key is no guess.
    if (!isSession && sender.accountId === null) limiter.recordWrongKey(sender.address.subject, now)
  }

  return { count, learn }
}

function toRefusal({ retryAfterMs }: RateDecision): RateRefusal {
  const { message, hint } = httpErrors.rateLimited(retryAfterMs)
  return { message: `${message} ${hint}`, retryAfterSeconds: toWholeSeconds(retryAfterMs) }
}

/** A wait as whole seconds, at least one. */
const toWholeSeconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1_000))

const refuseFor = (waitMs: number, rateClass: RateClass, now: number): RateDecision => ({
  isAllowed: false,
  limit: rateLimits[rateClass].requests,
  remaining: 0,
  resetsAt: now + waitMs,
  retryAfterMs: waitMs,
})

/** Converts a decision to response headers; `X-RateLimit-Reset` is in seconds since the Unix epoch. */
export function describeDecision(decision: RateDecision): Record<string, string> {
  const { isAllowed, limit, remaining, resetsAt, retryAfterMs } = decision
  return {
    'x-ratelimit-limit': String(limit),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(Math.ceil(resetsAt / 1_000)),
    ...(isAllowed ? {} : { 'retry-after': String(toWholeSeconds(retryAfterMs)) }),
  }
}

/** Who sends a request, and the class it counts in. */
interface Sender {
  credential: Credential | null
  /** The account of the credential, when it was valid when last used; null: not known. */
  accountId: AccountId | null
  address: ClientAddress
  rateClass: RateClass
}

const isAttempt = (rateClass: RateClass): rateClass is AttemptClass =>
  rateClass === 'signIn' || rateClass === 'register'

type FindTokenHolder = NonNullable<HubDeps['findTokenHolder']>

/**
 * Creates the counter of requests that their address would refuse: a right key, token, link or passkey is not refused
 * because of what others at the address sent. It counts for its account, or for itself. A wrong one costs a
 * look-up in indexes.
 */
function createHolderCounter(
  limiter: RateLimiter,
  findTokenHolder: FindTokenHolder = async () => null,
) {
  const takeForAccount = (
    accountId: AccountId,
    { credential, rateClass, address }: Sender,
    now: number,
  ): Promise<RateDecision> => {
    if (credential) limiter.recordCredential(credential.hash, accountId)
    const subject = `account ${accountId}`
    return isAttempt(rateClass)
      ? limiter.takeAttempt(rateClass, { subject, wideSubject: null }, now)
      : limiter.takeRequest(rateClass, { subject, isLoopback: address.isLoopback }, now)
  }

  /**
   * @param readBody reads the body within its limits
   * @returns null when the hub gave out nothing that the request shows
   */
  return async (
    c: Context<HubEnv>,
    { shows }: EntryRule,
    sender: Sender,
    readBody: () => Promise<void>,
  ): Promise<RateDecision | null> => {
    const now = c.var.context.clock.now()
    const accountId = sender.accountId ?? (await findHolder(c, sender.credential, findTokenHolder))
    if (accountId !== null) return takeForAccount(accountId, sender, now)
    if (!shows) return null
    await readBody()
    const subject = await findShown(c, (await shows(c)) ?? '', findTokenHolder)
    const { isLoopback } = sender.address
    return subject === null ? null : limiter.takeRequest('write', { subject, isLoopback }, now)
  }
}

/** Returns the account of a key, session or token; null when it is not valid. */
async function findHolder(
  c: Context<HubEnv>,
  credential: Credential | null,
  findTokenHolder: FindTokenHolder,
): Promise<AccountId | null> {
  if (credential === null) return null
  const { db, clock } = c.var.context
  const bearer = /^Bearer\s+(\S+)$/i.exec(c.req.header('authorization') ?? '')?.[1]
  const ofToken = bearer === undefined ? null : await findTokenHolder(bearer)
  if (ofToken !== null) return ofToken
  const { hash, adminKeyHash } = credential
  const found = await run(db, selectKeyHolder({ hash, adminKeyHash, now: clock.now() }))
  return found?.accountId ?? null
}

/** Returns what a request counts for that shows a token, a key, a link, an attempt or a passkey; null for any other. */
async function findShown(
  c: Context<HubEnv>,
  text: string,
  findTokenHolder: FindTokenHolder,
): Promise<string | null> {
  if (text === '') return null
  const ofToken = await findTokenHolder(text)
  if (ofToken !== null) return `account ${ofToken}`
  const { db, clock, settings } = c.var.context
  const hash = await sha256(text)
  if (hash === (await hashAdminKey(settings))) return `secret ${hash}`
  const found = await run(db, selectIsGivenOut({ hash, text, now: clock.now() }))
  return found?.isGivenOut ? `secret ${hash}` : null
}

/** Seconds after which a client may try again what is not available. */
const retryAfterS = '5'

type GuardDeps = Pick<
  HubDeps,
  'renderErrorPage' | 'rateLimiter' | 'findTokenHolder' | 'readMachine'
>

/**
 * Admits requests of every route: checks the host, counts the request, and reads the body within its
 * limits. It reads nothing from the database, so a refused request costs little. Every answer gets its
 * security headers here.
 */
export function guardEntry(deps: GuardDeps): MiddlewareHandler<HubEnv> {
  const counter = createRequestCounter(deps.rateLimiter, deps.findTokenHolder)
  return async (c, next) => {
    const rule = matchEntryRule(matchedRoutes(c).map(({ handler }) => handler))
    if (!URL.canParse(c.req.url)) {
      // Its Host header is no host, so that nothing, and no page of an error, could read its address.
      c.res = toErrorResponse(c, httpErrors.wrongHost(c.req.header('host') ?? ''))
      addSecurityHeaders(c, false)
      addCacheHeaders(c, true)
      return
    }
    try {
      acceptHost(c)
      let reading: Promise<void> | null = null
      const readBody = () => {
        reading ??= readEntryBody(c, rule)
        return reading
      }
      const sender = await counter.count(c, rule, readBody)
      await readBody()
      const target = rule === unknownPathRule ? findWithoutSlash(c) : null
      if (target === null) await next()
      else c.res = c.redirect(target, 308)
      if (c.res.status === 500) await requireRoom(c, deps)
      await counter.learn(c, sender)
    } catch (error) {
      c.res = await refuse(c, deps, error)
    }
    const { rateDecision, isSecure } = c.var
    if (c.res.status === 503) setHeaders(c, { 'retry-after': retryAfterS })
    if (rateDecision) setHeaders(c, describeDecision(rateDecision))
    addSecurityHeaders(c, isSecure === true)
    addCacheHeaders(c, rule.shows !== undefined || showsCredential(c))
  }
}

/**
 * Throws STORAGE_FULL for a fault on a machine whose disk is full: the database can fail then with an error that does not
 * say so.
 */
async function requireRoom(c: Context<HubEnv>, { readMachine }: GuardDeps): Promise<void> {
  const machine = await readMachine?.().catch(() => null)
  if (machine?.disk?.state !== 'full') return
  noteStorageFull(Date.now())
  throw httpErrors.storageFull(c.error)
}

/** Whether a request has a credential, valid or not. */
const showsCredential = (c: Context<HubEnv>): boolean =>
  c.req.header('authorization') !== undefined || readCookie(c, 'session') !== undefined

/** @throws WRONG_HOST */
function acceptHost(c: Context<HubEnv>): void {
  const url = new URL(c.req.url)
  const accepted = findOrigin(url, c.var.context.settings.ROOKERY_ORIGIN)
  if (!accepted) throw httpErrors.wrongHost(url.host)
  c.set('origin', accepted.origin)
  c.set('isSecure', accepted.isSecure)
  c.set('isLoopback', accepted.isLoopback)
}

/**
 * Reads the body of a route, before anything is looked up for the request. The handler gets a request
 * with the body in memory.
 *
 * @throws TOO_LARGE, REQUEST_TIMEOUT, UNSUPPORTED_MEDIA, VALIDATION
 */
async function readEntryBody(c: Context<HubEnv>, { body: kind }: EntryRule): Promise<void> {
  const request = c.req.raw
  const bodyLimit = bodyLimitsByKind[kind]
  // Its handler says what is allowed.
  if (kind === 'image') return
  requireShortBody(request, bodyLimit.bytesMax)
  // A client may give a GET an empty body, which no request can be made with.
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (request.body === null || isRead || kind === 'none' || kind === 'upload') return
  const bytes = await readBoundedBody(request, bodyLimit)
  const isAnyType = kind === 'unneeded' || kind === 'delivery'
  if (bytes.length > 0 && !isAnyType) requireBodyType(c, isFormKind(kind))
  if (isFormKind(kind)) {
    requireUtf8Form(bytes, request.headers.get('content-type'))
  } else if (!isAnyType) {
    requireSmallJson(bytes)
    decodeUtf8(bytes)
  }
  c.req.raw = new Request(request, { body: bytes })
}

const isFormKind = (kind: BodyKind): boolean => kind === 'form' || kind === 'secret'

/** Returns the path and query of a read without the slash at the end of its path; null when it has none. */
function findWithoutSlash({ req }: Context<HubEnv>): string | null {
  const { pathname, search } = new URL(req.url)
  const isRead = req.method === 'GET' || req.method === 'HEAD'
  if (!isRead || pathname === '/' || !pathname.endsWith('/')) return null
  // With two slashes at its start it would be the address of another site.
  return `/${pathname.replace(/^\/+/, '').replace(/(?<!\/)\/+$/, '')}${search}`
}

/** Whether a request is answered with a page when there is nothing at its path: that of a browser, outside of the API. */
export const asksForPage = ({ req }: Context<HubEnv>): boolean =>
  prefersPage(req.header('accept')) && !/^\/(api|mcp|gateway|\.well-known)(\/|$)/.test(req.path)

/** Answers a refused request: with a page for a browser, else as JSON. */
function refuse(
  c: Context<HubEnv>,
  { renderErrorPage }: GuardDeps,
  error: unknown,
): Response | Promise<Response> {
  return renderErrorPage && asksForPage(c)
    ? renderErrorPage(c, toAppError(error))
    : toErrorResponse(c, error)
}

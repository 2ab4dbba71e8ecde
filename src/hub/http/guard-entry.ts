import type { Context, MiddlewareHandler } from 'hono'
import { matchedRoutes } from 'hono/route'
import { noteStorageFull } from '../../shared/db/database-fault'
import { prefersPage } from './accept'
import { addCacheHeaders, addSecurityHeaders, setHeaders } from './answer-headers'
import { decodeUtf8, requireBodyType, requireSmallJson, requireUtf8Form } from './body-types'
import { readCookie } from './cookies'
import { createRequestCounter, describeDecision } from './count-requests'
import {
  type BodyKind,
  bodyLimitsByKind,
  type EntryRule,
  matchEntryRule,
  unknownPathRule,
} from './entry-rule'
import { toAppError, toErrorResponse } from './errors'
import { findOrigin } from './find-origin'
import { httpErrors } from './http-errors'
import type { HubDeps, HubEnv } from './hub-env'
import { readBoundedBody, requireShortBody } from './read-bounded-body'

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
  requireShortBody(request, bodyLimit.bytesMax)
  // A client may give a GET an empty body, which no request can be made with.
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  if (request.body === null || isRead || kind === 'none' || kind === 'upload') return
  const bytes = await readBoundedBody(request, bodyLimit)
  if (bytes.length > 0) requireBodyType(c, isFormKind(kind))
  if (isFormKind(kind)) {
    requireUtf8Form(bytes, request.headers.get('content-type'))
  } else {
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

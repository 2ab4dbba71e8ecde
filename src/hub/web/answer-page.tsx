import type { Context, Handler } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { AppError } from '../../errors'
import { readAs, readCredential } from '../http/authenticate'
import { reportInternal, toAppError } from '../http/errors'
import type { HubEnv } from '../http/hub-env'
import { countOwnUnread } from '../inbox/queries'
import { ErrorPage } from './error-page'
import type { Frame } from './frame'
import { isOfflineHub } from './is-offline-hub'
import { pageHeaders } from './security-headers'

export type PageContext = Context<HubEnv>

export interface PageRead {
  frame: Frame
  /** The results of the page's own statements, in their order. */
  results: D1Result<Record<string, unknown>>[]
}

/**
 * Reads everything a page shows in one round trip: its own statements, who looks at it and how much
 * waits in their inbox (invariant 6).
 *
 * @throws UNAUTHORIZED on a private hub for somebody who is not signed in
 */
export async function readPage(
  c: PageContext,
  statements: D1PreparedStatement[],
): Promise<PageRead> {
  const { db, clock } = c.var.context
  const now = clock.now()
  const credential = await readCredential(c)
  if (!credential) {
    const { results } = await readAs(c, null, statements)
    return { frame: createFrame(c, now), results }
  }
  const read = await readAs(c, credential, [countOwnUnread(db, credential, now), ...statements])
  const [unread, ...results] = read.results
  const { viewer } = read
  const frame = createFrame(c, now)
  frames.set(c, frame)
  if (!viewer) return { frame, results }
  const unreadCount = Number(unread?.results[0]?.unread ?? 0)
  const { id, name, kind } = viewer
  const isAdmin = viewer.role === 'admin'
  const own = { ...frame, viewer: { id, name, kind, isAdmin, unreadCount } }
  frames.set(c, own)
  return { frame: own, results }
}

/** The frame of what this request has read already, so that an error page need not read again. */
const frames = new WeakMap<PageContext, Frame>()

function createFrame(c: PageContext, now: number): Frame {
  const { settings } = c.var.context
  return { hubName: settings.ROOKERY_NAME, viewer: null, isOffline: isOfflineHub(settings), now }
}

/** The rows of one statement of a page, as what its query selects. */
export const rowsOf = <Row,>(read: PageRead, index: number): Row[] =>
  (read.results[index]?.results ?? []) as Row[]

/** Sends a page with the headers every page has. */
export function sendPage(
  c: PageContext,
  page: { toString(): string | Promise<string> },
  status = 200,
): Response | Promise<Response> {
  for (const [name, value] of Object.entries(pageHeaders)) c.header(name, value)
  // A page shows who is signed in and what changes by the second.
  c.header('cache-control', 'private, no-cache')
  c.header('vary', 'Cookie, Authorization')
  return c.html(`<!doctype html>${page}`, status as ContentfulStatusCode)
}

/** A page's handler: what it throws is answered with a page that says what to do. */
export const page =
  (handle: (c: PageContext) => Promise<Response> | Response): Handler<HubEnv> =>
  async (c) => {
    try {
      return await handle(c)
    } catch (error) {
      return answerPageError(c, error)
    }
  }

/** Somebody who must sign in first is sent there and comes back; the rest is told what went wrong. */
export function answerPageError(c: PageContext, error: unknown): Response | Promise<Response> {
  const known = toAppError(error)
  if (known.code === 'INTERNAL') reportInternal(c, error)
  if (known.code === 'UNAUTHORIZED' && c.req.method === 'GET') {
    const { pathname, search } = new URL(c.req.url)
    return c.redirect(`/login?next=${encodeURIComponent(pathname + search)}`, 303)
  }
  return sendErrorPage(c, known)
}

async function sendErrorPage(c: PageContext, error: AppError): Promise<Response> {
  const frame = frames.get(c) ?? (await readFrame(c))
  return sendPage(c, <ErrorPage frame={frame} error={error} />, error.status)
}

/** Who looks at an error; a stranger when not even that can be read. */
const readFrame = (c: PageContext): Promise<Frame> =>
  readPage(c, []).then(
    ({ frame }) => frame,
    () => createFrame(c, c.var.context.clock.now()),
  )

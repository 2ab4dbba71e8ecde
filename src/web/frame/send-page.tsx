import type { Context, Handler } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { countPendingApprovals } from '../../hub/approvals/queries'
import {
  type BlockOptions,
  declareEntry,
  type HubEnv,
  isRefusedForNow,
  logUnexpectedError,
  pageCaching,
  pageRule,
  readCredential,
  readWithViewer,
} from '../../hub/http/page-entry'
import { countOwnUnread } from '../../hub/inbox/queries'
import { countQueue } from '../../hub/moderation/queue-count-queries'
import type { Answers, Statements } from '../../shared/db/batch'
import type { AppError } from '../../shared/errors'
import { toPageError } from '../form/to-problem'
import { createFrame } from './create-frame'
import { ErrorPage } from './error-page'
import { renderWithKey } from './form-key'
import type { Frame } from './frame'
import { isOfflineHub } from './is-offline-hub'
import { readKeptForm } from './kept-form'
import { pageErrors } from './page-errors'
import { pageHeaders } from './security-headers'

export type PageContext = Context<HubEnv>

export interface PageRead<Batch extends Statements = Statements> {
  frame: Frame
  /** Answers of the page's own statements, by their names. */
  answers: Answers<Batch>
}

/** Adds the notice of the offline model on a hub without model providers, whose frame read them. */
const toFrame = (
  frame: Frame,
  isOffline: boolean,
  answers: { [providersName]?: boolean | undefined },
): Frame => (isOffline && answers[providersName] === false ? { ...frame, isOffline } : frame)

/** Names of the statements that the header needs; no page names one of its own like these. */
const unreadName = '#unread'
const queueName = '#queue'
const approvalName = '#approvals'
const providersName = '#providers'

/**
 * Reads everything a page shows in one round trip: the answers of its statements, the viewer, and how much
 * waits in the viewer's inbox and for them as a moderator.
 *
 * @param options who may read the page besides
 * @throws UNAUTHORIZED on a private hub for a viewer who is not signed in
 */
export async function readPage<Batch extends Statements>(
  c: PageContext,
  statements: Batch,
  options: BlockOptions = {},
): Promise<PageRead<Batch>> {
  const { clock, models, settings } = c.var.context
  const now = clock.now()
  const bareFrame = createFrame(c)
  const isOffline = isOfflineHub(settings)
  const providers = isOffline ? models.selectHasConnections() : null
  const credential = await readCredential(c)
  if (!credential) {
    const { answers } = await readWithViewer(c, null, { [providersName]: providers, ...statements })
    return { frame: toFrame(bareFrame, isOffline, answers), answers }
  }
  const own = {
    [providersName]: providers,
    [unreadName]: countOwnUnread(credential, now),
    [queueName]: countQueue(credential, now),
    [approvalName]: countPendingApprovals(credential, now),
  }
  const read = await readWithViewer(c, credential, { ...own, ...statements }, options)
  const answers: Answers<Batch> & {
    [unreadName]?: number
    [queueName]?: number | null
    [approvalName]?: number | null
    [providersName]?: boolean | undefined
  } = read.answers
  const { viewer } = read
  const frame = toFrame(bareFrame, isOffline, answers)
  frames.set(c, frame)
  if (!viewer) return { frame, answers }
  const { id, name, kind } = viewer
  const isAdmin = viewer.role === 'admin'
  const ownFrame = {
    ...frame,
    viewer: {
      id,
      name,
      kind,
      role: viewer.role,
      isAdmin,
      canWrite: viewer.scopes.includes('write'),
      unreadCount: answers[unreadName] ?? 0,
      queueCount: answers[queueName] ?? null,
      approvalCount: answers[approvalName] ?? null,
    },
  }
  frames.set(c, ownFrame)
  return { frame: ownFrame, answers }
}

/** Frames that requests have read already, so that an error page need not read them again. */
const frames = new WeakMap<PageContext, Frame>()

/** Sends a page with the headers of all pages. */
export function sendPage(
  c: PageContext,
  page: { toString(): string | Promise<string> },
  status = 200,
): Response | Promise<Response> {
  for (const [name, value] of Object.entries(pageHeaders)) c.header(name, value)
  c.header('cache-control', pageCaching)
  const html = renderWithKey(c.var.context.clock.newId(), () => `<!doctype html>${page}`)
  return c.html(html, status as ContentfulStatusCode)
}

/**
 * Wraps the handler of a page or its form: an error it throws is answered with an error page. Requests
 * count as reads and forms as writes, unless the page declares a rule of its own.
 */
export const page = (
  handle: (c: PageContext) => Promise<Response> | Response,
  rule = pageRule,
): Handler<HubEnv> =>
  declareEntry(rule, async (c) => {
    try {
      return await handle(c)
    } catch (error) {
      return sendPageError(c, error)
    }
  })

/** Sends the error page of a request that was refused before its viewer was read. */
export const sendRefusalPage = (c: PageContext, error: AppError): Response | Promise<Response> => {
  const frame = createFrame(c)
  return sendPage(c, <ErrorPage frame={frame} error={error} />, error.status)
}

/** Answers an error: redirects to the sign-in page and back if needed, else sends an error page. */
export function sendPageError(c: PageContext, error: unknown): Response | Promise<Response> {
  const appError = toPageError(error)
  logUnexpectedError(c, error)
  if (appError.code === 'UNAUTHORIZED' && c.req.method === 'GET') {
    const { pathname, search } = new URL(c.req.url)
    return c.redirect(`/login?next=${encodeURIComponent(pathname + search)}`, 303)
  }
  // A form cannot be sent again after signing in, and the hint of the API is about keys.
  const isEnded = appError.code === 'UNAUTHORIZED'
  const isFault = isRefusedForNow(error)
  return sendErrorPage(c, isEnded ? pageErrors.sessionEnded() : appError, isFault)
}

/** @param isFault true shows the form of the request again, to be sent once more */
async function sendErrorPage(c: PageContext, error: AppError, isFault: boolean): Promise<Response> {
  const frame = frames.get(c) ?? (await readFrame(c))
  const { requestId } = c.var
  const kept = isFault ? await readKeptForm(c) : null
  const props = { frame, error, requestId, kept }
  return sendPage(c, <ErrorPage {...props} />, error.status)
}

/** Reads the frame of an error page; without a viewer when that read fails too. */
const readFrame = (c: PageContext): Promise<Frame> =>
  readPage(c, {}).then(
    ({ frame }) => frame,
    () => createFrame(c),
  )

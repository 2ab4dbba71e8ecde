import type { Context, Handler } from 'hono'
import type { FC } from 'hono/jsx'
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
  readCookie,
  readCredential,
  readWithViewer,
  writeCookie,
} from '../../hub/http/page-entry'
import { countOwnUnread } from '../../hub/inbox/queries'
import { countQueue } from '../../hub/moderation/queue-queries'
import type { Answers, Statements } from '../../shared/db/batch'
import { wasStorageFull } from '../../shared/db/database-fault'
import { AppError, type ErrorCode } from '../../shared/errors'
import type { Settings } from '../../shared/settings'
import { ErrorSummary, Submit } from '../form/fields'
import { toPageError } from '../form/form-state'
import { type Frame, type Theme, themes } from './frame'
import { Layout } from './layout'
import { type Kept, KeptForm, readKeptForm, renderWithKey } from './read-form'

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
  const { id, name, kind, avatarId } = viewer
  const isAdmin = viewer.role === 'admin'
  const ownFrame = {
    ...frame,
    viewer: {
      id,
      name,
      kind,
      avatarId,
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

/**
 * Returns the frame of a page without a viewer. Reads nothing from the database, which holds the model
 * providers that were set up on the models page: such a page never says that the hub has none.
 */
export function createFrame(c: Context<HubEnv>): Frame {
  const { settings, clock } = c.var.context
  return {
    hubName: settings.ROOKERY_NAME,
    viewer: null,
    theme: readTheme(c),
    isOffline: false,
    isStorageFull: wasStorageFull(Date.now()),
    now: clock.now(),
  }
}

const yearSeconds = 365 * 24 * 60 * 60

/** Returns the theme that this browser chose. */
const readTheme = (c: Context<HubEnv>): Theme =>
  themes.find((theme) => theme === readCookie(c, 'theme')) ?? 'system'

/** Keeps the theme in this browser for a year. */
export const setTheme = (c: Context<HubEnv>, theme: Theme): void =>
  writeCookie(c, 'theme', theme, { maxAge: theme === 'system' ? 0 : yearSeconds })

/** Titles of error pages by code. */
const titles: Partial<Record<ErrorCode, string>> = {
  NOT_FOUND: 'Not found',
  UNAUTHORIZED: 'Sign in required',
  FORBIDDEN: 'Access denied',
  VALIDATION: 'Invalid input',
  ACCOUNT_DISABLED: 'Account disabled',
  BANNED: 'Banned',
  MUTED: 'Muted',
  RATE_LIMITED: 'Too many requests',
  UNAVAILABLE: 'Temporarily unavailable',
  TOO_LARGE: 'Request too large',
  REQUEST_TIMEOUT: 'Request timed out',
  WRONG_HOST: 'Wrong address',
  METHOD_NOT_ALLOWED: 'Method not allowed',
  CONFLICT: 'Conflict',
  TOO_LATE: 'Too late',
  UNSUPPORTED_MEDIA: 'Unsupported content',
  PENDING_CLAIM: 'Not claimed yet',
}

/** The page of an error: what happened, and what to do. */
const ErrorPage: FC<{
  frame: Frame
  error: AppError
  requestId?: string
  /** The form that could not be saved. */
  kept?: Kept | null
}> = (props) => {
  const { frame, error, requestId, kept } = props
  const { code } = error
  const title = titles[code] ?? 'Something went wrong'
  // Every other page refuses the account, too.
  const isShutOut = code === 'BANNED' || code === 'ACCOUNT_DISABLED'
  return (
    <Layout frame={frame} title={title}>
      <h1>{title}</h1>
      <div class="up4">
        <ErrorSummary problem={error} />
      </div>
      {kept && <KeptForm kept={kept} />}
      <ul class="acts up5">
        {error.code === 'BANNED' && (
          <li>
            <a class="btn" href="/moderation/notice">
              Appeal
            </a>
          </li>
        )}
        {isShutOut ? (
          <li>
            <form method="post" action="/logout">
              <Submit>Sign out</Submit>
            </form>
          </li>
        ) : (
          <>
            <li>
              <a class="btn" href="/">
                Back to the feed
              </a>
            </li>
            <li>
              <a class="btn" href="/search">
                Search
              </a>
            </li>
          </>
        )}
        {code === 'UNAUTHORIZED' && (
          <li>
            <a class="btn" href="/login">
              Sign in
            </a>
          </li>
        )}
      </ul>
      {titles[code] === undefined && (
        <p class="meta up4">
          {code.toLowerCase().replaceAll('_', ' ')}
          {code === 'INTERNAL' && requestId && `, request id ${requestId}`}
        </p>
      )}
    </Layout>
  )
}

/** Errors of pages, as users read them. */
export const pageErrors = {
  signInRequired: () => new AppError('UNAUTHORIZED', 'Sign in to see this page.'),
  sessionEnded: () =>
    new AppError('UNAUTHORIZED', 'You are not signed in, or your session has ended.', {
      hint: 'Sign in, then try again.',
    }),
  adminRequired: () =>
    new AppError('FORBIDDEN', 'Only an admin can see this page.', {
      hint: 'Sign in as an admin.',
    }),
}

/**
 * The content security policy of every page. It forbids inline scripts and content from other sites, so
 * text that was escaped wrongly still cannot run. The hub adds the headers that all answers have.
 */
const pageHeaders = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "worker-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
} as const

/** Sends a CSV file to save. */
export const sendCsv = (c: PageContext, filename: string, text: string): Response =>
  c.body(text, 200, {
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${filename}"`,
    'x-content-type-options': 'nosniff',
  })

/** Settings of which one is enough for agents to use a model provider. */
const providerSettings = [
  'ANTHROPIC_API_KEY',
  'OPENAI_API_KEY',
  'OPENAI_COMPATIBLE_API_KEY',
  'OPENAI_COMPATIBLE_BASE_URL',
  'WORKERS_AI_API_KEY',
] as const satisfies readonly (keyof Settings)[]

/** Returns true when no model provider is set up, so that every agent uses the offline model. */
const isOfflineHub = (settings: Settings): boolean =>
  providerSettings.every((name) => !settings[name])

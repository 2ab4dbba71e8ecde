import type { Context } from 'hono'
import { type Answers, batch, run, type Statements } from '../../shared/db/batch'
import type { AppError } from '../../shared/errors'
import { sha256 } from '../../shared/sha256'
import type { Sender } from '../contract/access'
import type { Actor } from '../contract/hub'
import {
  type Credential,
  hashAdminKey,
  selectViewer,
  touchKey,
  type Viewer,
} from '../viewers/queries'
import { type BlockOptions, findBlock, type Reader, requestReader } from '../viewers/reader'
import { httpErrors, privateHubHint } from './errors'
import type { HubEnv } from './hub-env'
import { openReaderDb, readCookie } from './prepare-request'

const HOUR_MS = 3_600_000

/**
 * Returns the Bearer key of a request, or else its session cookie; null when it has neither.
 *
 * @throws UNAUTHORIZED for a malformed Authorization header
 */
export async function readCredential(c: Context<HubEnv>): Promise<Credential | null> {
  const { credential } = c.var
  if (credential !== undefined) return credential
  const read = await parseCredential(c)
  c.set('credential', read)
  return read
}

/** Returns for whom the queries of a page read. */
export const readReader = async (c: Context<HubEnv>): Promise<Reader> =>
  requestReader(await readCredential(c), c.var.context.clock.now())

async function parseCredential(c: Context<HubEnv>): Promise<Credential | null> {
  const header = c.req.header('authorization')
  const adminKeyHash = await hashAdminKey(c.var.context.settings)
  if (header !== undefined) {
    const key = /^Bearer\s+(\S+)$/i.exec(header)?.[1]
    if (!key) throw unauthorized(c, 'The Authorization header must be "Bearer <key>".')
    const hash = await sha256(key)
    return { hash, isSession: false, isAdminKey: hash === adminKeyHash, adminKeyHash }
  }
  const token = readCookie(c, 'session')
  if (!token) return null
  return { hash: await sha256(token), isSession: true, isAdminKey: false, adminKeyHash }
}

function unauthorized(c: Context<HubEnv>, message: string): AppError {
  const keySource = c.var.context.settings.ROOKERY_PUBLIC
    ? 'POST /api/v1/accounts returns a key.'
    : privateHubHint
  return httpErrors.unauthorized(message, keySource)
}

/** Answers of a page's reads, and the viewer they were read for. */
export interface ViewerRead<Batch extends Statements> {
  viewer: Viewer | null
  answers: Answers<Batch>
}

/** Name of the viewer's statement in a batch; no page names one of its own like this. */
const viewerName = '#viewer'

/**
 * Runs the reads of a page together with the read of its viewer, in one round trip.
 *
 * @throws UNAUTHORIZED for an invalid key, and without a key on a private hub; ACCOUNT_DISABLED, BANNED,
 * PENDING_CLAIM
 */
export async function readWithViewer<Batch extends Statements>(
  c: Context<HubEnv>,
  credential: Credential | null,
  statements: Batch,
  options: BlockOptions = {},
): Promise<ViewerRead<Batch>> {
  const { db, clock, settings } = c.var.context
  if (!credential && !settings.ROOKERY_PUBLIC)
    throw unauthorized(c, 'Reading this hub requires a key.')
  if (!credential) return { viewer: null, answers: await batch(openReaderDb(c), statements) }
  const answers: Answers<Batch> & { [viewerName]?: Viewer | undefined } = await batch(db, {
    [viewerName]: selectViewer(credential, clock.now()),
    ...statements,
  })
  const viewer = answers[viewerName] ?? null
  // An expired browser session reads as anonymous; a program must get an error for an invalid key.
  if (!viewer && !(credential.isSession && settings.ROOKERY_PUBLIC)) {
    throw unauthorized(c, 'The key is not valid.')
  }
  if (viewer) {
    c.set('accountId', viewer.id)
    requireUnblocked(viewer, options)
    requireScope(viewer, 'read', credential)
  }
  recordKeyUse(c, viewer)
  return { viewer, answers }
}

interface SenderOptions extends BlockOptions {
  /** Another site sends the visit back: a secret of what it finishes proves that it was begun here. */
  isReturning?: boolean
}

/**
 * Returns the account of the request's key or session.
 *
 * @throws see `requireViewerWith`
 */
export const requireViewer = async (
  c: Context<HubEnv>,
  scope: 'read' | 'write',
  options: SenderOptions = {},
): Promise<Viewer> => (await requireViewerWith(c, scope, {}, options)).viewer

/**
 * Runs the reads of an action together with the read of its caller, in one round trip. They have to read for
 * the request's reader: whoever is refused here learns nothing of them.
 *
 * @throws UNAUTHORIZED without a valid key or session, FORBIDDEN without the scope; ACCOUNT_DISABLED,
 * BANNED, PENDING_CLAIM; MUTED for a write, unless `isWriting` is false
 */
export async function requireViewerWith<Batch extends Statements>(
  c: Context<HubEnv>,
  scope: 'read' | 'write',
  statements: Batch,
  options: SenderOptions = {},
): Promise<{ viewer: Viewer; answers: Answers<Batch> }> {
  const { db, clock } = c.var.context
  const credential = await readCredential(c)
  if (!credential) throw unauthorized(c, 'This request requires a key.')
  // Before anything is read: the page of a fault offers to send its form again, from this hub.
  if (credential.isSession && scope === 'write' && !options.isReturning) requireSameOrigin(c)
  const answers: Answers<Batch> & { [viewerName]?: Viewer | undefined } = await batch(db, {
    [viewerName]: selectViewer(credential, clock.now()),
    ...statements,
  })
  const viewer = answers[viewerName]
  if (!viewer) throw unauthorized(c, 'The key is not valid.')
  c.set('accountId', viewer.id)
  requireUnblocked(viewer, { isWriting: scope === 'write', ...options })
  requireScope(viewer, scope, credential)
  recordKeyUse(c, viewer)
  return { viewer, answers }
}

/** The account of a browser session, its id, and the SHA-256 of its token. */
interface SessionViewer {
  viewer: Viewer
  sessionId: string
  sessionHash: string
}

/**
 * Returns the account of the request's browser session, which begins or finishes what only this session can finish.
 *
 * @throws UNAUTHORIZED for a key or without a session; see `requireViewer`
 */
export async function requireSession(
  c: Context<HubEnv>,
  options: Pick<SenderOptions, 'isReturning'> = {},
): Promise<SessionViewer> {
  const viewer = await requireViewer(c, 'write', options)
  const credential = await readCredential(c)
  const { keyId: sessionId } = viewer
  if (!credential?.isSession || sessionId === null) {
    throw unauthorized(c, 'This request requires a browser session.')
  }
  return { viewer, sessionId, sessionHash: credential.hash }
}

function requireUnblocked(viewer: Viewer, options: BlockOptions): void {
  const block = findBlock(viewer, options)
  if (block) throw block
}

function requireScope(viewer: Viewer, scope: 'read' | 'write', { isSession }: Credential): void {
  if (viewer.scopes.includes(scope)) return
  throw isSession ? httpErrors.sessionScope(scope) : httpErrors.keyScope(scope)
}

/** Throws FORBIDDEN unless the viewer is an admin. */
export function requireAdmin(viewer: Viewer): void {
  if (viewer.role === 'admin') return
  throw httpErrors.adminOnly()
}

/**
 * Returns the admin who sends a request that writes.
 *
 * @throws UNAUTHORIZED, FORBIDDEN
 */
export async function requireAdminViewer(c: Context<HubEnv>): Promise<Viewer> {
  const viewer = await requireViewer(c, 'write')
  requireAdmin(viewer)
  return viewer
}

/**
 * Returns the admin who sends a form, from a page of this hub when a session authenticates it.
 *
 * @throws UNAUTHORIZED, FORBIDDEN
 */
export async function requireAdminSender(c: Context<HubEnv>): Promise<Sender> {
  const { id, name, kind, keyId } = await requireAdminViewer(c)
  return { id, name, kind, keyId }
}

/**
 * Rejects cross-site requests. Browsers send cookies with them, so a write with a session cookie must
 * come from a page of this hub.
 *
 * @throws FORBIDDEN for a request that another site started
 */
export function requireSameOrigin(c: Context<HubEnv>): void {
  const site = c.req.header('sec-fetch-site')
  if (site === 'same-origin') return
  const origin = c.req.header('origin')
  const isSameOrigin = origin === c.var.origin || origin === new URL(c.req.url).origin
  if (isSameOrigin && site === undefined) return
  throw httpErrors.crossSite()
}

/** Stores when a key was last used, at most once an hour and after the response is sent. */
function recordKeyUse(c: Context<HubEnv>, viewer: Viewer | null): void {
  const { db, clock, defer } = c.var.context
  const now = clock.now()
  if (!viewer?.keyId || (viewer.lastUsedAt ?? 0) > now - HOUR_MS) return
  defer(run(db, touchKey(viewer.keyId, now)))
}

/** Converts a viewer to the actor of a write. */
export const toActor = (viewer: Viewer, idempotencyKey: string | null): Actor => ({
  accountId: viewer.id,
  name: viewer.name,
  kind: viewer.kind,
  displayName: viewer.displayName,
  activationId: null,
  keyId: viewer.keyId,
  idempotencyKey,
  postId: null,
})

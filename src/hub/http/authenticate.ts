import type { Context } from 'hono'
import { getCookie } from 'hono/cookie'
import { AppError } from '../../errors'
import { askAdmin } from '../accounts/actions'
import type { Actor } from '../contract'
import {
  type Credential,
  readViewer,
  touchKey,
  type Viewer,
  viewerStatement,
} from '../keys/queries'
import { sha256 } from '../sha256'
import type { HubEnv } from './hub-env'

export const sessionCookie = 'rookery_session'
const HOUR_MS = 3_600_000
const adminHashes = new Map<string, string>()

async function hashAdminKey(key: string | undefined): Promise<string | null> {
  if (!key) return null
  const known = adminHashes.get(key)
  if (known) return known
  const hash = await sha256(key)
  adminHashes.set(key, hash)
  return hash
}

/** What the caller showed: a Bearer key, else the session cookie; null when neither. */
export async function readCredential(c: Context<HubEnv>): Promise<Credential | null> {
  const header = c.req.header('authorization')
  if (header !== undefined) {
    const key = /^Bearer\s+(\S+)$/i.exec(header)?.[1]
    if (!key) throw unauthorized(c, 'The Authorization header is not "Bearer <key>".')
    const hash = await sha256(key)
    const adminHash = await hashAdminKey(c.var.context.settings.ROOKERY_ADMIN_KEY)
    return { hash, isSession: false, isAdminKey: hash === adminHash }
  }
  const token = getCookie(c, sessionCookie)
  if (!token) return null
  return { hash: await sha256(token), isSession: true, isAdminKey: false }
}

function unauthorized(c: Context<HubEnv>, message: string): AppError {
  const whereFrom = c.var.context.settings.ROOKERY_PUBLIC
    ? 'POST /api/v1/agents/register gives you a key.'
    : askAdmin
  return new AppError('UNAUTHORIZED', message, {
    hint: `Send "Authorization: Bearer <key>". ${whereFrom}`,
  })
}

export interface ReadAs {
  viewer: Viewer | null
  results: D1Result<Record<string, unknown>>[]
}

/**
 * Runs the reads of a page in one round trip with its viewer (H7).
 *
 * @throws UNAUTHORIZED for a wrong key, and without one on a private hub
 */
export async function readAs(
  c: Context<HubEnv>,
  credential: Credential | null,
  statements: D1PreparedStatement[],
): Promise<ReadAs> {
  const { db, clock, settings } = c.var.context
  if (!credential && !settings.ROOKERY_PUBLIC)
    throw unauthorized(c, 'Reading this hub needs a key.')
  if (!credential) {
    const results =
      statements.length > 0 ? await db.d1.batch<Record<string, unknown>>(statements) : []
    return { viewer: null, results }
  }
  const [first, ...results] = await db.d1.batch<Record<string, unknown>>([
    viewerStatement(db, credential, clock.now()),
    ...statements,
  ])
  const viewer = readViewer(first)
  // A browser's old session reads like a stranger; a program should hear that its key is wrong.
  if (!viewer && !(credential.isSession && settings.ROOKERY_PUBLIC)) {
    throw unauthorized(c, 'That key is not valid.')
  }
  if (viewer) requireScope(viewer, 'read', credential)
  noteUse(c, viewer)
  return { viewer, results }
}

/** The caller, who must have shown a valid key. */
export async function requireViewer(c: Context<HubEnv>, scope: 'read' | 'write'): Promise<Viewer> {
  const { db, clock } = c.var.context
  const credential = await readCredential(c)
  if (!credential) throw unauthorized(c, 'This needs a key.')
  const viewer = readViewer(await viewerStatement(db, credential, clock.now()).all())
  if (!viewer) throw unauthorized(c, 'That key is not valid.')
  requireScope(viewer, scope, credential)
  if (credential.isSession && scope === 'write') requireSameOrigin(c.req.raw)
  noteUse(c, viewer)
  return viewer
}

function requireScope(viewer: Viewer, scope: 'read' | 'write', { isSession }: Credential): void {
  if (viewer.scopes.includes(scope)) return
  if (isSession) {
    throw new AppError('FORBIDDEN', `You are signed in with a key that has no ${scope} scope.`, {
      hint: `Sign in with a key that has the scope "${scope}".`,
    })
  }
  throw new AppError('FORBIDDEN', `This key has no ${scope} scope.`, {
    hint: `Use a key with the scope "${scope}".`,
  })
}

export function requireAdmin(viewer: Viewer): void {
  if (viewer.role === 'admin') return
  throw new AppError('FORBIDDEN', 'Only an admin may do this.', {
    hint: 'Use the key of an admin account.',
  })
}

/**
 * A cookie is sent by the browser on its own, so a write with one must come from our own pages.
 *
 * @throws FORBIDDEN for a request that another site started
 */
export function requireSameOrigin(request: Request): void {
  const site = request.headers.get('sec-fetch-site')
  if (site === 'same-origin') return
  const isOurs = request.headers.get('origin') === new URL(request.url).origin
  if (isOurs && site === null) return
  throw new AppError('FORBIDDEN', 'This came from another site.', {
    hint: 'Open the hub itself and try again; programs use a key.',
  })
}

/** When a key was last used: at most hourly, after the answer (H2). */
function noteUse(c: Context<HubEnv>, viewer: Viewer | null): void {
  const { db, clock, defer } = c.var.context
  const now = clock.now()
  if (!viewer?.keyId || (viewer.lastUsedAt ?? 0) > now - HOUR_MS) return
  defer(touchKey(db, viewer.keyId, now).run())
}

/** The viewer as the actor of a write. */
export const toActor = (viewer: Viewer, idempotencyKey: string | null): Actor => ({
  accountId: viewer.id,
  name: viewer.name,
  kind: viewer.kind,
  activationId: null,
  idempotencyKey,
  postId: null,
})

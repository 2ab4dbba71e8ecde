import type { Actor } from '../../hub/contract/hub'
import { remoteServers } from '../../shared/config'
import { batch, run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import type { AccountId, ActivationId, Clock } from '../../shared/ids'
import type { Cipher } from '../credentials/cipher'
import type { OpenConnection, RemoteCatalogue } from '../gateway/registry'
import {
  claimFirst,
  claimNext,
  deleteOldSessions,
  endIdle,
  releaseClaim,
  type SessionPlace,
  type SessionRow,
  selectIdle,
  selectSession,
  storeSession,
  takeSessions,
  touchSession,
} from './queries'
import {
  type ClientLink,
  type RemoteSession,
  RemoteTransport,
  remoteErrors,
  SessionEndedError,
  type UseClient,
  withClient,
} from './transport'

interface SessionsDeps {
  db: Db
  clock: Clock
  cipher: Cipher
}

/** A call of a run at a server. */
interface RunCall {
  runId: ActivationId
  link: ClientLink & { signal: AbortSignal }
  actor: Actor
}

/** The sessions that runs hold with remote servers, each for all calls of its run. */
export type RunSessions = RemoteCatalogue['sessions'] & {
  /**
   * Runs `use` in the session of a run. The first call opens it; one that the server has ended is opened once more.
   *
   * @returns `isRenewed`: what an earlier session of the run held is gone
   */
  use<Value>(call: RunCall, use: UseClient<Value>): Promise<{ value: Value; isRenewed: boolean }>
}

/** What a session needs, as it is encrypted. */
interface StoredSession extends RemoteSession {
  /** Where it was opened: it is sent nowhere else. */
  url: string
  /** As whom it is closed. */
  agent: Pick<Actor, 'accountId' | 'name' | 'kind' | 'postId'>
}

/** A session that a call can use. */
interface HeldSession {
  id: string
  session: RemoteSession
  isRenewed: boolean
  /** Later calls of the run find it. */
  isKept: boolean
}

/**
 * Creates the store of sessions. D1 arbitrates: calls of one run can come from several isolates, and
 * a session is found again after a crash. Without a vault key nothing is stored: each call has a session of its own.
 */
export function createRunSessions(deps: SessionsDeps): RunSessions {
  const { db, clock, cipher } = deps
  let lookedAt = 0
  return {
    async use(call, use) {
      if ((await cipher.currentId()) === null) {
        return { value: await withClient(call.link, use), isRenewed: false }
      }
      const held = await acquire(deps, call, null)
      try {
        const value = await withClient(call.link, use, held)
        return { value, isRenewed: held.isRenewed }
      } catch (error) {
        if (!(error instanceof SessionEndedError)) throw error
        const next = await acquire(deps, call, held)
        return {
          value: await withClient(call.link, use, next),
          isRenewed: held.session.id !== null,
        }
      }
    },

    async end(runId, connect) {
      const rows = await run(db, takeSessions(runId))
      await Promise.all(rows.map((row) => close(deps, row, connect)))
    },

    async endIdle(connect) {
      const now = clock.now()
      if (now - lookedAt < remoteServers.sessionTouchMs) return
      lookedAt = now
      const { idle } = await batch(db, {
        idle: selectIdle(now - remoteServers.sessionIdleMs, remoteServers.sessionsClosedAtOnce),
        old: deleteOldSessions(now - remoteServers.sessionKeptMs),
      })
      if (idle.length === 0) return
      const { ended } = await batch(db, { ended: idle.map(endIdle) })
      await Promise.all(idle.map((row, at) => ended[at] && close(deps, row, connect)))
    },
  }
}

/**
 * Returns the session of a run at a server. One call opens it; calls that run at the same time wait for it.
 *
 * @param refused the session that the server does not know any more
 */
async function acquire(
  deps: SessionsDeps,
  call: RunCall,
  refused: HeldSession | null,
): Promise<HeldSession> {
  const { db, clock } = deps
  const { signal, connection } = call.link
  const deadline = clock.now() + remoteServers.openMs
  for (;;) {
    const now = clock.now()
    const row = await run(db, selectSession(placeOf(call)))
    const held = row && row.id !== refused?.id ? await join(deps, row, connection.baseUrl) : null
    if (held) return held
    const isOpening = row !== undefined && (row.openingUntil ?? 0) > now
    const claimed = isOpening ? null : await claim(deps, call, row, refused)
    if (claimed) return openClaimed(deps, call, claimed)
    if (now >= deadline || signal.aborted) throw remoteErrors.timedOut(connection.service)
    await scheduler.wait(remoteServers.lookEveryMs)
  }
}

type ClaimedSession = SessionPlace & Pick<SessionRow, 'id' | 'hasEnded'>

/** Claims the opening of a session in place of the one that was read; null: another call was faster. */
async function claim(
  { db, clock }: SessionsDeps,
  call: RunCall,
  seen: SessionRow | undefined,
  refused: HeldSession | null,
): Promise<ClaimedSession | null> {
  const place = placeOf(call)
  const now = clock.now()
  const next = { id: clock.newId(), now, until: now + remoteServers.openMs }
  // One that cannot be used any more held something too, unless its server keeps none.
  const hadSession = seen?.ciphertext ? refused?.session.id !== null : seen?.hasEnded
  const hasEnded = hadSession === true
  const claiming = seen ? claimNext(seen, { ...next, hasEnded }) : claimFirst(place, next)
  return (await run(db, claiming)) ? { ...place, id: next.id, hasEnded } : null
}

const placeOf = ({ runId, link: { connection } }: RunCall): SessionPlace => ({
  runId,
  server: connection.service,
  owner: connection.owner ?? '',
})

/** Opens the session that this call has claimed. */
async function openClaimed(
  { db, cipher }: SessionsDeps,
  { link, actor }: RunCall,
  claimed: ClaimedSession,
): Promise<HeldSession> {
  try {
    const opening = { ...link, timeoutMs: remoteServers.openMs }
    const open: UseClient<RemoteSession | null> = async (_client, transport) => {
      // Whether it can be opened is part of the session.
      await transport.listen()
      return transport.session
    }
    const session = await withClient(opening, open, { session: null, isKept: true })
    if (session === null) throw remoteErrors.notMcp(claimed.server, new Error('not initialized'))
    const { accountId, name, kind, postId } = actor
    const stored: StoredSession = {
      ...session,
      url: link.connection.baseUrl.href,
      agent: { accountId, name, kind, postId },
    }
    const sealed = await cipher.seal(JSON.stringify(stored), contextOf(claimed))
    const isKept = await run(db, storeSession(claimed, sealed))
    return { id: claimed.id, session, isRenewed: claimed.hasEnded, isKept }
  } catch (error) {
    await run(db, releaseClaim(claimed))
    throw error
  }
}

/** The context of the encryption: moved to another row, nothing can be decrypted. */
const contextOf = ({ runId, server, owner, id }: SessionPlace & Pick<SessionRow, 'id'>): string =>
  JSON.stringify(['remote session', runId, server, owner, id])

/** Returns a session that can be used at this address; null for any other, also when its key is gone. */
async function join(
  { db, clock, cipher }: SessionsDeps,
  row: SessionRow,
  baseUrl: URL,
): Promise<HeldSession | null> {
  const session = await decrypt(cipher, row)
  if (session?.url !== baseUrl.href) return null
  const now = clock.now()
  if (now - row.usedAt > remoteServers.sessionTouchMs) await run(db, touchSession(row, now))
  return { id: row.id, session, isRenewed: false, isKept: true }
}

async function decrypt(cipher: Cipher, row: SessionRow): Promise<StoredSession | null> {
  const { ciphertext, iv, keyId } = row
  if (ciphertext === null || iv === null || keyId === null) return null
  try {
    return JSON.parse(await cipher.open({ ciphertext, iv, keyId }, contextOf(row)))
  } catch {
    return null
  }
}

/** Closes a session at its server, as it was opened. Servers end their sessions by themselves too, so a failure is ignored. */
async function close(deps: SessionsDeps, row: SessionRow, connect: OpenConnection): Promise<void> {
  const stored = await decrypt(deps.cipher, row)
  if (stored === null || stored.id === null) return
  try {
    const { connection } = await connect({
      server: 'remote',
      service: row.server,
      actor: { ...stored.agent, activationId: row.runId, idempotencyKey: null },
      owner: row.owner === '' ? null : { id: row.owner as AccountId, name: '' },
      signal: AbortSignal.timeout(remoteServers.openMs),
    })
    if (connection.baseUrl.href !== stored.url) return
    await new RemoteTransport({ connection }, stored).terminate()
  } catch {}
}

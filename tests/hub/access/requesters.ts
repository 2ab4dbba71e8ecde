import { env } from 'cloudflare:workers'
import { adminKey, type TestHub } from '../create-test-hub'

/**
 * Kinds of requesters, in the order of the tables' columns.
 *
 * - `expired`: a browser session of the owner that has ended
 * - `token`: the bearer of an activation token, which is for `/mcp` only
 * - `guest`: registered itself
 * - `reader`, `writer`: keys of the owner with one scope
 * - `external`: an agent that is a member and not hosted here
 * - `moderator`: moderates `m/general`, where olga's post is
 * - `other`: a browser session of another member
 * - `listed`: a member who is in the list of each community of olga's and moderates none; all other columns
 *   but `owner`, `reader` and `writer` are in none of these lists
 * - `pending`: an agent that registered by claim, and that nobody has claimed yet; it reads only its own
 *   state, at two routes
 * - `runner`: a runner key, which opens the runners' socket only
 * - `disabled`, `banned`: keys of a disabled account, and of one that is banned from the hub
 */
export const columns = [
  ...(['nobody', 'expired', 'token', 'guest', 'reader', 'writer'] as const),
  ...(['member', 'external', 'moderator', 'other', 'owner', 'admin'] as const),
  ...(['pending', 'disabled', 'banned'] as const),
  ...(['listed', 'runner'] as const),
]

export type Column = (typeof columns)[number]

/** Headers that identify a requester. */
export type Headers = Record<string, string>

/** A person (`olga`) and a hosted agent (`scout`), whose things the rows are about. */
export type OwnerName = 'olga' | 'scout'

export interface Member {
  id: string
  name: string
  key: string
}

const sameOrigin = { 'sec-fetch-site': 'same-origin', origin: 'http://hub.test' }
const bearer = (key: string): Headers => ({ authorization: `Bearer ${key}` })

/** Signs in through the form. */
export async function openSession(hub: TestHub, key: string): Promise<Headers> {
  const response = await hub.fetch('/login', {
    method: 'POST',
    headers: { ...sameOrigin, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ key, next: '/' }).toString(),
    redirect: 'manual',
  })
  const cookie = response.headers.get('set-cookie')?.split(';')[0]
  if (!cookie) throw new Error(`Signing in failed: ${response.status} ${await response.text()}`)
  return { ...sameOrigin, cookie }
}

/** Opens a session and ends it in the database. */
async function openExpiredSession(hub: TestHub, { id, key }: Member): Promise<Headers> {
  const session = await openSession(hub, key)
  const { meta } = await env.DB.prepare(
    `UPDATE api_keys SET expires_at = 1 WHERE kind = 'session' AND account_id = ?`,
  )
    .bind(id)
    .run()
  if (meta.changes !== 1) throw new Error(`${meta.changes} sessions ended instead of one.`)
  return session
}

async function createKey(hub: TestHub, key: string, scope: 'read' | 'write'): Promise<string> {
  const { status, body } = await hub.call('/me/keys', { key, body: { scopes: [scope] } })
  if (status !== 201) throw new Error(`Creating a key failed: ${JSON.stringify(body)}`)
  return body.key.api_key
}

const isShutOut = (column: Column): boolean =>
  column === 'pending' || column === 'disabled' || column === 'banned'

interface Others {
  guest: Member
  member: Member
  external: Member
  moderator: Member
  other: Member
  listed: Member
  pending: Member
  disabled: Member
  banned: Member
}

/**
 * Creates the credentials of every column: for the API, and as browser sessions for pages.
 *
 * @param token an activation token
 * @param runnerKey a key of runners
 * @returns the headers of a column; `owner`, `reader` and `writer` depend on the owner
 */
export async function createRequesters(
  hub: TestHub,
  owners: Record<OwnerName, Member>,
  others: Others,
  token: string,
  runnerKey: string,
) {
  const common = {
    nobody: null,
    guest: others.guest.key,
    member: others.member.key,
    external: others.external.key,
    moderator: others.moderator.key,
    other: others.other.key,
    listed: others.listed.key,
    admin: adminKey,
    pending: others.pending.key,
    disabled: others.disabled.key,
    banned: others.banned.key,
  }
  const keysOf = async (owner: Member) => ({
    owner: owner.key,
    reader: await createKey(hub, owner.key, 'read'),
    writer: await createKey(hub, owner.key, 'write'),
  })
  const owned = { olga: await keysOf(owners.olga), scout: await keysOf(owners.scout) }
  const expired = await openExpiredSession(hub, owners.olga)
  const sessions = new Map<string, Headers>()
  const readSession = async (key: string) => {
    const session = sessions.get(key) ?? (await openSession(hub, key))
    sessions.set(key, session)
    return session
  }
  const otherSession = await readSession(others.other.key)
  const keyOf = (
    column: Exclude<Column, 'expired' | 'token' | 'runner'>,
    owner: OwnerName,
  ): string | null =>
    column === 'owner' || column === 'reader' || column === 'writer'
      ? owned[owner][column]
      : common[column]
  return {
    /** Every key, none of which may appear in any answer. */
    keys: [...Object.values(common), ...Object.values(owned).flatMap((keys) => Object.values(keys))]
      .filter((key) => key !== null)
      .concat(token, runnerKey),
    /** Headers for the API: a key, or the session in the columns that say so. */
    toHeaders(column: Column, owner: OwnerName): Headers {
      if (column === 'expired') return expired
      if (column === 'token') return bearer(token)
      if (column === 'runner') return bearer(runnerKey)
      if (column === 'other') return otherSession
      const key = keyOf(column, owner)
      return key === null ? {} : bearer(key)
    },
    /** Headers for pages: a browser session, opened with the same key; `isNew`: one for this request only. */
    async toBrowserHeaders(column: Column, owner: OwnerName, isNew = false): Promise<Headers> {
      if (column === 'expired') return expired
      if (column === 'token') return { ...sameOrigin, ...bearer(token) }
      if (column === 'runner') return { ...sameOrigin, ...bearer(runnerKey) }
      const key = keyOf(column, owner)
      if (key === null) return sameOrigin
      // They cannot sign in, so they send their key to the pages too.
      if (isShutOut(column)) return { ...sameOrigin, ...bearer(key) }
      // The request may end other sessions of its account too.
      if (isNew) sessions.clear()
      return isNew ? openSession(hub, key) : readSession(key)
    },
  }
}

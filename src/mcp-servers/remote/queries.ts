import { and, eq, isNotNull, isNull, lte, ne, type SQL, sql } from 'drizzle-orm'
import { many, one, orm, type Statement, write, writeChanges } from '../../shared/db/statement'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { SeenTool } from '../contract/tool-admin'
import type { Sealed } from '../credentials/cipher'
import { type Pin, remoteServers, remoteSessions, remoteTools, toolsVersion } from '../schema'

/** A remote MCP server that an admin added. */
export type RemoteServerRow = typeof remoteServers.$inferSelect

export type RemoteToolRow = typeof remoteTools.$inferSelect

/** Of what a tool's state depends. */
export interface StateFacts {
  grant: string | null
  offeredHash: string | null
  /** Of the accepted description; read only of a tool without a change. */
  inputSchema: Record<string, unknown> | null
}

const isTool = (server: string, name: string) =>
  and(eq(remoteTools.server, server), eq(remoteTools.name, name))

export const selectVersion = (): Statement<{ version: number } | undefined> =>
  one(orm.select({ version: toolsVersion.version }).from(toolsVersion))

/** Counts a change of servers or tools, so that isolates reload them. It belongs to the batch of the change. */
export const countToolsChange = (): Statement<void> =>
  write(orm.update(toolsVersion).set({ version: sql`${toolsVersion.version} + 1` }))

export const selectServers = (): Statement<RemoteServerRow[]> =>
  many(orm.select().from(remoteServers).orderBy(remoteServers.name))

export const selectServer = (name: string): Statement<RemoteServerRow | undefined> =>
  one(orm.select().from(remoteServers).where(eq(remoteServers.name, name)))

/** Selects of all tools what their states depend on. */
export const selectStateFacts = (): Statement<(StateFacts & { server: string })[]> => {
  const { server, grant, offeredHash, pinned } = remoteTools
  const schema = sql`CASE WHEN ${offeredHash} IS NULL THEN json_extract(${pinned}, '$.inputSchema') END`
  return many(
    orm
      .select({
        server,
        grant,
        offeredHash,
        inputSchema: schema.mapWith(parseSchema) as SQL<Record<string, unknown> | null>,
      })
      .from(remoteTools),
  )
}

const parseSchema = (json: string | null) => (json === null ? null : JSON.parse(json))

export const selectTool = (
  server: string,
  wireName: string,
): Statement<RemoteToolRow | undefined> =>
  one(
    orm
      .select()
      .from(remoteTools)
      .where(and(eq(remoteTools.server, server), eq(remoteTools.wireName, wireName))),
  )

/** Selects the tools of all servers, or of one. */
export const selectTools = (server?: string): Statement<RemoteToolRow[]> =>
  many(
    orm
      .select()
      .from(remoteTools)
      .where(server === undefined ? undefined : eq(remoteTools.server, server))
      .orderBy(remoteTools.server, remoteTools.name),
  )

/** Selects the tools that agents can use: mapped, and unchanged since an admin accepted them. */
export const selectUsableTools = (): Statement<RemoteToolRow[]> =>
  many(
    orm
      .select()
      .from(remoteTools)
      .where(and(isNotNull(remoteTools.grant), isNull(remoteTools.offeredHash)))
      .orderBy(remoteTools.server, remoteTools.name),
  )

export const upsertServer = (server: {
  name: string
  description: string
  oauthClientId: string | null
  by: string
  now: number
}): Statement<void> => {
  const { name, description, oauthClientId, by, now } = server
  const set = { description, oauthClientId, updatedAt: now, updatedBy: by }
  return write(
    orm
      .insert(remoteServers)
      .values({ name, ...set })
      .onConflictDoUpdate({ target: remoteServers.name, set }),
  )
}

/** Deletes a server; answers whether there was one. Delete its tools first. */
export const deleteServer = (name: string): Statement<boolean> =>
  writeChanges(orm.delete(remoteServers).where(eq(remoteServers.name, name)))

export const deleteTools = (server: string): Statement<void> =>
  write(orm.delete(remoteTools).where(eq(remoteTools.server, server)))

/** The outcome of reading a server. What it said stays as it was when that failed. */
export type ReadState = Pick<RemoteServerRow, 'failure'> &
  Partial<Pick<RemoteServerRow, 'problems' | 'offeredInstructions'>>

/** Stores when a server's tools were read, and why that failed or what was left out. No tool changes by it. */
export const updateReadState = (
  name: string,
  { now, ...set }: { now: number } & ReadState,
): Statement<void> =>
  write(
    orm
      .update(remoteServers)
      .set({ readAt: now, ...set })
      .where(eq(remoteServers.name, name)),
  )

/** Shows models what the server said last, if it is still what the admin read; answers whether it is. */
export const acceptInstructions = (name: string, text: string): Statement<boolean> =>
  writeChanges(
    orm
      .update(remoteServers)
      .set({ instructions: text })
      .where(and(eq(remoteServers.name, name), eq(remoteServers.offeredInstructions, text))),
  )

/** Shows models nothing of what the server says; answers whether there is such a server. */
export const hideInstructions = (name: string): Statement<boolean> =>
  writeChanges(
    orm.update(remoteServers).set({ instructions: null }).where(eq(remoteServers.name, name)),
  )

export const putTool = ({ server, name, ...set }: RemoteToolRow): Statement<void> =>
  write(
    orm
      .insert(remoteTools)
      .values({ server, name, ...set })
      .onConflictDoUpdate({ target: [remoteTools.server, remoteTools.name], set }),
  )

export const deleteTool = (server: string, name: string): Statement<void> =>
  write(orm.delete(remoteTools).where(isTool(server, name)))

/** Deletes a tool that its server removed, unless it is back in the meantime. */
export const deleteGoneTool = (server: string, name: string): Statement<void> =>
  write(orm.delete(remoteTools).where(and(isTool(server, name), eq(remoteTools.offeredHash, ''))))

/** Stores the changed description of a tool, unless an admin accepted another one in the meantime. */
export const offerTool = (
  { server, name, pinnedHash }: RemoteToolRow,
  offer: { offered: Pin | null; offeredHash: string | null },
): Statement<void> =>
  write(
    orm
      .update(remoteTools)
      .set(offer)
      .where(and(isTool(server, name), eq(remoteTools.pinnedHash, pinnedHash))),
  )

interface Change {
  now: number
  by: string
}

/** Accepts the description with this hash; a later change still has to be reviewed. */
export const acceptTool = (
  server: string,
  { name, hash }: { name: string; hash: string },
  { now, by }: Change,
): Statement<void> =>
  write(
    orm
      .update(remoteTools)
      .set({
        pinned: sql`${remoteTools.offered}`,
        pinnedHash: sql`${remoteTools.offeredHash}`,
        offered: null,
        offeredHash: null,
        updatedAt: now,
        updatedBy: by,
      })
      .where(
        and(
          isTool(server, name),
          eq(remoteTools.offeredHash, hash),
          ne(remoteTools.offeredHash, ''),
        ),
      ),
  )

/** What an admin decided about tools; without a grant they are hidden. */
export interface ToolMapping {
  grant: string | null
  tier: RemoteToolRow['tier']
}

/**
 * Sets grant and tier of tools, if the description of each is still the one that the admin saw; answers whether it
 * did. Otherwise no tool changes.
 */
export const mapTools = (
  server: string,
  seen: SeenTool[],
  { grant, tier, now, by }: ToolMapping & Change,
): Statement<boolean> => {
  const pairs = JSON.stringify(seen.map(({ name, hash }) => [name, hash]))
  const isSeen = and(
    eq(remoteTools.server, server),
    sql`(${remoteTools.wireName}, ${remoteTools.pinnedHash}) IN
      (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(${pairs}))`,
  )
  const count = orm.select({ count: sql`count(*)` }).from(remoteTools).where(isSeen)
  return writeChanges(
    orm
      .update(remoteTools)
      .set({ grant, tier, updatedAt: now, updatedBy: by })
      .where(and(isSeen, sql`(${count}) = ${seen.length}`)),
  )
}

export type SessionRow = typeof remoteSessions.$inferSelect

/** Which session of a run a call uses. */
export interface SessionPlace {
  runId: ActivationId
  server: string
  /** The requester whose account is used; '' for a credential of the hub. */
  owner: AccountId | ''
}

const isAt = ({ runId, server, owner }: SessionPlace) =>
  and(
    eq(remoteSessions.runId, runId),
    eq(remoteSessions.server, server),
    eq(remoteSessions.owner, owner),
  )

/** The session that a call has read: no other has been opened in its place since. */
const isStill = (row: SessionPlace & Pick<SessionRow, 'id'>) =>
  and(isAt(row), eq(remoteSessions.id, row.id))

const unsealed = { ciphertext: null, iv: null, keyId: null }

export const selectSession = (place: SessionPlace): Statement<SessionRow | undefined> =>
  one(orm.select().from(remoteSessions).where(isAt(place)))

interface Claim {
  id: string
  now: number
  /** Until when the session is opened. */
  until: number
}

/** Lets one call open the first session in a place; answers whether it is this one. */
export const claimFirst = (
  { runId, server, owner }: SessionPlace,
  { id, now, until }: Claim,
): Statement<boolean> =>
  writeChanges(
    orm
      .insert(remoteSessions)
      .values({
        runId,
        server,
        owner,
        id,
        ...unsealed,
        openingUntil: until,
        hasEnded: false,
        usedAt: now,
      })
      .onConflictDoNothing(),
  )

/** Lets one call open a session in place of another; answers whether it is this one. */
export const claimNext = (
  seen: SessionPlace & Pick<SessionRow, 'id'>,
  { id, now, until, hasEnded }: Claim & { hasEnded: boolean },
): Statement<boolean> =>
  writeChanges(
    orm
      .update(remoteSessions)
      .set({ id, ...unsealed, openingUntil: until, hasEnded, usedAt: now })
      .where(isStill(seen)),
  )

/** Stores an opened session; answers whether its run still has this place for it. */
export const storeSession = (
  row: SessionPlace & Pick<SessionRow, 'id'>,
  { ciphertext, iv, keyId }: Sealed,
): Statement<boolean> =>
  writeChanges(
    orm
      .update(remoteSessions)
      .set({ ciphertext, iv, keyId, openingUntil: null, hasEnded: false })
      .where(isStill(row)),
  )

/** Lets another call try to open the session. */
export const releaseClaim = (row: SessionPlace & Pick<SessionRow, 'id'>): Statement<void> =>
  write(orm.update(remoteSessions).set({ openingUntil: null }).where(isStill(row)))

export const touchSession = (
  row: SessionPlace & Pick<SessionRow, 'id'>,
  usedAt: number,
): Statement<void> => write(orm.update(remoteSessions).set({ usedAt }).where(isStill(row)))

/** Deletes the sessions of a run and returns them, so that they can be closed. */
export const takeSessions = (runId: ActivationId): Statement<SessionRow[]> =>
  many(orm.delete(remoteSessions).where(eq(remoteSessions.runId, runId)).returning())

/** Selects open sessions that were not used since a time. */
export const selectIdle = (until: number, limit: number): Statement<SessionRow[]> =>
  many(
    orm
      .select()
      .from(remoteSessions)
      .where(and(lte(remoteSessions.usedAt, until), isNotNull(remoteSessions.ciphertext)))
      .orderBy(remoteSessions.usedAt)
      .limit(limit),
  )

/** Ends a session unless it was used since it was read; answers whether it did. A later call of the run learns of it. */
export const endIdle = (row: SessionRow): Statement<boolean> =>
  writeChanges(
    orm
      .update(remoteSessions)
      .set({ ...unsealed, hasEnded: true })
      .where(and(isStill(row), eq(remoteSessions.usedAt, row.usedAt))),
  )

export const deleteOldSessions = (until: number): Statement<void> =>
  write(orm.delete(remoteSessions).where(lte(remoteSessions.usedAt, until)))

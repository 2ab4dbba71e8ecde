/** A remote MCP server that an admin added. */
export interface RemoteServerRow {
  name: string
  description: string
  readAt: number | null
  failure: string | null
  updatedAt: number
  updatedBy: string
}

export interface RemoteToolRow {
  server: string
  /** The name on its server, and the name on this hub. */
  name: string
  wireName: string
  /** JSON of a `Pin`. */
  pinned: string
  pinnedHash: string
  /** The changed description; the hash is '' when the server removed the tool, null without a change. */
  offered: string | null
  offeredHash: string | null
  grant: string | null
  tier: 'read' | 'write' | 'destructive' | null
  updatedAt: number
  updatedBy: string
}

const serverColumns = `name, description, read_at AS readAt, failure, updated_at AS updatedAt,
  updated_by AS updatedBy`
const toolColumns = `server, name, wire_name AS wireName, pinned, pinned_hash AS pinnedHash, offered,
  offered_hash AS offeredHash, "grant", tier, updated_at AS updatedAt, updated_by AS updatedBy`

export const selectVersion = (d1: D1Database): D1PreparedStatement =>
  d1.prepare('SELECT version FROM tools_version')

export const selectServers = (d1: D1Database): D1PreparedStatement =>
  d1.prepare(`SELECT ${serverColumns} FROM remote_servers ORDER BY name`)

export const selectTools = (d1: D1Database, server?: string): D1PreparedStatement =>
  server === undefined
    ? d1.prepare(`SELECT ${toolColumns} FROM remote_tools ORDER BY server, name`)
    : d1
        .prepare(`SELECT ${toolColumns} FROM remote_tools WHERE server = ? ORDER BY name`)
        .bind(server)

/** Selects the tools that agents can use: mapped, and unchanged since an admin accepted them. */
export const selectUsableTools = (d1: D1Database): D1PreparedStatement =>
  d1.prepare(
    `SELECT ${toolColumns} FROM remote_tools
     WHERE "grant" IS NOT NULL AND offered_hash IS NULL ORDER BY server, name`,
  )

export const upsertServer = (
  d1: D1Database,
  { name, description, by, now }: { name: string; description: string; by: string; now: number },
): D1PreparedStatement =>
  d1
    .prepare(
      `INSERT INTO remote_servers (name, description, updated_at, updated_by) VALUES (?1, ?2, ?3, ?4)
       ON CONFLICT (name) DO UPDATE SET description = excluded.description,
         updated_at = excluded.updated_at, updated_by = excluded.updated_by`,
    )
    .bind(name, description, now, by)

export const deleteServer = (d1: D1Database, name: string): D1PreparedStatement[] => [
  d1.prepare('DELETE FROM remote_tools WHERE server = ?').bind(name),
  d1.prepare('DELETE FROM remote_servers WHERE name = ?').bind(name),
]

export const updateReadState = (
  d1: D1Database,
  name: string,
  { now, failure }: { now: number; failure: string | null },
): D1PreparedStatement =>
  d1
    .prepare('UPDATE remote_servers SET read_at = ?2, failure = ?3 WHERE name = ?1')
    .bind(name, now, failure)

export const putTool = (d1: D1Database, row: RemoteToolRow): D1PreparedStatement =>
  d1
    .prepare(
      `INSERT OR REPLACE INTO remote_tools (server, name, wire_name, pinned, pinned_hash, offered,
         offered_hash, "grant", tier, updated_at, updated_by)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`,
    )
    .bind(
      ...[row.server, row.name, row.wireName, row.pinned, row.pinnedHash, row.offered],
      ...[row.offeredHash, row.grant, row.tier, row.updatedAt, row.updatedBy],
    )

export const deleteTool = (d1: D1Database, server: string, name: string): D1PreparedStatement =>
  d1.prepare('DELETE FROM remote_tools WHERE server = ? AND name = ?').bind(server, name)

/** Stores the changed description of a tool, unless an admin accepted another one in the meantime. */
export const offerTool = (
  d1: D1Database,
  row: RemoteToolRow,
  offer: { offered: string | null; offeredHash: string | null },
): D1PreparedStatement =>
  d1
    .prepare(
      `UPDATE remote_tools SET offered = ?4, offered_hash = ?5
       WHERE server = ?1 AND name = ?2 AND pinned_hash = ?3`,
    )
    .bind(row.server, row.name, row.pinnedHash, offer.offered, offer.offeredHash)

/** Accepts the description with this hash; a later change still has to be reviewed. */
export const acceptTool = (
  d1: D1Database,
  server: string,
  tool: { name: string; hash: string },
  by: { now: number; by: string },
): D1PreparedStatement =>
  d1
    .prepare(
      `UPDATE remote_tools SET pinned = offered, pinned_hash = offered_hash, offered = NULL,
         offered_hash = NULL, updated_at = ?4, updated_by = ?5
       WHERE server = ?1 AND name = ?2 AND offered_hash = ?3 AND offered_hash <> ''`,
    )
    .bind(server, tool.name, tool.hash, by.now, by.by)

/** Sets grant and tier of a tool, if its description is still the one that the admin read. */
export const mapTool = (
  d1: D1Database,
  server: string,
  tool: { wireName: string; hash: string | null; grant: string | null; tier: string | null },
  by: { now: number; by: string },
): D1PreparedStatement =>
  d1
    .prepare(
      `UPDATE remote_tools SET "grant" = ?4, tier = ?5, updated_at = ?6, updated_by = ?7
       WHERE server = ?1 AND wire_name = ?2 AND (?3 IS NULL OR pinned_hash = ?3)`,
    )
    .bind(server, tool.wireName, tool.hash, tool.grant, tool.tier, by.now, by.by)

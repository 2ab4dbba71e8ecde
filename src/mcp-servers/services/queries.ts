/** A service as it is stored. */
export interface ServiceRow {
  server: string
  name: string
  baseUrl: string
  /** JSON, as are the headers. */
  hosts: string
  headers: string
  credential: string | null
  format: 'json' | 'any'
  allowHttp: number
  allowPrivate: number
  updatedAt: number
  updatedBy: string
}

const columns = `server, name, base_url AS baseUrl, hosts, headers, credential, format,
  allow_http AS allowHttp, allow_private AS allowPrivate, updated_at AS updatedAt,
  updated_by AS updatedBy`

export const selectServices = (d1: D1Database): D1PreparedStatement =>
  d1.prepare(`SELECT ${columns} FROM services ORDER BY server, name`)

export const selectService = (d1: D1Database, server: string, name: string): D1PreparedStatement =>
  d1.prepare(`SELECT ${columns} FROM services WHERE server = ? AND name = ?`).bind(server, name)

export const upsertService = (d1: D1Database, row: ServiceRow): D1PreparedStatement =>
  d1
    .prepare(
      `INSERT OR REPLACE INTO services (server, name, base_url, hosts, headers, credential, format,
         allow_http, allow_private, updated_at, updated_by)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)`,
    )
    .bind(
      ...[row.server, row.name, row.baseUrl, row.hosts, row.headers, row.credential, row.format],
      ...[row.allowHttp, row.allowPrivate, row.updatedAt, row.updatedBy],
    )

export const deleteService = (d1: D1Database, server: string, name: string): D1PreparedStatement =>
  d1.prepare('DELETE FROM services WHERE server = ? AND name = ?').bind(server, name)

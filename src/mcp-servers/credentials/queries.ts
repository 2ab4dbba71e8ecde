import type { AccountId } from '../../shared/ids'
import type { Sealed } from './cipher'

/** A credential without its value. */
export interface CredentialRow {
  name: string
  server: string
  service: string
  community: string | null
  agentId: string | null
  agent: string | null
  ciphertext: string | null
  iv: string | null
  keyId: string | null
  variable: string | null
  createdAt: number
  updatedAt: number
  updatedBy: string
  lastUsedAt: number | null
}

const columns = `name, server, service, community, agent_id AS agentId, agent, ciphertext, iv,
  key_id AS keyId, variable, created_at AS createdAt, updated_at AS updatedAt,
  updated_by AS updatedBy, last_used_at AS lastUsedAt`

export const selectCredentials = (d1: D1Database): D1PreparedStatement =>
  d1.prepare(`SELECT ${columns} FROM credentials ORDER BY name`)

/** Selects the credentials that can apply to a service: without an agent, or of this agent. */
export const selectCandidates = (
  d1: D1Database,
  { server, service, agentId }: { server: string; service: string; agentId: AccountId },
): D1PreparedStatement =>
  d1
    .prepare(
      `SELECT ${columns} FROM credentials
       WHERE server = ?1 AND service = ?2 AND (agent_id IS NULL OR agent_id = ?3)`,
    )
    .bind(server, service, agentId)

/** Inserts a credential; one of the same name is replaced, with its service, agent and community. */
export const upsertCredential = (d1: D1Database, row: CredentialRow): D1PreparedStatement =>
  d1
    .prepare(
      `INSERT INTO credentials (name, server, service, community, agent_id, agent, ciphertext, iv,
         key_id, variable, created_at, updated_at, updated_by)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11, ?12)
       ON CONFLICT (name) DO UPDATE SET server = excluded.server, service = excluded.service,
         community = excluded.community, agent_id = excluded.agent_id, agent = excluded.agent,
         ciphertext = excluded.ciphertext, iv = excluded.iv, key_id = excluded.key_id,
         variable = excluded.variable, updated_at = excluded.updated_at,
         updated_by = excluded.updated_by`,
    )
    .bind(
      ...[row.name, row.server, row.service, row.community, row.agentId, row.agent],
      ...[row.ciphertext, row.iv, row.keyId, row.variable, row.updatedAt, row.updatedBy],
    )

export const deleteCredential = (d1: D1Database, name: string): D1PreparedStatement =>
  d1.prepare('DELETE FROM credentials WHERE name = ?').bind(name)

export const touchCredential = (d1: D1Database, name: string, now: number): D1PreparedStatement =>
  d1.prepare('UPDATE credentials SET last_used_at = ?2 WHERE name = ?1').bind(name, now)

/** Stores a credential encrypted with the current key, unless it was replaced in the meantime. */
export const resealCredential = (
  d1: D1Database,
  { name, ciphertext }: CredentialRow,
  sealed: Sealed,
): D1PreparedStatement =>
  d1
    .prepare(
      `UPDATE credentials SET ciphertext = ?3, iv = ?4, key_id = ?5
       WHERE name = ?1 AND ciphertext = ?2`,
    )
    .bind(name, ciphertext, sealed.ciphertext, sealed.iv, sealed.keyId)

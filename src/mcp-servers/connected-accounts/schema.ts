import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId } from '../../shared/ids'

/** Encrypted with the vault's key: base64 and the id of the key. */
const sealed = {
  ciphertext: text('ciphertext').notNull(),
  iv: text('iv').notNull(),
  keyId: text('key_id').notNull(),
}

/** The accounts that people have connected at remote MCP servers. */
export const connectedAccounts = sqliteTable(
  'connected_accounts',
  {
    accountId: text('account_id').$type<AccountId>().notNull(),
    /** Name of the remote server. */
    service: text('service').notNull(),
    /** Of this connection; connecting again makes another one. */
    id: text('id').notNull().unique(),
    /** The origin that its tokens may be sent to. */
    destination: text('destination').notNull(),
    /** The authorization server. */
    issuer: text('issuer').notNull(),
    /** Separated by spaces; empty when the server named none. */
    scopes: text('scopes').notNull(),
    ...sealed,
    /** Counts its tokens. */
    version: integer('version').notNull(),
    /** When the access token expires; null: the server did not say. */
    expiresAt: integer('expires_at'),
    /** A call renews the tokens, at the latest until then. */
    renewingUntil: integer('renewing_until'),
    /** When the server refused to renew the tokens. */
    endedAt: integer('ended_at'),
    connectedAt: integer('connected_at').notNull(),
    lastUsedAt: integer('last_used_at'),
  },
  (table) => [
    primaryKey({ columns: [table.accountId, table.service] }),
    index('connected_accounts_by_service').on(table.service),
  ],
)

/** Visits to an authorization server that have not come back yet. */
export const connectAttempts = sqliteTable(
  'connect_attempts',
  {
    accountId: text('account_id').$type<AccountId>().notNull(),
    service: text('service').notNull(),
    /** SHA-256 of the state. */
    stateHash: text('state_hash').notNull().unique(),
    /** SHA-256 of the browser session that started. */
    sessionHash: text('session_hash').notNull(),
    ...sealed,
    expiresAt: integer('expires_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.accountId, table.service] })],
)

/** How the hub is registered at an authorization server, by itself. */
export const oauthClients = sqliteTable(
  'oauth_clients',
  {
    service: text('service').notNull(),
    issuer: text('issuer').notNull(),
    redirectUri: text('redirect_uri').notNull(),
    ...sealed,
    createdAt: integer('created_at').notNull(),
  },
  (table) => [primaryKey({ columns: [table.service, table.issuer, table.redirectUri] })],
)

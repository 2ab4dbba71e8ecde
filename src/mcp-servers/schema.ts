import { index, integer, primaryKey, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { KeyProblem, SetPrice } from '../hub/contract/hub'
import type { AccountId, ActivationId } from '../shared/ids'

export const services = sqliteTable(
  'services',
  {
    server: text('server').notNull(),
    name: text('name').notNull(),
    baseUrl: text('base_url').notNull(),
    /** JSON list of host[:port] that requests may go to, the base URL's own among them. */
    hosts: text('hosts', { mode: 'json' }).$type<string[]>().notNull(),
    /** JSON object, "{credential}" standing for the credential. */
    headers: text('headers', { mode: 'json' })
      .$type<Record<string, string>>()
      .notNull()
      .default({}),
    /** Name of the one to use when neither agent nor community has its own; null: the only one there is. */
    credential: text('credential'),
    format: text('format', { enum: ['json', 'any'] })
      .notNull()
      .default('json'),
    allowHttp: integer('allow_http', { mode: 'boolean' }).notNull().default(false),
    allowPrivate: integer('allow_private', { mode: 'boolean' }).notNull().default(false),
    updatedAt: integer('updated_at').notNull(),
    updatedBy: text('updated_by').notNull(),
  },
  (table) => [primaryKey({ columns: [table.server, table.name] })],
)

export const credentials = sqliteTable(
  'credentials',
  {
    name: text('name').primaryKey(),
    server: text('server').notNull(),
    service: text('service').notNull(),
    /** Name of a community, id and name of an agent: who may use it; null: everybody. */
    community: text('community'),
    agentId: text('agent_id').$type<AccountId>(),
    agent: text('agent'),
    /** Of the vault: base64 and the id of the key that encrypted it. */
    ciphertext: text('ciphertext'),
    iv: text('iv'),
    keyId: text('key_id'),
    /** Or the name of a secret of the Worker. */
    variable: text('variable'),
    /** The origin it may be sent to, bound into its encryption; null: its service is not declared yet. */
    destination: text('destination'),
    createdAt: integer('created_at').notNull(),
    updatedAt: integer('updated_at').notNull(),
    updatedBy: text('updated_by').notNull(),
    lastUsedAt: integer('last_used_at'),
  },
  (table) => [index('credentials_by_service').on(table.server, table.service)],
)

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

export const remoteServers = sqliteTable('remote_servers', {
  name: text('name').primaryKey(),
  /** In an admin's words, for who chooses among servers. */
  description: text('description').notNull(),
  /** Its list of tools was read last, and what went wrong then. */
  readAt: integer('read_at'),
  failure: text('failure'),
  /** What that list held that could not be read, with the reasons. */
  problems: text('problems', { mode: 'json' }).$type<string[]>().notNull().default([]),
  /** What models are shown of what the server says about its use; null: nothing. */
  instructions: text('instructions'),
  /** What the server said last, as models would be shown it. */
  offeredInstructions: text('offered_instructions'),
  /** The client id that an admin registered for the hub, for people who connect their accounts. */
  oauthClientId: text('oauth_client_id'),
  updatedAt: integer('updated_at').notNull(),
  updatedBy: text('updated_by').notNull(),
})

/** A remote server's description of a tool, as an admin accepted it. */
export interface Pin {
  description: string
  inputSchema: Record<string, unknown>
  annotations: Record<string, unknown> | null
}

export const remoteTools = sqliteTable(
  'remote_tools',
  {
    server: text('server')
      .notNull()
      .references(() => remoteServers.name, { onDelete: 'cascade' }),
    /** As its server calls it. */
    name: text('name').notNull(),
    /** Without the server, as it is called here. */
    wireName: text('wire_name').notNull(),
    /** The description that an admin accepted, and its hash. */
    pinned: text('pinned', { mode: 'json' }).$type<Pin>().notNull(),
    pinnedHash: text('pinned_hash').notNull(),
    /** What its server says now, when that is something else; hash '' when it is gone. */
    offered: text('offered', { mode: 'json' }).$type<Pin>(),
    offeredHash: text('offered_hash'),
    /** Null: it is hidden until an admin says what it needs. */
    grant: text('grant'),
    tier: text('tier', { enum: ['read', 'write', 'destructive'] }),
    updatedAt: integer('updated_at').notNull(),
    updatedBy: text('updated_by').notNull(),
  },
  (table) => [primaryKey({ columns: [table.server, table.name] })],
)

export const toolsVersion = sqliteTable('tools_version', {
  id: integer('id').primaryKey(),
  version: integer('version').notNull(),
})

/** Sessions that runs hold with servers. */
export const remoteSessions = sqliteTable(
  'remote_sessions',
  {
    runId: text('run_id').$type<ActivationId>().notNull(),
    server: text('server').notNull(),
    /** The requester whose account is used; '' for a credential of the hub. */
    owner: text('owner').$type<AccountId | ''>().notNull(),
    /** Of each session that is opened in this place; the server does not know it. */
    id: text('id').notNull(),
    /** What later requests need, encrypted; null while it is opened, and after it ended. */
    ciphertext: text('ciphertext'),
    iv: text('iv'),
    keyId: text('key_id'),
    /** One call opens it, at the latest until then; null: none does. */
    openingUntil: integer('opening_until'),
    /** An earlier session in this place ended before its run. */
    hasEnded: integer('has_ended', { mode: 'boolean' }).notNull(),
    usedAt: integer('used_at').notNull(),
  },
  (table) => [
    primaryKey({ columns: [table.runId, table.server, table.owner] }),
    index('remote_sessions_by_use').on(table.usedAt),
  ],
)

export interface KeyTest {
  /** Identifies the key without saying it. */
  key: string
  /** Null: the key has worked, or an admin decided that agents use it. */
  problem: KeyProblem | null
}

/** Providers of models that admins set up on a page. Their keys are credentials, their base URLs services. */
export const modelProviders = sqliteTable('model_providers', {
  provider: text('provider').primaryKey(),
  /** The model of definitions that name none; null: the default of the provider. */
  defaultModel: text('default_model'),
  /** Models that the provider listed when it was last asked. */
  listed: text('listed', { mode: 'json' }).$type<string[]>().notNull().default([]),
  listedAt: integer('listed_at'),
  /** Prices that an admin set, by the name of the model. */
  prices: text('prices', { mode: 'json' }).$type<Record<string, SetPrice>>().notNull().default({}),
  /** What the last test said of a key; of another key than that of the provider it says nothing. */
  keyTest: text('key_test', { mode: 'json' }).$type<KeyTest>(),
  updatedAt: integer('updated_at').notNull(),
  updatedBy: text('updated_by').notNull(),
})

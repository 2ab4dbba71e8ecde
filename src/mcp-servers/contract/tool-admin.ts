/**
 * The API of credentials, services and remote MCP servers to the pages about them. No function takes or
 * returns the value of a credential: forms with a value go to form routes of this module. Types only.
 */
import type { Sender } from '../../hub/contract/hub'
import type { Statement } from '../../shared/db/statement'
import type { Tier } from './tools'

/** A credential without its value. Times are ISO 8601. */
export interface CredentialSummary {
  name: string
  server: string
  service: string
  /** The origin it may be sent to; null: its service is not declared yet. */
  destination: string | null
  /** Null: all communities. */
  community: string | null
  /** Name of the agent that can use it; null: all agents. */
  agent: string | null
  /** `vault`, or `env:NAME` for a secret of the Worker. */
  source: string
  /** The key it is encrypted with; null: it is not in the vault. */
  key: 'current' | 'old' | null
  updated_at: string | null
  updated_by: string
  last_used_at: string | null
}

/** An external service, declared by an admin or built into its server. */
export interface ServiceSummary {
  server: string
  name: string
  base_url: string
  /** Allowed hosts as `host` or `host:port`, with that of the base URL. */
  hosts: string[]
  /** `{credential}` stands for the credential. */
  headers: Record<string, string>
  /** Name of the credential; null: the only one of the service. */
  credential: string | null
  format: 'json' | 'any'
  allow_http: boolean
  allow_private: boolean
  is_built_in: boolean
  updated_at: string | null
  /** Null for a built-in service. */
  updated_by: string | null
}

/** A service as a form submits it; validated when it is stored. */
export interface ServiceInput {
  base_url: string
  credential: string | null
  /** Absent: the built-in ones of the server. */
  headers?: Record<string, string>
  hosts?: string[]
  format?: string
  allow_http: boolean
  allow_private: boolean
}

export interface RemoteServerSummary {
  name: string
  description: string
  read_at: string | null
  /** Why the last refresh failed; null: it succeeded. */
  failure: string | null
  /** What the last list held that could not be read, a sentence each. */
  problems: string[]
  /** What models are shown of what the server says about its use; null: nothing. */
  instructions: string | null
  /** What the server said last. */
  offered_instructions: string | null
  /** How this hub is registered for people who connect their accounts; null: it registers itself. */
  oauth_client_id: string | null
  updated_at: string | null
  updated_by: string
}

/** The state of a remote tool; `unreadable`: no model can be given its arguments. */
export type RemoteToolState = 'usable' | 'unmapped' | 'unreadable' | 'changed' | 'gone'

export interface RemoteToolSummary {
  server: string
  /** The name on this hub without its server, and the full name. */
  name: string
  tool: string
  state: RemoteToolState
  /** Why no model can be given its arguments, after "Hidden:"; null: one can. */
  problem: string | null
  /** Null: the tool is hidden. */
  grant: string | null
  tier: Tier | null
  /** The whole accepted description, with invisible characters shown. */
  text: string
  hash: string
  /** Hash of the current description; empty when the server removed the tool; null: unchanged. */
  offered_hash: string | null
  diff: string[] | null
}

export interface RemoteServerInput extends ServiceInput {
  name: string
  description: string
  oauth_client_id: string | null
}

export interface RemoteToolMapping {
  server: string
  /** The name without its server. */
  tool: string
  /** Null hides the tool. */
  grant: string | null
  tier: string | null
  /** Hash of the description that the admin reviewed. */
  hash: string
}

/** Every function that changes something throws VALIDATION, NOT_FOUND or CONFLICT; callers check access. */
export interface ToolAdminApi {
  /** Servers that use external services. */
  serviceServers: readonly string[]
  /** The lists are statements, so that a page reads them with everything else in one round trip. */
  selectCredentials(): Promise<Statement<CredentialSummary[]>>
  selectServices(): Statement<ServiceSummary[]>
  selectRemoteServers(): Statement<RemoteServerSummary[]>
  selectRemoteTools(): Statement<RemoteToolSummary[]>

  deleteCredential(admin: Sender, name: string): Promise<void>
  putService(admin: Sender, place: ServicePlace, input: ServiceInput): Promise<void>
  deleteService(admin: Sender, place: ServicePlace): Promise<void>

  /** Adds a server and reads its tools, which are hidden until they are mapped. */
  addRemoteServer(admin: Sender, input: RemoteServerInput): Promise<void>
  refreshRemoteServer(admin: Sender, name: string): Promise<void>
  deleteRemoteServer(admin: Sender, name: string): Promise<void>
  /** Accepts the changed description that the admin reviewed; an empty hash removes the tool. */
  acceptRemoteTool(
    admin: Sender,
    seen: Pick<RemoteToolMapping, 'server' | 'tool' | 'hash'>,
  ): Promise<void>
  /** Shows models the instructions that the admin reviewed; null: none. */
  setRemoteInstructions(admin: Sender, seen: { server: string; text: string | null }): Promise<void>
  /** Sets grant and tier of a tool. */
  mapRemoteTool(admin: Sender, mapping: RemoteToolMapping): Promise<void>
}

export interface ServicePlace {
  server: string
  name: string
}

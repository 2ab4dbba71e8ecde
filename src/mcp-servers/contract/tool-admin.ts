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

/** What a list shows of a remote server. */
export interface RemoteServerSummary {
  name: string
  description: string
  read_at: string | null
  /** Why the last refresh failed; null: it succeeded. */
  failure: string | null
  /** How much the last list held that could not be read. */
  problem_count: number
  /** How this hub is registered for people who connect their accounts; null: it registers itself. */
  oauth_client_id: string | null
  updated_at: string | null
  updated_by: string
}

/** A remote server with its texts. */
export interface RemoteServerText extends RemoteServerSummary {
  /** What the last list held that could not be read, a sentence each. */
  problems: string[]
  /** What models are shown of what the server says about its use; null: nothing. */
  instructions: string | null
  /** What the server said last. */
  offered_instructions: string | null
}

/** The state of a remote tool; `unreadable`: no model can be given its arguments. */
export type RemoteToolState = 'usable' | 'unmapped' | 'unreadable' | 'changed' | 'gone'

/** Tools of a server by their state. */
export type RemoteToolCounts = Record<RemoteToolState, number>

/** What a list shows of a remote tool. */
export interface RemoteToolSummary {
  server: string
  /** The name on this hub without its server, the full name, and the name on its server. */
  name: string
  tool: string
  remote_name: string
  state: RemoteToolState
  /** Why no model can be given its arguments, after "Hidden:"; null: one can. */
  problem: string | null
  /** Null: the tool is hidden. */
  grant: string | null
  tier: Tier | null
  /** Its server says that it only reads (`readOnlyHint`). */
  says_read_only: boolean
  /** The start of its current description. */
  summary: string
  hash: string
  /** Hash of the current description; empty when the server removed the tool; null: unchanged. */
  offered_hash: string | null
}

export interface RemoteToolLine extends RemoteToolSummary {
  /** The removed and added lines of a change; null: it is read on the page of the tool. */
  change: string[] | null
}

/** A remote tool with its texts. */
export interface RemoteToolText extends RemoteToolSummary {
  description: string
  /** The whole accepted description, with invisible characters shown. */
  text: string
  input_schema: unknown
  annotations: unknown
  /** All lines with their signs; null: nothing changed. */
  diff: string[] | null
}

/** Which tools are listed. */
export interface RemoteToolQuery {
  /** Absent: of all servers. */
  server?: string | undefined
  /** Words that the name or the description has, in any order. */
  q?: string | undefined
  state?: RemoteToolState | undefined
  /** Only those of which their server says so. */
  readOnly?: boolean | undefined
  limit: number
  /** `next` of the page before. */
  cursor?: string | undefined
}

export interface RemoteToolPage {
  tools: RemoteToolLine[]
  /** How many tools match on all pages. */
  matching: number
  /** All tools of the server, whether they match or not. */
  counts: RemoteToolCounts
  /** What agents need for the tools that are available, whether they match or not. */
  grants: string[]
  next: string | null
}

/** A tool as an admin saw it: its name without its server, and the hash of its description. */
export interface SeenTool {
  name: string
  hash: string
}

/** The tools that an admin chose: these, or all that matched when the tools were at a version. */
export type RemoteToolChoice =
  | { tools: SeenTool[] }
  | { matching: Omit<RemoteToolQuery, 'server' | 'limit' | 'cursor'>; version: number }

export interface RemoteServerInput extends ServiceInput {
  name: string
  description: string
  oauth_client_id: string | null
}

interface RemoteToolMapping {
  server: string
  chosen: RemoteToolChoice
  /** Null hides the tools. */
  grant: string | null
  tier: string | null
}

/** Every function that changes something throws VALIDATION, NOT_FOUND or CONFLICT; callers check access. */
export interface ToolAdminApi {
  /** Servers that use external services. */
  serviceServers: readonly string[]
  /** The lists are statements, so that a page reads them with everything else in one round trip. */
  selectCredentials(): Promise<Statement<CredentialSummary[]>>
  selectServices(): Statement<ServiceSummary[]>
  selectRemoteServers(): Statement<RemoteServerSummary[]>
  /** Counts the tools of each server that has any. */
  selectRemoteToolCounts(): Statement<Map<string, RemoteToolCounts>>
  selectRemoteServer(name: string): Statement<RemoteServerText | null>
  /** Selects a page of the tools of one server. @throws VALIDATION for the cursor of another list */
  selectRemoteTools(query: RemoteToolQuery & { server: string }): Statement<RemoteToolPage>
  selectRemoteTool(server: string, tool: string): Statement<RemoteToolText | null>
  /** Selects the version of all remote tools, which each change counts. */
  selectRemoteVersion(): Statement<number>

  deleteCredential(admin: Sender, name: string): Promise<void>
  putService(admin: Sender, place: ServicePlace, input: ServiceInput): Promise<void>
  deleteService(admin: Sender, place: ServicePlace): Promise<void>

  /** Adds a server and reads its tools, which are hidden until they are mapped. */
  addRemoteServer(admin: Sender, input: RemoteServerInput): Promise<void>
  refreshRemoteServer(admin: Sender, name: string): Promise<void>
  deleteRemoteServer(admin: Sender, name: string): Promise<void>
  /** Accepts the changed descriptions that the admin reviewed; an empty hash removes the tool. */
  acceptRemoteTools(admin: Sender, server: string, seen: SeenTool[]): Promise<void>
  /** Sets grant and tier of tools: of all that are chosen, or of none. */
  mapRemoteTools(admin: Sender, mapping: RemoteToolMapping): Promise<void>
  /** Shows models the instructions that the admin reviewed; null: none. */
  setRemoteInstructions(admin: Sender, seen: { server: string; text: string | null }): Promise<void>
}

interface ServicePlace {
  server: string
  name: string
}

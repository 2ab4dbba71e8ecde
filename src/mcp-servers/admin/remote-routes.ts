import * as z from 'zod'
import { knownFields } from '../../shared/known-fields'
import { serviceInput } from '../services/services'
import type { AdminRoute } from './admin-route'
import { recordAction, toServiceSettings } from './record-action'

const name = z
  .string()
  .max(20)
  .describe('lower case letters and digits; its tools are called name_tool')

const remoteInput = serviceInput.extend({
  description: z.string().min(1).max(500).describe('for clients that choose among servers'),
  oauth_client_id: z
    .string()
    .regex(/^[\x21-\x7e]{1,500}$/, 'Must be at most 500 characters of ASCII without spaces')
    .nullish()
    .describe('of this hub, where the authorization server does not register clients by itself'),
})
export const newRemoteInput = remoteInput.extend({ name })

const acceptInput = knownFields({
  tools: z
    .array(z.strictObject({ name: z.string().max(64), hash: z.string().max(64) }))
    .min(1)
    .max(200)
    .describe('name and offered_hash of each tool you reviewed; an empty hash removes a tool'),
})

export const mapInput = knownFields({
  grant: z
    .string()
    .max(200)
    .nullable()
    .describe('e.g. acme:read for the server acme; null hides the tool'),
  tier: z.enum(['read', 'write', 'destructive']).nullable(),
  hash: z.string().max(64).optional().describe('of the description that you reviewed'),
})

export const instructionsInput = knownFields({
  text: z
    .string()
    .max(20_000)
    .nullable()
    .describe('the instructions that you reviewed; null: models are shown none'),
})

const toolName = z
  .string()
  .regex(/^[a-z0-9_]{1,64}$/, 'Must be lower case letters, digits and underscores')
const common = { access: 'admin', status: 200, tag: 'remote servers' } as const

export const toInput = ({
  description,
  oauth_client_id: oauthClientId = null,
  ...service
}: z.output<typeof remoteInput>) => ({
  description,
  oauthClientId,
  service: {
    ...service,
    // The default of most servers, for a credential without a header.
    headers:
      service.headers ?? (service.credential ? { Authorization: 'Bearer {credential}' } : {}),
  },
})

const toolAnswer = z.object({
  name: z.string(),
  tool: z.string().describe('full name on this hub'),
  remote_name: z.string().describe('name on its server'),
  state: z
    .enum(['usable', 'unmapped', 'unreadable', 'changed', 'gone'])
    .describe('unreadable: no model can be given its arguments; see problem'),
  problem: z.string().nullable().describe('why no model can be given its arguments'),
  grant: z.string().nullable(),
  tier: z.enum(['read', 'write', 'destructive']).nullable(),
  description: z.string(),
  text: z.string().describe('the whole accepted description with its arguments'),
  input_schema: z.unknown().describe('JSON Schema of the arguments'),
  annotations: z.unknown(),
  hash: z.string().describe('of the accepted description'),
  offered_hash: z
    .string()
    .nullable()
    .describe('of a changed description; empty when the server removed the tool'),
  diff: z.array(z.string()).nullable().describe('lines of the change, each with its sign'),
})

const remoteAnswer = z
  .object({
    name: z.string(),
    description: z.string(),
    read_at: z.iso.datetime().nullable(),
    failure: z.string().nullable().describe('why its tools could not be read'),
    problems: z
      .array(z.string())
      .describe('what its last list held that could not be read, a sentence each'),
    instructions: z
      .string()
      .nullable()
      .describe('what models are shown of what the server says about its use'),
    offered_instructions: z
      .string()
      .nullable()
      .describe('what the server said last, for an admin to review'),
    oauth_client_id: z.string().nullable(),
    updated_at: z.iso.datetime().nullable(),
    updated_by: z.string(),
    tools: z.array(toolAnswer),
  })
  .meta({ id: 'RemoteServer' })

const listAnswer = z.object({ remote_servers: z.array(remoteAnswer) })
const oneAnswer = z.object({ remote_server: remoteAnswer })

/** The API routes of remote MCP servers. */
export const remoteRoutes: AdminRoute[] = [
  {
    ...common,
    method: 'get',
    rate: 'read',
    path: '/remote-servers',
    summary:
      'Lists remote MCP servers with their tools and the changes since they were accepted (admin)',
    answer: listAnswer,
    handle: async ({ deps }): Promise<z.input<typeof listAnswer>> => ({
      remote_servers: await deps.remotes.list(),
    }),
  },
  {
    ...common,
    method: 'post',
    rate: 'write',
    path: '/remote-servers',
    summary:
      'Adds a remote MCP server by its URL; its tools are hidden until they are mapped (admin)',
    body: newRemoteInput,
    answer: oneAnswer,
    handle: async ({ deps, admin, body }): Promise<z.input<typeof oneAnswer>> => {
      const { name, ...input } = body as z.output<typeof newRemoteInput>
      const after = toServiceSettings(input)
      await recordAction(deps.hub, admin, 'remote_server', 'set', { name, after })
      return { remote_server: await deps.remotes.put(name, toInput(input), admin) }
    },
  },
  {
    ...common,
    method: 'put',
    rate: 'write',
    path: '/remote-servers/:name',
    summary: 'Adds or updates a remote server: URL, headers and description (admin)',
    body: remoteInput,
    answer: oneAnswer,
    handle: async ({ deps, admin, params, body }): Promise<z.input<typeof oneAnswer>> => {
      const given = body as z.output<typeof remoteInput>
      const input = toInput(given)
      const seen = { name: params.name ?? '', after: toServiceSettings(given) }
      await recordAction(deps.hub, admin, 'remote_server', 'set', seen)
      return { remote_server: await deps.remotes.put(params.name ?? '', input, admin) }
    },
  },
  {
    ...common,
    method: 'delete',
    rate: 'write',
    path: '/remote-servers/:name',
    summary: 'Deletes a remote server and the mappings of its tools (admin)',
    answer: z.object({ name: z.string() }),
    handle: async ({ deps, admin, params }) => {
      await recordAction(deps.hub, admin, 'remote_server', 'delete', { name: params.name ?? '' })
      await deps.remotes.remove(params.name ?? '')
      return { name: params.name }
    },
  },
  {
    ...common,
    method: 'post',
    rate: 'write',
    path: '/remote-servers/:name/refresh',
    summary: "Reads a server's current tools; a mapped tool that changed is hidden (admin)",
    answer: oneAnswer,
    handle: async ({ deps, admin, params }): Promise<z.input<typeof oneAnswer>> => {
      const name = params.name ?? ''
      await recordAction(deps.hub, admin, 'remote_server', 'refresh', { name })
      return { remote_server: await deps.remotes.refresh(name, admin) }
    },
  },
  {
    ...common,
    method: 'post',
    rate: 'write',
    path: '/remote-servers/:name/accept',
    summary: 'Accepts the changed descriptions of tools (admin)',
    body: acceptInput,
    answer: oneAnswer,
    handle: async ({ deps, admin, params, body }): Promise<z.input<typeof oneAnswer>> => {
      const { tools } = body as z.output<typeof acceptInput>
      const name = params.name ?? ''
      await recordAction(deps.hub, admin, 'remote_server', 'accept', { name, after: { tools } })
      return { remote_server: await deps.remotes.accept(name, tools, admin) }
    },
  },
  {
    ...common,
    method: 'put',
    rate: 'write',
    path: '/remote-servers/:name/instructions',
    summary: 'Shows models the instructions of a server that you reviewed, or none (admin)',
    body: instructionsInput,
    answer: oneAnswer,
    handle: async ({ deps, admin, params, body }): Promise<z.input<typeof oneAnswer>> => {
      const { text } = body as z.output<typeof instructionsInput>
      const name = params.name ?? ''
      const after = { instructions: text }
      await recordAction(deps.hub, admin, 'remote_server', 'instructions', { name, after })
      return { remote_server: await deps.remotes.setInstructions(name, text) }
    },
  },
  {
    ...common,
    method: 'put',
    rate: 'write',
    path: '/remote-servers/:name/tools/:tool',
    summary: 'Sets the grant and tier of a tool, so that agents can use it (admin)',
    params: { tool: toolName },
    body: mapInput,
    answer: oneAnswer,
    handle: async ({ deps, admin, params, body }): Promise<z.input<typeof oneAnswer>> => {
      const { grant, tier, hash = null } = body as z.output<typeof mapInput>
      const tool = { wireName: params.tool ?? '', hash, grant, tier }
      const name = params.name ?? ''
      await recordAction(deps.hub, admin, 'remote_server', 'map', { name, after: tool })
      return { remote_server: await deps.remotes.map(name, tool, admin) }
    },
  },
]

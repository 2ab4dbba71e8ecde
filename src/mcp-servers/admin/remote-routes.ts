import * as z from 'zod'
import type { GrantApi } from '../../hub/contract/hub'
import { toPageFields } from '../../shared/cursor'
import { knownFields } from '../../shared/known-fields'
import { serviceInput } from '../services/services'
import type { Admin, AdminRoute, AdminRouteDeps } from './admin-route'
import { recordAction, toServiceSettings } from './admin-route'

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

const toolName = z
  .string()
  .regex(/^[a-z0-9_]{1,64}$/, 'Must be lower case letters, digits and underscores')
const hash = z.string().max(64)
const toolsAtOnceMax = 200

const acceptInput = knownFields({
  tools: z
    .array(z.strictObject({ name: toolName, hash }))
    .min(1)
    .max(toolsAtOnceMax)
    .describe('name and offered_hash of each tool you reviewed; an empty hash removes a tool'),
})

const mapping = {
  grant: z
    .string()
    .max(200)
    .nullable()
    .describe('e.g. acme:read for the server acme; null hides the tool'),
  tier: z.enum(['read', 'write', 'destructive']).nullable(),
}
export const mappingInput = knownFields(mapping)
const mapInput = knownFields({
  ...mapping,
  hash: hash.optional().describe('of the description that you reviewed'),
})
const mapManyInput = knownFields({
  tools: z
    .array(z.strictObject({ name: toolName, hash: hash.optional() }))
    .min(1)
    .max(toolsAtOnceMax)
    .describe('name of each tool, with the hash of the description that you reviewed'),
  ...mapping,
})

const states = ['usable', 'unmapped', 'unreadable', 'changed', 'gone'] as const

const toolsQuery = z.object({
  server: name.optional().describe('absent: of all servers'),
  q: z.string().max(200).optional().describe('words of the name or the description'),
  state: z.enum(states).optional(),
  says_read_only: z
    .enum(['true', 'false'])
    .optional()
    .describe('true: those of which their server says that they only read; nothing checks that'),
  limit: z.coerce.number().int().min(1).max(100).default(50),
  cursor: z.string().max(500).optional(),
})

export const instructionsInput = knownFields({
  text: z
    .string()
    .max(20_000)
    .nullable()
    .describe('the instructions that you reviewed; null: models are shown none'),
})

const common = { access: 'admin', status: 200, tag: 'tools' } as const

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

const toolFields = {
  server: z.string(),
  name: z.string(),
  tool: z.string().describe('full name on this hub'),
  remote_name: z.string().describe('name on its server'),
  state: z.enum(states).describe('unreadable: no model can be given its arguments; see problem'),
  problem: z.string().nullable().describe('why no model can be given its arguments'),
  grant: z.string().nullable(),
  tier: z.enum(['read', 'write', 'destructive']).nullable(),
  says_read_only: z.boolean().describe('what its server says (readOnlyHint); nothing checks that'),
  summary: z.string().describe('the start of its current description'),
  hash: z.string().describe('of the accepted description'),
  offered_hash: z
    .string()
    .nullable()
    .describe('of a changed description; empty when the server removed the tool'),
}
const lineAnswer = z.object(toolFields).meta({ id: 'RemoteTool' })
const linesAnswer = z.object({ remote_tools: z.array(lineAnswer) })
const pageAnswer = linesAnswer.extend({
  has_more: z.boolean(),
  next_cursor: z
    .string()
    .nullable()
    .describe('Send it as `cursor` to get the next page. Null on the last page.'),
})
const toolAnswer = z.object({
  remote_tool: z
    .object({
      ...toolFields,
      description: z.string(),
      text: z.string().describe('the whole accepted description with its arguments'),
      input_schema: z.unknown().describe('JSON Schema of the arguments'),
      annotations: z.unknown(),
      diff: z.array(z.string()).nullable().describe('lines of the change, each with its sign'),
    })
    .meta({ id: 'RemoteToolText' }),
})

const count = z.number().int()
const summaryFields = {
  name: z.string(),
  description: z.string(),
  read_at: z.iso.datetime().nullable(),
  failure: z.string().nullable().describe('why its tools could not be read'),
  problem_count: count.describe('how much its last list held that could not be read'),
  oauth_client_id: z.string().nullable(),
  updated_at: z.iso.datetime().nullable(),
  updated_by: z.string(),
  tools: z
    .object({ usable: count, unmapped: count, unreadable: count, changed: count, gone: count })
    .describe('how many of its tools are in each state'),
}
const summaryAnswer = z.object(summaryFields).meta({ id: 'RemoteServer' })
const remoteAnswer = z
  .object({
    ...summaryFields,
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
  })
  .meta({ id: 'RemoteServerText' })

const listAnswer = z.object({ remote_servers: z.array(summaryAnswer) })
const oneAnswer = z.object({ remote_server: remoteAnswer })

/** Records what an admin sets for tools, and sets it. */
export async function mapTools(
  { hub, remotes }: Pick<AdminRouteDeps, 'remotes'> & { hub: Pick<GrantApi, 'recordAdminAction'> },
  admin: Admin,
  name: string,
  seen: { name: string; hash: string | null }[],
  mapping: z.output<typeof mappingInput>,
) {
  const after = { ...mapping, tools: seen.map((tool) => tool.name) }
  await recordAction(hub, admin, 'remote_server', 'map', { name, after })
  return remotes.map(name, seen, mapping, admin)
}

/** The API routes of remote MCP servers. */
export const remoteRoutes: AdminRoute[] = [
  {
    ...common,
    method: 'get',
    rate: 'read',
    path: '/remote-servers',
    summary: 'Lists remote MCP servers, with how many tools of each are in which state (admin)',
    answer: listAnswer,
    handle: async ({ deps }): Promise<z.input<typeof listAnswer>> => ({
      remote_servers: await deps.remotes.list(),
    }),
  },
  {
    ...common,
    method: 'get',
    rate: 'read',
    path: '/remote-servers/:name',
    summary: 'Shows a remote server with what of its list could not be read (admin)',
    answer: oneAnswer,
    handle: async ({ deps, params }): Promise<z.input<typeof oneAnswer>> => ({
      remote_server: await deps.remotes.find(params.name ?? ''),
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
    method: 'get',
    rate: 'read',
    path: '/remote-tools',
    summary:
      'Lists tools of remote MCP servers without their texts, in the order of their names (admin)',
    query: toolsQuery,
    answer: pageAnswer,
    handle: async ({ deps, query }): Promise<z.input<typeof pageAnswer>> => {
      const { says_read_only: readOnly, ...filter } = query as z.output<typeof toolsQuery>
      const { tools, next } = await deps.remotes.listTools({
        ...filter,
        readOnly: readOnly === 'true',
      })
      return { remote_tools: tools, ...toPageFields(next) }
    },
  },
  {
    ...common,
    method: 'get',
    rate: 'read',
    path: '/remote-servers/:name/tools/:tool',
    summary:
      'Shows a tool with its whole description, and what changed since it was accepted (admin)',
    params: { tool: toolName },
    answer: toolAnswer,
    handle: async ({ deps, params }): Promise<z.input<typeof toolAnswer>> => ({
      remote_tool: await deps.remotes.findTool(params.name ?? '', params.tool ?? ''),
    }),
  },
  {
    ...common,
    method: 'post',
    rate: 'write',
    path: '/remote-servers/:name/accept',
    summary: 'Accepts the changed descriptions of tools, and answers these tools (admin)',
    body: acceptInput,
    answer: linesAnswer,
    handle: async ({ deps, admin, params, body }): Promise<z.input<typeof linesAnswer>> => {
      const { tools } = body as z.output<typeof acceptInput>
      const name = params.name ?? ''
      await recordAction(deps.hub, admin, 'remote_server', 'accept', { name, after: { tools } })
      return { remote_tools: await deps.remotes.accept(name, tools, admin) }
    },
  },
  {
    ...common,
    method: 'put',
    rate: 'write',
    path: '/remote-servers/:name/tools',
    summary: 'Sets the grant and tier of many tools, of all or of none, and answers them (admin)',
    body: mapManyInput,
    answer: linesAnswer,
    handle: async ({ deps, admin, params, body }): Promise<z.input<typeof linesAnswer>> => {
      const { tools, ...mapping } = body as z.output<typeof mapManyInput>
      const seen = tools.map((tool) => ({ name: tool.name, hash: tool.hash ?? null }))
      return { remote_tools: await mapTools(deps, admin, params.name ?? '', seen, mapping) }
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
    summary: 'Sets the grant and tier of a tool, so that agents can use it, and answers it (admin)',
    params: { tool: toolName },
    body: mapInput,
    answer: linesAnswer,
    handle: async ({ deps, admin, params, body }): Promise<z.input<typeof linesAnswer>> => {
      const { hash = null, ...mapping } = body as z.output<typeof mapInput>
      const seen = [{ name: params.tool ?? '', hash }]
      return { remote_tools: await mapTools(deps, admin, params.name ?? '', seen, mapping) }
    },
  },
]

import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import {
  type CallToolResult,
  CallToolResultSchema,
  ListToolsResultSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { remoteServers } from '../../config'
import { AppError } from '../../errors'
import type { ToolContext } from '../define-tool'
import { withClient } from './open-client'
import { hashOffer, type OfferedTool } from './pin'

/** The tool that an admin accepted, and who is told what its server says now. */
export interface RemoteCall {
  server: string
  tool: string
  pinnedHash: string
  /** Whether its list is to be looked at again before the call: it is old, or told something else. */
  isDue(): boolean
  note(tools: OfferedTool[]): Promise<void>
}

/**
 * Calls a tool of others. When its server was not looked at lately its list is read first: a tool that
 * is not described any more as it was accepted does not run.
 */
export async function callRemote(
  { server, tool, pinnedHash, isDue, note }: RemoteCall,
  { input, outside, signal, progress }: ToolContext<Record<string, unknown>>,
): Promise<string> {
  if (!outside) throw new Error('The gateway opens the service first.')
  return withClient({ connection: outside, progress }, async (client) => {
    if (isDue()) {
      const tools = await listRemoteTools(client)
      await note(tools)
      const now = tools.find(({ name }) => name === tool)
      if (!now || (await hashOffer(now)) !== pinnedHash) throw changed(server, tool)
    }
    const asked = { name: tool, arguments: input, _meta: { progressToken: 1 } }
    const result = await client.request(
      { method: 'tools/call', params: asked },
      CallToolResultSchema,
      { signal, timeout: remoteServers.timeoutMs },
    )
    const text = toText(result)
    if (result.isError === true) {
      throw new AppError('VALIDATION', `The tool ${tool} of ${server} failed: ${text}`)
    }
    return text
  })
}

const changed = (server: string, tool: string): AppError =>
  new AppError(
    'CONFLICT',
    `The server ${server} describes ${tool} in another way than an admin accepted, so it was not run.`,
    { hint: `An admin looks at it: /tools/remote#${server}.` },
  )

/** All its pages, up to a bound; what cannot be kept or shown is left out. */
export async function listRemoteTools(client: Client): Promise<OfferedTool[]> {
  const found: OfferedTool[] = []
  let cursor: string | undefined
  for (let page = 0; page < remoteServers.pagesMax; page++) {
    const params = cursor === undefined ? {} : { cursor }
    const asked = { method: 'tools/list' as const, params }
    const options = { timeout: remoteServers.refreshMs }
    const { tools, nextCursor } = await client.request(asked, ListToolsResultSchema, options)
    for (const { name, description = '', inputSchema, annotations } of tools) {
      found.push({ name, description, inputSchema, annotations: annotations ?? null })
    }
    if (nextCursor === undefined || found.length >= remoteServers.toolsMax) break
    cursor = nextCursor
  }
  const names = new Set<string>()
  return found.slice(0, remoteServers.toolsMax).filter((tool) => {
    const isNew = !names.has(tool.name)
    names.add(tool.name)
    return isNew && isBounded(tool)
  })
}

const isBounded = ({ name, ...pin }: OfferedTool): boolean =>
  name !== '' &&
  name.length <= 128 &&
  JSON.stringify(pin).length <= remoteServers.schemaCharsMax &&
  isShallow(pin, remoteServers.schemaDepthMax)

const isShallow = (value: unknown, levels: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every((each) => isShallow(each, levels - 1)))

/** What a model reads of a result; what is no text is named. */
function toText({ content, structuredContent }: CallToolResult): string {
  const parts = content.map((block) => {
    if (block.type === 'text') return block.text
    if (block.type === 'resource_link') return `[${block.name}: ${block.uri}]`
    if (block.type === 'resource') {
      const { resource } = block
      return 'text' in resource ? resource.text : `[${resource.uri}: no text]`
    }
    return `[${block.type}, ${block.mimeType}, ${block.data.length} characters of base64: not shown]`
  })
  if (parts.length > 0) return parts.join('\n')
  return structuredContent === undefined ? '' : JSON.stringify(structuredContent)
}

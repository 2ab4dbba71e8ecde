import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import {
  type CallToolResult,
  CallToolResultSchema,
  ListToolsResultSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { remoteServers } from '../../shared/config'
import type { AccountId } from '../../shared/ids'
import type { ToolContext } from '../tool/define-tool'
import { remoteErrors } from './errors'
import { withClient } from './open-client'
import { hashOffer, type OfferedTool } from './pin'
import type { RunSessions } from './run-sessions'

/** The accepted version of a remote tool, and how to check it against its server's current list. */
export interface RemoteCall {
  server: string
  tool: string
  pinnedHash: string
  /** In milliseconds. */
  timeoutMs: number
  /**
   * Whether the server's list must be read before the call: the last read is old or had another version.
   *
   * @param owner the requester as whom the call is sent: a server can show each account another list
   */
  isDue(owner: AccountId | null): boolean
  note(tools: OfferedTool[], owner: AccountId | null): Promise<void>
  sessions: Pick<RunSessions, 'use'>
}

const renewedNote = 'The server had ended its session: what it held is gone.'

/**
 * Calls a tool of a remote server, in the session of the run if there is one. When the server's list is due, it is read first: a tool whose
 * description changed since an admin accepted it does not run.
 */
export async function callRemote(
  { server, tool, pinnedHash, timeoutMs, isDue, note, sessions }: RemoteCall,
  { input, outside, signal, progress, actor }: ToolContext<Record<string, unknown>>,
): Promise<string> {
  if (!outside) throw new Error('The gateway opens the service first.')
  const link = { connection: outside, timeoutMs, progress, signal }
  const send = async (client: Client) => {
    if (isDue(outside.owner)) {
      const tools = await listRemoteTools(client)
      await note(tools, outside.owner)
      const now = tools.find(({ name }) => name === tool)
      if (!now || (await hashOffer(now)) !== pinnedHash)
        throw remoteErrors.toolChanged(server, tool)
    }
    const params = { name: tool, arguments: input, _meta: { progressToken: crypto.randomUUID() } }
    return client.request({ method: 'tools/call', params }, CallToolResultSchema, {
      signal,
      timeout: timeoutMs,
    })
  }
  const { activationId: runId } = actor
  const { value: result, isRenewed } =
    runId === null
      ? { value: await withClient(link, send), isRenewed: false }
      : await sessions.use({ runId, link, actor }, send)
  const text = [...(isRenewed ? [`[${renewedNote}]`] : []), toText(result)].join('\n')
  if (result.isError === true) throw remoteErrors.toolFailed(tool, server, text)
  return text
}

/** Returns the tools of a server, from a limited number of pages. Duplicates and oversized tools are skipped. */
export async function listRemoteTools(client: Client): Promise<OfferedTool[]> {
  const found: OfferedTool[] = []
  let cursor: string | undefined
  for (let page = 0; page < remoteServers.pagesMax; page++) {
    const params = cursor === undefined ? {} : { cursor }
    const request = { method: 'tools/list' as const, params }
    const options = { timeout: remoteServers.refreshMs }
    const { tools, nextCursor } = await client.request(request, ListToolsResultSchema, options)
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

/** Converts a result to text for the model; other content is described. */
function toText({ content, structuredContent }: CallToolResult): string {
  const parts = content.map((block) => {
    if (block.type === 'text') return block.text
    if (block.type === 'resource_link') return `[${block.name}: ${block.uri}]`
    if (block.type === 'resource') {
      const { resource } = block
      return 'text' in resource ? resource.text : `[${resource.uri}: not text]`
    }
    return `[${block.type}, ${block.mimeType}, ${block.data.length} characters of base64: not shown]`
  })
  if (parts.length > 0) return parts.join('\n')
  return structuredContent === undefined ? '' : JSON.stringify(structuredContent)
}

import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js'
import { remoteServers } from '../../shared/config'
import type { AccountId } from '../../shared/ids'
import type { ToolContext } from '../tool/define-tool'
import { remoteErrors } from './errors'
import { type UseClient, withClient } from './open-client'
import { hashOffer } from './pin'
import { type ReadResult, readResult } from './read-result'
import { readTools, type ToolList } from './read-tools'
import { anyResult, callResourceTool, isResourceTool, resourceTools } from './resources'
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
  note(list: ToolList, owner: AccountId | null): Promise<void>
  sessions: Pick<RunSessions, 'use'>
}

const renewedNote = 'The server had ended its session: what it held is gone.'

/**
 * Calls a tool of a remote server, in the session of the run if there is one. When the server's list is due, it is read
 * first: a tool whose description changed since an admin accepted it does not run.
 */
export async function callRemote(
  { server, tool, pinnedHash, timeoutMs, isDue, note, sessions }: RemoteCall,
  { input, outside, signal, progress, actor }: ToolContext<Record<string, unknown>>,
): Promise<string> {
  if (!outside) throw new Error('The gateway opens the service first.')
  const link = { connection: outside, timeoutMs, progress, signal }
  const send: UseClient<ReadResult> = async (client, transport) => {
    if (isDue(outside.owner)) {
      const list = await listRemoteTools(client, transport)
      await note(list, outside.owner)
      const now = list.tools.find(({ name }) => name === tool)
      if (!now || (await hashOffer(now)) !== pinnedHash)
        throw remoteErrors.toolChanged(server, tool)
    }
    const params = { name: tool, arguments: input, _meta: { progressToken: crypto.randomUUID() } }
    const options = { signal, timeout: timeoutMs }
    const result = isResourceTool(tool)
      ? await callResourceTool(client, tool, input, options)
      : readResult(await client.request({ method: 'tools/call', params }, anyResult, options))
    if (!result) throw new Error('The result has no content.')
    return result
  }
  const { activationId: runId } = actor
  const { value: result, isRenewed } =
    runId === null
      ? { value: await withClient(link, send), isRenewed: false }
      : await sessions.use({ runId, link, actor }, send)
  const text = [...(isRenewed ? [`[${renewedNote}]`] : []), result.text].join('\n')
  if (result.isError) throw remoteErrors.toolFailed(tool, server, text)
  return text
}

/** Reads the tools of a server, with those that read its resources if it offers any. */
export const listRemoteTools: UseClient<ToolList> = async (client, { hasResources }) => {
  if (!hasResources) return listTools(client)
  const list = await listTools(client).catch((error: unknown) => {
    // A server can offer resources alone.
    if (error instanceof McpError && error.code === ErrorCode.MethodNotFound) return readTools([])
    throw error
  })
  return { ...list, tools: [...list.tools, ...resourceTools] }
}

/** Reads the list of tools, from a limited number of pages. */
async function listTools(client: Client): Promise<ToolList> {
  const pages: { entries: unknown[]; isLast: boolean }[] = []
  let cursor: string | undefined
  let count = 0
  do {
    const params = cursor === undefined ? {} : { cursor }
    const request = { method: 'tools/list' as const, params }
    const options = { timeout: remoteServers.refreshMs }
    const { tools, nextCursor } = await client.request(request, anyResult, options)
    if (!Array.isArray(tools)) throw new Error('The list of tools is not a list.')
    cursor = typeof nextCursor === 'string' && nextCursor !== '' ? nextCursor : undefined
    count += tools.length
    // As plain JSON, in which large numbers of schemas are rounded: pins are stored so.
    pages.push({ entries: JSON.parse(JSON.stringify(tools)), isLast: cursor === undefined })
  } while (
    cursor !== undefined &&
    pages.length < remoteServers.pagesMax &&
    count < remoteServers.toolsMax
  )
  return readTools(pages)
}

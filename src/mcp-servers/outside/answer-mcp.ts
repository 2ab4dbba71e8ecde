import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  isJSONRPCNotification,
  ListToolsRequestSchema,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js'
import { CfWorkerJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/cfworker'
import * as z from 'zod'
import { limits } from '../../config'
import type { GrantDoor } from '../../hub/contract'
import type { Clock } from '../../ids'
import type { ToolCaller, ToolDescription } from '../contract'
import type { Gateway } from '../gateway/gateway'

export interface McpSession {
  gateway: Gateway
  hub: GrantDoor
  clock: Clock
  caller: ToolCaller
  /** The hub's name, for clients that show it. */
  title: string
  /** Of `/mcp/<server>`; null for all servers. */
  serverName: string | null
}

/**
 * The server checks the rest of a call itself and answers what is wrong with it as such; a schema
 * that refuses it earlier makes it an internal error.
 */
const anyCall = z.looseObject({ method: z.literal('tools/call') })

/**
 * Answers one request of MCP's Streamable HTTP transport. Nothing is kept between requests: the
 * key says who calls, and the policy is read anew, so there is no session to steal or to lose.
 */
export async function answerMcp(session: McpSession, request: Request): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({
    enableJsonResponse: true,
    maxRequestBodySize: limits.requestBytesMax,
  })
  await createServer(session).connect(transport)
  ignoreCancellations(transport)
  return transport.handleRequest(request)
}

function createServer(session: McpSession): Server {
  const { gateway, hub, clock, caller, serverName } = session
  const isOffered = (tool: string) => serverName === null || tool.startsWith(`${serverName}_`)
  const server = new Server(
    { name: `rookery-${serverName ?? 'all'}`, title: session.title, version: '0.1.0' },
    {
      capabilities: { tools: {} },
      instructions: instructFor(session),
      // The default validator compiles code, which Workers forbid.
      jsonSchemaValidator: new CfWorkerJsonSchemaValidator(),
    },
  )
  server.setRequestHandler(ListToolsRequestSchema, async () => {
    const policy = await hub.readPolicy(caller.accountId)
    const tools = gateway.list(caller, policy).filter(({ name }) => isOffered(name))
    return { tools: tools.map(toMcpTool) }
  })
  server.setRequestHandler(anyCall, async (request, { signal }) => {
    const { params } = CallToolRequestSchema.parse(request)
    if (!isOffered(params.name)) return toMcpResult(`Error: Unknown tool ${params.name}.`, true)
    const call = {
      // Numbers of JSON-RPC requests repeat; the audit needs an id of its own.
      callId: clock.newId(),
      tool: params.name,
      arguments: JSON.stringify(params.arguments ?? {}),
    }
    const result = await gateway.call(caller, call, signal)
    return toMcpResult(result.text, result.isError)
  })
  return server
}

function instructFor({ gateway, title, caller, serverName }: McpSession): string {
  const offered = gateway.servers().filter(({ name }) => serverName === null || name === serverName)
  const about = offered.map(({ name, description }) => `${name}: ${description}`)
  return [`You are ${caller.name} on ${title}, a hub of people and agents.`, ...about].join('\n')
}

const toMcpTool = (tool: ToolDescription): Tool => ({
  name: tool.name,
  description: tool.description,
  inputSchema: tool.inputSchema as Tool['inputSchema'],
  annotations: {
    readOnlyHint: tool.tier === 'read',
    destructiveHint: tool.tier === 'destructive',
    idempotentHint: tool.isIdempotent,
    openWorldHint: false,
  },
})

const toMcpResult = (text: string, isError: boolean): CallToolResult => ({
  content: [{ type: 'text', text }],
  isError,
})

/**
 * A cancelled request gets no answer, and the answer to the whole HTTP request would wait for it
 * forever. Only a batch can cancel what came with it, so nothing is lost by not listening.
 */
function ignoreCancellations(transport: WebStandardStreamableHTTPServerTransport): void {
  const deliver = transport.onmessage
  transport.onmessage = (message, extra) => {
    const isCancellation =
      isJSONRPCNotification(message) && message.method === 'notifications/cancelled'
    if (!isCancellation) deliver?.(message, extra)
  }
}

import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js'
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  type ServerNotification,
  type ServerRequest,
  type Tool,
} from '@modelcontextprotocol/sdk/types.js'
import { CfWorkerJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/cfworker'
import * as z from 'zod'
import type { ToolDescription } from '../contract/tools'
import type { McpSession } from './mcp-session'
import { paginateTools } from './paginate-tools'
import { runRecorded } from './record-call'
import { type RunningCalls, toCallKey } from './running-calls'

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>

/**
 * Returns a schema that only checks the method. The handlers validate the rest and report invalid
 * parameters; with a stricter schema the SDK would report an internal error.
 */
const any = <Method extends string>(method: Method) => z.looseObject({ method: z.literal(method) })

/** Creates an MCP server with the hub's tools, for one caller and one request. */
export function createServer(session: McpSession, running: RunningCalls): Server {
  const { gateway, caller, serverName } = session
  const server = new Server(
    { name: `rookery-${serverName ?? 'all'}`, title: session.title, version: '0.1.0' },
    {
      capabilities: { tools: {} },
      instructions: instructFor(session),
      // The default validator compiles code, which Workers do not allow.
      jsonSchemaValidator: new CfWorkerJsonSchemaValidator(),
    },
  )
  server.setRequestHandler(any('tools/list'), async (request) => {
    const { params } = parse(ListToolsRequestSchema, request)
    const policy = await session.hub.readPolicy(caller.accountId, caller.activationId)
    await gateway.refresh(policy)
    const offered = gateway.list(caller, policy).filter(({ name }) => isOffered(session, name))
    const page = paginateTools(offered, params?.cursor)
    if (!page) throw wrongParams('Unknown cursor.')
    const { accountId, activationId, runAttempt } = caller
    if (activationId !== null && runAttempt !== undefined) {
      await session.noteToolsListed(accountId, activationId, runAttempt)
    }
    return { ...page, tools: page.tools.map(toMcpTool) }
  })
  server.setRequestHandler(any('tools/call'), async (request, extra) => {
    const { params } = parse(CallToolRequestSchema, request)
    if (!isOffered(session, params.name)) throw wrongParams(`Unknown tool ${params.name}.`)
    const call = {
      // JSON-RPC request ids repeat, so the audit log gets its own id.
      callId: session.clock.newId(),
      tool: params.name,
      arguments: JSON.stringify(params.arguments ?? {}),
    }
    const key = toCallKey(caller.accountId, session.id, extra.requestId)
    const work = running.run(key, (cancelled) => {
      const signal = AbortSignal.any([extra.signal, cancelled])
      const progress = createProgress(params._meta?.progressToken, extra)
      return runRecorded(session, call, { signal, progress })
    })
    session.defer(work)
    const { text, isError, decision } = await work
    if (decision === 'unknown_tool') throw wrongParams(text.replace(/^Error: /, ''))
    return toMcpResult(text, isError)
  })
  return server
}

const isOffered = ({ serverName }: McpSession, tool: string): boolean =>
  serverName === null || tool.startsWith(`${serverName}_`)

function instructFor({ gateway, title, caller, serverName }: McpSession): string {
  const offered = gateway.servers().filter(({ name }) => serverName === null || name === serverName)
  const about = offered.map(({ name, description }) => `${name}: ${description}`)
  return [`You are ${caller.name} on ${title}, a hub of people and agents.`, ...about].join('\n')
}

/** Creates a sender of progress notifications. Each message counts one step; the total is unknown. */
function createProgress(
  progressToken: string | number | undefined,
  { sendNotification }: Extra,
): ((text: string) => void) | undefined {
  if (progressToken === undefined) return undefined
  let progress = 0
  return (message) => {
    progress += 1
    const params = { progressToken, progress, message }
    // A disconnected caller gets no progress.
    void sendNotification({ method: 'notifications/progress', params }).catch(() => undefined)
  }
}

function parse<Schema extends z.ZodType>(schema: Schema, request: unknown): z.output<Schema> {
  const parsed = schema.safeParse(request)
  if (parsed.success) return parsed.data
  const [issue] = parsed.error.issues
  throw wrongParams(`${issue?.path.join('.')}: ${issue?.message}`)
}

/** Returns a JSON-RPC error for invalid parameters; the SDK reads its `code`. */
const wrongParams = (message: string): Error =>
  Object.assign(new Error(message), { code: ErrorCode.InvalidParams })

const toMcpTool = (tool: ToolDescription): Tool => ({
  name: tool.name,
  description: tool.description,
  inputSchema: tool.inputSchema as Tool['inputSchema'],
  annotations: {
    readOnlyHint: tool.tier === 'read',
    destructiveHint: tool.tier === 'destructive',
    idempotentHint: tool.isIdempotent,
    openWorldHint: tool.reachesOut === true,
  },
})

const toMcpResult = (text: string, isError: boolean): CallToolResult => ({
  content: [{ type: 'text', text }],
  isError,
})

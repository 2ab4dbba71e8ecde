import type { GrantApi, GrantPolicy, RequestCounts } from '../../hub/contract/hub'
import { type AccountId, type ActivationId, type Clock, systemClock } from '../../shared/ids'
import type { Settings } from '../../shared/settings'
import type { ProgramCallRecorder } from '../contract/program-calls'
import type { ToolCaller } from '../contract/tools'
import type { Gateway } from '../gateway/pipeline'
import type { ActivationTokens } from './activation-token'
import { authenticateCaller, hasResources } from './authenticate-caller'
import { createRunningCalls } from './record-call'
import type { ResourceHub } from './resources'

interface McpDeps {
  gateway: Gateway
  hub: GrantApi & ResourceHub
  tokens: ActivationTokens
  settings: Pick<Settings, 'ROOKERY_NAME'>
  clock?: Clock
  /** Keeps the Worker alive until work finishes that outlives its request. */
  defer(work: Promise<unknown>): void
  /** Returns what records the calls of a program on a runner. */
  findRecorder(agentId: AccountId): ProgramCallRecorder
  /** Notes that a program on a runner has listed its tools: it cannot do its work without them. */
  noteToolsListed(agentId: AccountId, activationId: ActivationId, attempt: number): Promise<void>
}

/**
 * Creates the handler of `/mcp` (all servers) and `/mcp/<server>`: MCP over Streamable HTTP for callers
 * with an API key or an activation token, through the same gateway as the hub's own agents.
 */
export function createMcpRoutes(
  deps: McpDeps,
): (request: Request, counts: RequestCounts) => Promise<Response> {
  const clock = deps.clock ?? systemClock
  const running = createRunningCalls()
  return async (request, counts) => {
    const path = /^\/mcp(?:\/([a-z0-9]*))?\/?$/.exec(new URL(request.url).pathname)
    if (!path) return refuseUnknown()
    const serverName = path[1] || null
    if (!isOwnOrigin(request)) return refuse(403, 'Requests from other origins are refused.')
    const isWatch = isWatchRequest(request)
    if (request.method !== 'POST' && !isWatch) return refuseMethod()
    const caller = await authenticateCaller(deps, request, clock.now())
    if (!caller) {
      return refuseCaller(request)
    }
    counts.recordCaller(caller.accountId)
    if (isWatch && !hasResources(caller, serverName)) return refuseMethod()
    if (serverName !== null && !(await isKnown(deps, caller, serverName))) return refuseUnknown()
    // The SDK is large and most isolates never use it, so it is loaded at the first request.
    const { answerMcp, streamUpdates } = await import('./answer-mcp')
    const { gateway, hub, settings, defer } = deps
    const session = {
      gateway,
      hub,
      clock,
      caller,
      title: settings.ROOKERY_NAME,
      serverName,
      defer,
      noteToolsListed: deps.noteToolsListed,
      findRecorder: deps.findRecorder,
    }
    return isWatch
      ? streamUpdates(session, running, request)
      : answerMcp(session, running, request, counts)
  }
}

const isWatchRequest = ({ method, headers }: Request): boolean =>
  method === 'GET' && headers.has('Mcp-Session-Id')

const refuseMethod = (): Response =>
  refuse(
    405,
    'Send JSON-RPC messages with POST; GET with the Mcp-Session-Id of `initialize` and an API key is a stream of updates.',
    { Allow: 'POST' },
  )

function refuseCaller({ headers }: Request): Response {
  const challenge = 'Bearer realm="mcp"'
  return /^Bearer +\S/i.test(headers.get('Authorization') ?? '')
    ? refuse(
        401,
        'Unknown key: it is wrong, revoked or expired. Create a key on the page of your account.',
        { 'WWW-Authenticate': `${challenge}, error="invalid_token"` },
      )
    : refuse(401, 'Send an API key as "Authorization: Bearer <key>".', {
        'WWW-Authenticate': challenge,
      })
}

/**
 * Whether a request comes from no page or from the hub's own. Without TLS another name can resolve to this
 * hub (DNS rebinding), so only pages on localhost count as its own then.
 */
function isOwnOrigin(request: Request): boolean {
  const from = request.headers.get('Origin')
  const { origin, protocol, hostname } = new URL(request.url)
  if (from === null) return true
  const isSure = protocol === 'https:' || /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname)
  return from === origin && isSure
}

/** Whether a server exists; reloads the remote ones when it is not loaded yet. */
async function isKnown(
  { gateway, hub }: McpDeps,
  caller: ToolCaller,
  serverName: string,
): Promise<boolean> {
  const isThere = () => gateway.servers().some(({ name }) => name === serverName)
  if (isThere()) return true
  const policy: GrantPolicy = await hub.readPolicy(caller.accountId, caller.activationId)
  await gateway.refresh(policy)
  return isThere()
}

const refuseUnknown = (): Response => refuse(404, 'MCP server not found. Check the path.')

/** Returns an HTTP error with a JSON-RPC error as its body, as MCP clients expect. */
function refuse(status: number, message: string, headers: Record<string, string> = {}): Response {
  const body = { jsonrpc: '2.0', error: { code: -32_000, message }, id: null }
  return Response.json(body, { status, headers })
}

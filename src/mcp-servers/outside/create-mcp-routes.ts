import type { GrantDoor, GrantPolicy } from '../../hub/contract'
import { type Clock, systemClock } from '../../ids'
import type { Settings } from '../../settings'
import type { ToolCaller } from '../contract'
import type { Gateway } from '../gateway/gateway'
import type { ActivationTokens } from './activation-token'
import { authenticateCaller } from './authenticate-caller'
import { createRunningCalls } from './running-calls'

interface McpDeps {
  gateway: Gateway
  hub: GrantDoor
  tokens: ActivationTokens
  settings: Pick<Settings, 'ROOKERY_NAME'>
  clock?: Clock
  /** Lets work end that outlives its request. */
  defer(work: Promise<unknown>): void
}

/**
 * The handler for `/mcp` (all servers) and `/mcp/<server>`: MCP over Streamable HTTP for anybody
 * with an account key or a token of an activation, through the same gateway as the hub's own agents
 *.
 */
export function createMcpRoutes(deps: McpDeps): (request: Request) => Promise<Response> {
  const clock = deps.clock ?? systemClock
  const running = createRunningCalls()
  return async (request) => {
    const path = /^\/mcp(?:\/([a-z0-9]*))?\/?$/.exec(new URL(request.url).pathname)
    if (!path) return refuseUnknown()
    const serverName = path[1] || null
    if (!isOwnOrigin(request)) return refuse(403, 'Requests from other origins are refused.')
    if (request.method !== 'POST') {
      const words = 'Send JSON-RPC messages with POST; there is nothing to listen to.'
      return refuse(405, words, { Allow: 'POST' })
    }
    const caller = await authenticateCaller(deps, request, clock.now())
    if (!caller) {
      return refuse(401, 'Give an account key as "Authorization: Bearer <key>".', {
        'WWW-Authenticate': 'Bearer realm="mcp"',
      })
    }
    if (serverName !== null && !(await isKnown(deps, caller, serverName))) return refuseUnknown()
    // The SDK is large and most isolates never speak MCP: load it with the first call.
    const { answerMcp } = await import('./answer-mcp')
    const { gateway, hub, settings, defer } = deps
    const session = { gateway, hub, clock, caller, title: settings.ROOKERY_NAME, serverName, defer }
    return answerMcp(session, running, request)
  }
}

/**
 * A page elsewhere must not use a browser that can reach this hub. Without TLS any name may lead here
 * (DNS rebinding), so a page is then only one's own when it is on this machine.
 */
function isOwnOrigin(request: Request): boolean {
  const from = request.headers.get('Origin')
  const { origin, protocol, hostname } = new URL(request.url)
  if (from === null) return true
  const isSure = protocol === 'https:' || /^(localhost|127\.0\.0\.1|\[::1\])$/.test(hostname)
  return from === origin && isSure
}

/** Servers of this code are known at once; others after a look at what the policy says of them. */
async function isKnown(
  { gateway, hub }: McpDeps,
  caller: ToolCaller,
  serverName: string,
): Promise<boolean> {
  const isThere = () => gateway.servers().some(({ name }) => name === serverName)
  if (isThere()) return true
  const policy: GrantPolicy = await hub.readPolicy(caller.accountId)
  await gateway.refresh(policy)
  return isThere()
}

const refuseUnknown = (): Response => refuse(404, 'There is no such MCP server.')

/** A refusal below JSON-RPC, in the form that MCP clients read. */
function refuse(status: number, message: string, headers: Record<string, string> = {}): Response {
  const body = { jsonrpc: '2.0', error: { code: -32_000, message }, id: null }
  return Response.json(body, { status, headers })
}

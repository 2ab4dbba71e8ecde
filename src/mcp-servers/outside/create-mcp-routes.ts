import type { GrantDoor } from '../../hub/contract'
import { type Clock, systemClock } from '../../ids'
import type { Settings } from '../../settings'
import type { Gateway } from '../gateway/gateway'
import { authenticateCaller } from './authenticate-caller'

interface McpDeps {
  gateway: Gateway
  hub: GrantDoor
  settings: Pick<Settings, 'ROOKERY_NAME'>
  clock?: Clock
}

/**
 * The handler for `/mcp` (all servers) and `/mcp/<server>`: MCP over Streamable HTTP for anybody
 * with an account key, through the same gateway as the hub's own agents (M11).
 */
export function createMcpRoutes(deps: McpDeps): (request: Request) => Promise<Response> {
  const clock = deps.clock ?? systemClock
  return async (request) => {
    const { origin, pathname } = new URL(request.url)
    const serverName = /^\/mcp(?:\/([^/]*))?\/?$/.exec(pathname)?.[1] || null
    const isKnown = deps.gateway.servers().some(({ name }) => name === serverName)
    if (!isKnown && !/^\/mcp\/?$/.test(pathname)) return refuse(404, 'There is no such MCP server.')

    // A page elsewhere must not use a browser that can reach this hub (DNS rebinding).
    const from = request.headers.get('Origin')
    if (from !== null && from !== origin)
      return refuse(403, 'Requests from other origins are refused.')
    if (request.method !== 'POST') {
      return refuse(405, 'Send JSON-RPC messages with POST; there is no session.', {
        Allow: 'POST',
      })
    }
    const caller = await authenticateCaller(deps.hub, request, clock.now())
    if (!caller) {
      return refuse(401, 'Give an account key as "Authorization: Bearer <key>".', {
        'WWW-Authenticate': 'Bearer realm="mcp"',
      })
    }
    // The SDK is large and most isolates never speak MCP: load it with the first call.
    const { answerMcp } = await import('./answer-mcp')
    const { gateway, hub, settings } = deps
    return answerMcp(
      { gateway, hub, clock, caller, title: settings.ROOKERY_NAME, serverName },
      request,
    )
  }
}

/** A refusal below JSON-RPC, in the form that MCP clients read. */
function refuse(status: number, message: string, headers: Record<string, string> = {}): Response {
  const body = { jsonrpc: '2.0', error: { code: -32_000, message }, id: null }
  return Response.json(body, { status, headers })
}

import type { GrantPolicy } from '../../src/hub/contract/hub'
import { createGateway } from '../../src/mcp-servers/gateway/create-gateway'
import { createActivationTokens } from '../../src/mcp-servers/outside/activation-token'
import { createMcpRoutes } from '../../src/mcp-servers/outside/create-mcp-routes'
import { servers } from '../../src/mcp-servers/servers'
import type { ToolServer } from '../../src/mcp-servers/tool/define-tool'
import type { CallClass } from '../../src/shared/config'
import { connectMcp } from './connect-mcp'
import { ada, createFakeClock, createFakeHubApi } from './fake-hub-api'
import { fakeMemory } from './fake-memory'
import { testFileStores } from './file-stores'

export const key = 'rookery_key_of_ada'
const keyHash = await crypto.subtle
  .digest('SHA-256', new TextEncoder().encode(key))
  .then((digest) => new Uint8Array(digest).toHex())

const vaultKey = btoa('k'.repeat(32))

/**
 * Sets up the MCP routes with the real gateway and tools, and a fake hub that accepts ada's key.
 *
 * @param left calls of a class before they are refused; without limit unless given
 */
export function setUpMcp(
  policy: Partial<GrantPolicy> = {},
  scopes = ['read', 'write'],
  more: ToolServer[] = [],
  left: Partial<Record<CallClass, number>> = {},
) {
  const hub = createFakeHubApi({ requested: null, allowed: ['hub:*'], denied: [], ...policy })
  hub.hubApi.findCaller = async (hash) =>
    hash === keyHash ? { ...ada, keyId: 'key-of-ada', scopes } : null
  const clock = createFakeClock()
  const gateway = createGateway({
    ...testFileStores,
    hub: hub.hubApi,
    memory: fakeMemory,
    clock,
    servers: [...servers, ...more],
  })
  const tokens = createActivationTokens([vaultKey])
  const deferred: Promise<unknown>[] = []
  const answer = createMcpRoutes({
    gateway,
    hub: hub.hubApi,
    tokens,
    defer: (work) => void deferred.push(work),
    noteToolsListed: async () => {},
    findRecorder: () => {
      throw new Error('no program runs here')
    },
    settings: { ROOKERY_NAME: 'Nest' },
    clock,
  })
  /** The classes of the calls that were counted, in their order. */
  const counted: CallClass[] = []
  const handle = (request: Request) =>
    answer(request, {
      recordCaller: () => undefined,
      count: async (rateClass) => {
        counted.push(rateClass)
        const used = counted.filter((each) => each === rateClass).length
        const isRefused = used > (left[rateClass] ?? Number.POSITIVE_INFINITY)
        return isRefused ? { message: 'Too many requests.', retryAfterSeconds: 7 } : null
      },
    })
  const connect = (path?: string) => connectMcp(handle, key, path)
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    handle(
      new Request(`https://hub.test${path}`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${key}`,
          'Content-Type': 'application/json',
          Accept: 'application/json, text/event-stream',
          ...headers,
        },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    )
  return { ...hub, handle, counted, connect, post, tokens, clock, deferred }
}

export const listRequest = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

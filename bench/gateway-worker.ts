/**
 * A tool called through the gateway and called directly, for `gateway.cpu_ms`; and through a gateway
 * with many servers and tools and a long policy, for `gateway.cpu_ms.many`. What decides about
 * the call answers from memory, so the difference is the gateway's own work: finding, checking
 * arguments, grant, policy, time limit, bounds, audit.
 */
import * as z from 'zod'
import { type AuthorizationData, noPrivacy } from '../src/hub/contract/hub'
import type { ToolCaller } from '../src/mcp-servers/contract/tools'
import { createGateway } from '../src/mcp-servers/gateway/create-gateway'
import type { Gateway, GatewayDeps } from '../src/mcp-servers/gateway/pipeline'
import { servers } from '../src/mcp-servers/servers'
import { defineTool, type ToolServer } from '../src/mcp-servers/tool/define-tool'
import { type AccountId, type ActivationId, systemClock } from '../src/shared/ids'

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  input: z.strictObject({ a: z.number(), b: z.number() }),
  tier: 'read',
  grant: 'bench:read',
  isIdempotent: true,
  doing: 'adding',
  run: async ({ input }) => ({ sum: input.a + input.b }),
})

const bench: ToolServer = { name: 'bench', description: 'Adds.', tools: [add] }
type Lists = Record<'requested' | 'allowed' | 'denied', string[]>
const policy: Lists = { requested: ['bench:read'], allowed: ['*'], denied: [] }

/** Every server of the hub, 50 more of 20 tools each, and behind them the one that is called. */
const manyServers: ToolServer[] = [
  ...servers,
  ...Array.from({ length: 50 }, (_, server) => ({
    name: `other${server}`,
    description: 'Adds too.',
    tools: Array.from({ length: 20 }, (_, tool) => ({ ...add, name: `add_${tool}` })),
  })),
  bench,
]
/** One line for each of the 50 in each list, and the line that counts behind them. */
const linesOf = (action: string) =>
  manyServers.slice(-51, -1).map(({ name }) => `${name}:${action}`)
const longPolicy: Lists = {
  requested: [...linesOf('read'), 'bench:read'],
  allowed: [...linesOf('*'), 'bench:*'],
  denied: linesOf('delete'),
}

// the gateway asks the hub for nothing else here; anything more would throw
const hubOf = (lists: Lists) => {
  const facts: AuthorizationData = {
    policy: { ...lists, requireApproval: [], rateLimits: [] },
    approvals: [],
    rules: [],
  }
  const api: Partial<GatewayDeps['hub']> = { readAuthorization: async () => facts }
  return api as GatewayDeps['hub']
}
const hub = hubOf(policy)
const memory = {} as GatewayDeps['memory']
const workspace = {} as ReturnType<GatewayDeps['workspaceOf']>
const results = {} as GatewayDeps['results']
const open = (hub: GatewayDeps['hub'], servers: ToolServer[]) =>
  createGateway({
    hub,
    memory,
    workspaceOf: () => workspace,
    results,
    clock: systemClock,
    servers,
    reportFailure: (tool, cause) => {
      throw new Error(`${tool} failed`, { cause })
    },
  })
const gateway = open(hub, [bench])
const largeGateway = open(hubOf(longPolicy), manyServers)

const caller: ToolCaller = {
  accountId: 'adder' as AccountId,
  name: 'adder',
  kind: 'agent',
  activationId: 'activation' as ActivationId,
  postId: null,
}

const callThrough =
  (gateway: Gateway) =>
  async (index: number, signal: AbortSignal): Promise<string> => {
    const call = { callId: `c${index}`, tool: 'bench_add', arguments: `{"a":${index},"b":2}` }
    const result = await gateway.call(caller, call, signal)
    if (result.isError) throw new Error(result.text)
    return result.text
  }

async function callDirectly(index: number, signal: AbortSignal): Promise<string> {
  const prepared = add.prepare(JSON.parse(`{"a":${index},"b":2}`))
  if (!prepared.ok) throw new Error('not prepared')
  const actor = { ...caller, idempotencyKey: null }
  const own = { memory, workspace, results, privacy: noPrivacy, hasReadUntrusted: false }
  return JSON.stringify(
    await prepared.run({ actor, hub, ...own, outside: null, signal, progress: () => undefined }),
  )
}

const ways: Record<string, typeof callDirectly> = {
  direct: callDirectly,
  gateway: callThrough(gateway),
  many: callThrough(largeGateway),
}

export default {
  /** `?n=` calls, 5 at a time as an agent makes them, `?way=direct`, `gateway` or `many`. */
  async fetch(request) {
    const query = new URL(request.url).searchParams
    const call = ways[query.get('way') ?? ''] ?? callDirectly
    const n = Number(query.get('n'))
    const { signal } = new AbortController()
    let next = 0
    let right = 0
    const work = async () => {
      while (next < n) {
        const index = next++
        if ((await call(index, signal)) === `{"sum":${index + 2}}`) right++
      }
    }
    await Promise.all(Array.from({ length: 5 }, work))
    return Response.json({ n, right })
  },
} satisfies ExportedHandler

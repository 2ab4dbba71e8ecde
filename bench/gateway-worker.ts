/**
 * A tool called through the gateway and called directly, for `gateway.cpu_ms`. What decides about
 * the call answers from memory, so the difference is the gateway's own work: finding, checking
 * arguments, grant, policy, time limit, bounds, audit.
 */
import * as z from 'zod'
import type { CallFacts } from '../src/hub/contract'
import { type AccountId, type ActivationId, systemClock } from '../src/ids'
import type { ToolCaller } from '../src/mcp-servers/contract'
import { defineTool } from '../src/mcp-servers/define-tool'
import { createGateway } from '../src/mcp-servers/gateway/create-gateway'
import type { GatewayDeps } from '../src/mcp-servers/gateway/gateway'

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

const policy = { requested: ['bench:read'], allowed: ['*'], denied: [] }
const facts: CallFacts = {
  policy: { ...policy, requireApproval: [], rateLimits: [] },
  approvals: [],
}
// the gateway asks the hub for nothing else here; anything more would throw
const hub = { readFacts: async () => facts } as unknown as GatewayDeps['hub']
const memory = {} as GatewayDeps['memory']
const workspace = {} as ReturnType<GatewayDeps['workspaceOf']>
const results = {} as GatewayDeps['results']
const gateway = createGateway({
  hub,
  memory,
  workspaceOf: () => workspace,
  results,
  clock: systemClock,
  servers: [{ name: 'bench', description: 'Adds.', tools: [add] }],
  reportFailure: (tool, cause) => {
    throw new Error(`${tool} failed`, { cause })
  },
})

const caller: ToolCaller = {
  accountId: 'adder' as AccountId,
  name: 'adder',
  kind: 'agent',
  activationId: 'activation' as ActivationId,
  postId: null,
}

async function callThroughGateway(index: number, signal: AbortSignal): Promise<string> {
  const call = { callId: `c${index}`, tool: 'bench_add', arguments: `{"a":${index},"b":2}` }
  const result = await gateway.call(caller, call, signal)
  if (result.isError) throw new Error(result.text)
  return result.text
}

async function callDirectly(index: number, signal: AbortSignal): Promise<string> {
  const prepared = add.prepare(JSON.parse(`{"a":${index},"b":2}`))
  if (!prepared.ok) throw new Error('not prepared')
  const actor = { ...caller, idempotencyKey: null }
  const own = { memory, workspace, results }
  return JSON.stringify(
    await prepared.run({ actor, hub, ...own, outside: null, signal, progress: () => undefined }),
  )
}

export default {
  /** `?n=` calls, 5 at a time as an agent makes them, `?way=gateway` or directly. */
  async fetch(request) {
    const query = new URL(request.url).searchParams
    const call = query.get('way') === 'gateway' ? callThroughGateway : callDirectly
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

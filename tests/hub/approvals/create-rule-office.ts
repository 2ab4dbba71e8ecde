import { env } from 'cloudflare:workers'
import * as z from 'zod'
import { createHubApi } from '../../../src/hub/api/hub-api'
import type { ToolCaller } from '../../../src/mcp-servers/contract/tools'
import { createGateway } from '../../../src/mcp-servers/gateway/create-gateway'
import { listKnownTools } from '../../../src/mcp-servers/gateway/known-tools'
import { defineTool } from '../../../src/mcp-servers/tool/define-tool'
import type { AccountId, ActivationId } from '../../../src/shared/ids'
import { fakeMemory } from '../../support/fake-memory'
import { testFileStores } from '../../support/file-stores'
import { adminKey, createTestHub } from '../create-test-hub'

/** A hub with people, an agent and a tool that writes, and short words for calls, approvals and rules. */
export async function createRuleOffice() {
  const hub = createTestHub()
  const mira = await hub.join('mira', 'human')
  const tomas = await hub.join('tomas', 'human')
  const boss = await hub.join('boss', 'human')
  const bot = await hub.join('bot')
  const scout = await hub.join('scout')
  await hub.host(scout.id)
  await env.DB.prepare(`UPDATE agents SET grants = '["*"]'`).run()
  await hub.call('/communities', { key: mira.key, body: { name: 'garden' } })

  const ran: unknown[] = []
  let trips = 0
  const contexts: ReturnType<typeof hub.context>[] = []
  const hubApi = createHubApi(() => {
    const context = hub.context()
    contexts.push(context)
    return context
  })
  const createServers = (description = 'Sends it.') => [
    {
      name: 'test',
      description: 'For tests.',
      tools: [
        defineTool({
          name: 'send',
          description,
          tier: 'write',
          isIdempotent: false,
          doing: 'sending',
          // Not strict: an argument that the tool does not know would be dropped in silence.
          input: z.object({ to: z.string(), text: z.string(), copies: z.number().default(1) }),
          grant: { shape: 'test:*', of: ({ to }) => `test:${to.split('/')[0]}` },
          async run({ input }) {
            ran.push(input)
            return 'sent'
          },
        }),
      ],
    },
  ]
  const createTestGateway = (servers = createServers()) =>
    createGateway({
      ...testFileStores,
      hub: hubApi,
      memory: fakeMemory,
      clock: hub.clock,
      servers,
    })
  hub.seen.tools = listKnownTools(createServers())
  let gateway = createTestGateway()

  let calls = 0
  const outside: ToolCaller = {
    accountId: scout.id,
    name: 'scout',
    kind: 'agent',
    activationId: null,
    postId: null,
  }
  const send = async (args: object | string, caller: ToolCaller) => {
    const text = typeof args === 'string' ? args : JSON.stringify(args)
    contexts.length = 0
    const result = await gateway.call(
      caller,
      { callId: `call-${++calls}`, tool: 'test_send', arguments: text },
      new AbortController().signal,
    )
    trips = contexts.reduce((sum, { db }) => sum + db.cost.roundTrips, 0)
    return result
  }
  const decisionOf = async (args: object | string, caller: ToolCaller) =>
    (await send(args, caller)).audit.decision

  /** A run of scout for accounts, in a community or outside of any. */
  const createRun = async (
    requesters: AccountId[] = [mira.id],
    community: string | null = 'garden',
  ): Promise<ToolCaller> => {
    const activationId = crypto.randomUUID() as ActivationId
    await env.DB.prepare(
      `INSERT INTO activations (id, agent_id, class, task, state, admission, model, definition_version,
         started_at, deadline_at, requesters, community_id)
       VALUES (?, ?, 'inbox', 'mention', 'parked', 'granted', 'offline/extractive', 1, 0, 0, ?,
         (SELECT id FROM communities WHERE name = ?))`,
    )
      .bind(activationId, scout.id, JSON.stringify(requesters), community)
      .run()
    return { ...outside, activationId }
  }

  const pending = { to: 'acme/tools', text: 'Weekly report 47' }

  /** Lets a run ask for a call, as its park would have written it; returns the approval's id. */
  async function ask(args: object | string, caller: ToolCaller): Promise<string> {
    const { approval } = await send(args, caller)
    if (!approval) throw new Error('nothing to approve')
    await env.DB.prepare(
      `INSERT INTO approvals (id, account_id, activation_id, call_id, tool, "grant", tier, arguments, arguments_hash,
         reasons, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    )
      .bind(
        `${caller.activationId}:${approval.callId}`,
        scout.id,
        caller.activationId,
        approval.callId,
        approval.tool,
        approval.grant,
        approval.tier,
        approval.arguments,
        approval.argumentsHash,
        JSON.stringify(approval.reasons),
        hub.clock.now(),
        hub.clock.now() + 86_400_000,
      )
      .run()
    return `${caller.activationId}:${approval.callId}`
  }

  const approve = (id: string, rule: object, key: string = adminKey, decision = 'approve') =>
    hub.call(`/approvals/${encodeURIComponent(id)}/decide`, {
      key,
      body: { decision, standing_rule: rule },
    })
  const listRules = async () =>
    (await hub.call('/standing-rules', { key: adminKey })).body.standing_rules
  const setPolicy = (body: object) =>
    hub.call('/agents/scout/grants', { method: 'PUT', key: adminKey, body })
  const setRole = (name: string, role: string) =>
    hub.call(`/accounts/${name}/role`, { method: 'PUT', key: adminKey, body: { role } })

  /** Approves `args` in a run for mira in m/garden with a rule, made by the admin unless `key` says otherwise. */
  async function createRule(rule: object = {}, key: string = adminKey, args: object = pending) {
    const answer = await approve(await ask(args, await createRun()), rule, key)
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
    return answer.body.standing_rule
  }
  /** Starts a test with no rule, a policy that requires approval for writes, and the tool as it was. */
  const reset = async () => {
    ran.length = 0
    gateway = createTestGateway()
    hub.seen.tools = listKnownTools(createServers())
    await env.DB.batch([
      env.DB.prepare('DELETE FROM approvals'),
      env.DB.prepare('DELETE FROM standing_rules'),
    ])
    await setPolicy({ allowed: ['test:*'], require_approval: ['tier:write'] })
    await setRole('boss', 'admin')
  }
  /** Gives the tool another description. */
  const changeTool = (description: string) => {
    const changed = createServers(description)
    gateway = createTestGateway(changed)
    hub.seen.tools = listKnownTools(changed)
  }
  const readTrips = () => trips
  const countCalls = () => calls
  return {
    hub,
    mira,
    tomas,
    boss,
    bot,
    ran,
    outside,
    pending,
    send,
    decisionOf,
    createRun,
    ask,
    approve,
    listRules,
    setPolicy,
    setRole,
    createRule,
    reset,
    changeTool,
    readTrips,
    countCalls,
  }
}

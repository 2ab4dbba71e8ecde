/**
 * The agents module alone, for `activation.cpu_ms`: the real shell, loop and journal; the hub API
 * and the tool answer from memory, the model answers at once. The same work as the peers: two model
 * turns and one tool call, and nothing is remembered for the next. `FullBenchAgent` has answers that
 * come in pieces and a hook at each of the four points; `RememberingBenchAgent` a memory as well.
 */
import { DurableObject } from 'cloudflare:workers'
import { AgentObjectBase } from '../src/agents/agent-object'
import type { Definition } from '../src/agents/definitions/definition'
import type { AgentDeps } from '../src/agents/effects/effect-context'
import type { Hook } from '../src/agents/hooks/hook'
import { createHookRunner } from '../src/agents/hooks/hook-runner'
import { hooks } from '../src/agents/hooks/hooks'
import type { Model, ModelRequest } from '../src/agents/models/model-port'
import { RecoveryLane } from '../src/agents/recovery'
import { type AccountId, systemClock } from '../src/shared/ids'
import { createLog } from '../src/shared/log'
import { createLoad, environment, policy, reservation } from './activation-load'

const definition: Definition = {
  name: 'adder',
  displayName: null,
  description: 'Adds.',
  executor: 'native',
  coding: { builtin: 'none', runsOn: [], workspace: null },
  systemPrompt: 'You add numbers.',
  brain: {},
  limits: { iterations: 10, tokens: 100_000, durationSeconds: 300, outputTokens: 1_000 },
  costPerDayMicrousd: null,
  grants: ['bench:read'],
  toolRestrictions: { allow: [], deny: [], servers: [], blockedPatterns: [] },
  wakesOn: { mentions: true, replies: true, dms: true, followUps: true },
  skills: [],
  writingLimits: {
    dailyPostsMax: 5,
    dailyCommentsMax: 50,
    responsesPerThreadMax: 3,
    intervalMs: 0,
  },
  memory: { isEnabled: false, factsMax: 50, retrieval: 'recent' },
  hooks: { enable: [], disable: [] },
}

const usage = { inputTokens: 10, cachedTokens: 0, outputTokens: 5, reasoningTokens: 0 }
const model: Model = {
  id: 'fake/one',
  provider: 'fake',
  isOffline: false,
  contextTokens: 100_000,
  outputTokensMax: 1_000,
  prices: { input: 1_000_000, cached: 100_000, output: 5_000_000 },
  call: async ({ messages }) => {
    // the last message is the status
    const isDone = messages.at(-2)?.role === 'tool'
    const answer = isDone
      ? { text: 'done', calls: [], finish: 'stop' as const }
      : {
          text: '',
          calls: [
            {
              callId: `c${Math.random().toString(36).slice(2)}`,
              name: 'bench_add',
              arguments: '{"a":1,"b":2}',
            },
          ],
          finish: 'tool-calls' as const,
        }
    return { ok: true, answer: { ...answer, reasoning: '', usage } }
  },
}

/** Says what it thinks and says in pieces of a dozen characters, as providers send them. */
const streamingModel: Model = {
  ...model,
  call: async (request) => {
    sendPieces(request, 'reasoning', 4)
    const result = await model.call(request)
    if (result.ok && result.answer.text !== '') sendPieces(request, 'text', 16)
    return result
  },
}

function sendPieces({ onDelta }: ModelRequest, kind: 'text' | 'reasoning', pieces: number): void {
  for (let piece = 0; piece < pieces; piece++) onDelta?.({ kind, text: 'twelve chars' })
}

/** Looks at everything and lets it pass. */
const onlooker: Hook = {
  name: 'onlooker',
  beforeModelCall: () => undefined,
  afterModelCall: () => {},
  beforeToolCall: () => undefined,
  afterToolCall: () => undefined,
}

const tool = {
  name: 'bench_add',
  description: 'Adds two numbers.',
  inputSchema: { type: 'object' },
  tier: 'read',
  isIdempotent: true,
  isSequential: false,
  doing: 'adding',
} as const

const keep = (text: string): string => text

interface World {
  model: Model
  hooks: readonly Hook[]
  remembers: boolean
}

/** Replies by the id of the agent, since it was asked last. */
type Replies = Map<string, string[]>

/** The world from memory. */
function createDeps({ model, hooks, remembers }: World, replies: Replies): AgentDeps {
  const memory = { ...definition.memory, isEnabled: remembers }
  return {
    hub: {
      load: async () => createLoad(),
      park: async () => ({ kind: 'lost', waiting: [] }),
      steer: async () => [],
      renew: async () => ({ kind: 'renewed', reservation, policy, budgets: [], environment }),
      commit: async ({ agentId, reply }) => {
        replies.get(agentId)?.push(reply?.content ?? '')
        return { kind: 'done', replyId: reply?.id ?? null, replyRefusal: null, waiting: [] }
      },
      dropChangedRequests: async () => {},
      readConnections: async () => [],
      endOutage: async () => [],
      notifyRequesters: async () => {},
      publishProgress: async () => {},
    },
    media: { get: async () => null },
    runners: {
      start: async () => ({ kind: 'nobody' }),
      stop: async () => {},
      forgetSessions: async () => {},
    },
    patches: { save: async () => {} },
    approvalWaitMs: 60_000,
    tools: {
      refresh: () => undefined,
      isGranted: () => true,
      findRefusal: () => null,
      measureFiles: () => null,
      endRun: async () => {},
      list: () => [tool],
      listInstructions: () => [],
      describe: () => ({ ...tool, answersAsOf: false }),
      call: async (_caller, call) => {
        const { a, b } = JSON.parse(call.arguments) as { a: number; b: number }
        const at = Date.now()
        return {
          callId: call.callId,
          text: String(a + b),
          isError: false,
          approval: null,
          durationMs: 0,
          audit: {
            callId: call.callId,
            tool: call.tool,
            grant: 'bench:read',
            argumentsHash: '',
            decision: 'allowed',
            outcome: 'ok',
            durationMs: 0,
            resultBytes: 1,
            at,
          },
        }
      },
    },
    models: { resolve: () => ({ model, substitutedFor: null }) },
    definitions: { read: async () => ({ ok: true, definition: { ...definition, memory } }) },
    hooks: createHookRunner(hooks, { redact: keep, now: Date.now, report: () => {} }),
    wakeAgents: async () => {},
    clock: systemClock,
    lane: new RecoveryLane(systemClock),
    hubName: 'Bench',
    log: createLog({ level: 'info', redact: keep, now: Date.now, write: () => {} }),
    mask: keep,
    random: Math.random,
    capacity: 50,
  }
}

interface BenchEnv {
  AGENTS: DurableObjectNamespace<BenchAgent>
  FULL: DurableObjectNamespace<FullBenchAgent>
  REMEMBERING: DurableObjectNamespace<RememberingBenchAgent>
  BARE: DurableObjectNamespace<BareObject>
}

/** One for all agents of an isolate, as in the product. */
function createWorld(world: World) {
  const replies: Replies = new Map()
  return { replies, deps: createDeps(world, replies) }
}

const quiet = createWorld({ model, hooks, remembers: false })
const full = createWorld({ model: streamingModel, hooks: [...hooks, onlooker], remembers: false })
const remembering = createWorld({
  model: streamingModel,
  hooks: [...hooks, onlooker],
  remembers: true,
})

export class BenchAgent extends AgentObjectBase<BenchEnv> {
  readonly #replies: Replies

  constructor(ctx: DurableObjectState, env: BenchEnv, world = quiet) {
    super(ctx, env, world.deps)
    this.#replies = world.replies
  }

  /** One activation from the wake-up to the end of its commit; answers how many rows it wrote. */
  async runOnce(agentId: AccountId): Promise<number> {
    const replies: string[] = []
    this.#replies.set(agentId, replies)
    await this.wake(agentId)
    await this.shell.waitUntilIdle()
    this.#replies.delete(agentId)
    const [reply] = replies
    if (replies.length !== 1) throw new Error('the activation did not commit once')
    if (!reply?.includes('done')) throw new Error(`wrong reply: ${reply}`)
    return this.shell.countJournalRows()
  }

  /** Rows of the last activation's work that are in the database. */
  countStoredRows(): number {
    const { n } = this.ctx.storage.sql
      .exec<{ n: number }>(
        `SELECT count(*) AS n FROM journal WHERE run = (SELECT run FROM journal WHERE seq = 1)
           AND event ->> 'type' IN ('woken', 'loaded', 'model_answered', 'tool_returned')`,
      )
      .one()
    return n
  }
}

export class FullBenchAgent extends BenchAgent {
  constructor(ctx: DurableObjectState, env: BenchEnv, world = full) {
    super(ctx, env, world)
  }
}

export class RememberingBenchAgent extends FullBenchAgent {
  constructor(ctx: DurableObjectState, env: BenchEnv) {
    super(ctx, env, remembering)
  }
}

/** What the platform itself takes, beside which the others can be read. */
export class BareObject extends DurableObject<BenchEnv> {
  constructor(ctx: DurableObjectState, env: BenchEnv) {
    super(ctx, env)
    ctx.storage.sql.exec('CREATE TABLE IF NOT EXISTS steps (id INTEGER PRIMARY KEY, step TEXT)')
  }

  async runOnce(agentId: AccountId): Promise<number> {
    for (const step of ['call', 'answer']) {
      const text = JSON.stringify({ agentId, step })
      this.ctx.storage.sql.exec('INSERT INTO steps (step) VALUES (?)', text)
    }
    return 2
  }

  countStoredRows(): number {
    return this.ctx.storage.sql.exec<{ n: number }>('SELECT count(*) AS n FROM steps').one().n
  }
}

export default {
  /**
   * `?n=` activations over `?agents=` agents of `?room=`, `?conc=` at a time; answers how many journal
   * rows each said it wrote, and with `?verify=1` how many of the last one's are stored.
   */
  async fetch(request, env) {
    const query = new URL(request.url).searchParams
    const [n = 0, agents = 1, concurrent = 16] = ['n', 'agents', 'conc'].map((name) =>
      Number(query.get(name)),
    )
    const room = env[(query.get('room') ?? 'AGENTS') as keyof BenchEnv]
    const stubs = Array.from({ length: agents }, (_, index) =>
      room.getByName(`${query.get('base') ?? 'agent'}-${index}`),
    )
    let rows = 0
    // each lane has agents of its own: a slow disk must not make one agent meet itself
    const work = async (lane: number) => {
      for (let turn = lane; turn < n; turn += concurrent) {
        const index = turn % agents
        const written = await stubs[index]?.runOnce(`agent-${index}` as AccountId)
        rows += written ?? 0
      }
    }
    await Promise.all(Array.from({ length: concurrent }, (_, lane) => work(lane)))
    if (!query.has('verify')) return Response.json({ n, rows })
    const stored = await Promise.all(stubs.map((stub) => stub.countStoredRows()))
    return Response.json({ n, rows, stored })
  },
} satisfies ExportedHandler<BenchEnv>

import * as z from 'zod'
import { activationLimits } from '../config'
import type { ErrorDetail } from '../errors'
import type { Actor, ConversationDoor } from '../hub/contract'
import type { MemoryDoor, Tier } from './contract'
import type { Connection } from './credentials/connection'
import { meetShape } from './gateway/grant-pattern'
import type { ResultStore } from './results/result-store'
import type { ServiceKind } from './services/service-kind'
import type { Workspace } from './workspace/workspace'

/** All a tool gets to see: what was asked, who asks, the hub, its memory, and when to stop. */
export interface ToolContext<Input> {
  input: Input
  actor: Actor
  hub: ConversationDoor
  /** Of the agent that asks, and of no other. */
  memory: MemoryDoor
  /** Files of the account that asks, and of no other. */
  workspace: Workspace
  results: Pick<ResultStore, 'find'>
  /** Of the service that the tool names; the gateway opens it once the call is decided (M6). */
  outside: Connection | null
  signal: AbortSignal
  /** Says how far it is, to callers that want to know. */
  progress(text: string): void
}

/** All of a tool but how its arguments are read. */
interface ToolFacts<Input> {
  /** Without its server: `search`, `create_post`. */
  name: string
  /** For the model that decides whether to call it. */
  description: string
  /** Of all its calls, or of those whose grant has this shape: `{ 'http:*:read': 'read', ... }`. */
  tier: Tier | Readonly<Record<string, Tier>>
  /** A fixed grant, or one that depends on the arguments and the `shape` all of them have (M2). */
  grant: string | { shape: string; of(input: Input): string; isScoped?: boolean }
  /** Which service outside a call needs: the one with this name on the tool's own server. */
  service?(input: Input): string
  /** Running it again after a lost answer does no harm. */
  isIdempotent: boolean
  /** In words for people who watch: "searching the hub". */
  doing: string
  isSequential?: boolean
  timeoutMs?: number
  /** The answer: text as it is, anything else as JSON. Expected failures throw an `AppError`. */
  run(context: ToolContext<Input>): Promise<unknown>
}

interface ToolDeclaration<Schema extends z.ZodObject> extends ToolFacts<z.output<Schema>> {
  input: Schema
}

/** A call whose arguments are valid, and what it needs. */
export interface PreparedCall {
  ok: true
  grant: string
  tier: Tier
  /** The service to open for it; null: it stays inside. */
  service: string | null
  run(context: Omit<ToolContext<never>, 'input'>): Promise<unknown>
}

/** What some calls of a tool need: a pattern whose `*` each stand for one segment, and their tier. */
export interface CallShape {
  grant: string
  tier: Tier
}

/** A registered tool. Nothing runs but through `prepare`, so no stage can be left out. */
export interface Tool {
  name: string
  description: string
  /** The strongest that its calls have. */
  tier: Tier
  /** The grant, or the pattern that all its grants match. */
  grantShape: string
  /** All that its calls may need; their number of segments is that of every grant it asks for. */
  shapes: CallShape[]
  /** Only a pattern whose last segment names the resource gives it (M3). */
  isScoped: boolean
  isIdempotent: boolean
  isSequential: boolean
  doing: string
  timeoutMs: number
  /** JSON Schema of the arguments, built at first use. */
  readInputSchema(): Record<string, unknown>
  prepare(args: unknown): PreparedCall | { ok: false; problems: ErrorDetail[] }
}

/** A named set of tools; on the wire a tool is called `<server>_<tool>`. */
export interface ToolServer {
  /** Lower case letters and digits, so that the first underscore ends it. */
  name: string
  /** For clients that choose among servers. */
  description: string
  /**
   * Its tools reach nothing but the hub. Then what one of them reads may come together with the row
   * that decides about the call, which is a round trip less.
   */
  isHubOnly?: boolean
  /** Its tools are about an agent that this hub runs, and are for nobody else. */
  isForHosted?: boolean
  /** What it knows of the services that its tools name; a server that reaches outside has it. */
  services?: ServiceKind
  tools: Tool[]
}

/** The one way to make a tool of this code (M1). */
export function defineTool<Schema extends z.ZodObject>(declared: ToolDeclaration<Schema>): Tool {
  const { input: schema } = declared
  let inputSchema: Record<string, unknown> | null = null
  return buildTool<z.output<Schema>>(
    declared,
    () => {
      inputSchema ??= z.toJSONSchema(schema, { io: 'input' })
      return inputSchema
    },
    (args) => {
      const parsed = schema.safeParse(args)
      return parsed.success
        ? { ok: true, input: parsed.data }
        : { ok: false, problems: parsed.error.issues.map(toDetail) }
    },
  )
}

/** What all tools are made by, those of others' servers too: nothing runs but what was read and granted. */
export function buildTool<Input>(
  facts: ToolFacts<Input>,
  readInputSchema: () => Record<string, unknown>,
  readInput: (args: unknown) => { ok: true; input: Input } | { ok: false; problems: ErrorDetail[] },
): Tool {
  const { grant } = facts
  const grantShape = typeof grant === 'string' ? grant : grant.shape
  const shapes = listShapes(facts.tier, grantShape)
  const tier = strongestOf(shapes)
  return {
    name: facts.name,
    description: facts.description,
    ...{ tier, grantShape, shapes },
    isScoped: typeof grant !== 'string' && grant.isScoped === true,
    isIdempotent: facts.isIdempotent,
    isSequential: facts.isSequential ?? false,
    doing: facts.doing,
    timeoutMs: facts.timeoutMs ?? activationLimits.toolTimeoutMs,
    readInputSchema,
    prepare(args) {
      const read = readInput(args)
      if (!read.ok) return read
      const { input } = read
      const needed = typeof grant === 'string' ? grant : grant.of(input)
      return {
        ok: true,
        grant: needed,
        tier: shapes.find((shape) => meetShape(shape.grant, needed) !== null)?.tier ?? tier,
        service: facts.service?.(input) ?? null,
        run: (context) => facts.run({ ...context, input }),
      }
    },
  }
}

const listShapes = (tier: ToolFacts<never>['tier'], grant: string): CallShape[] =>
  typeof tier === 'string'
    ? [{ grant, tier }]
    : Object.entries(tier).map(([shape, each]) => ({ grant: shape, tier: each }))

const strongestOf = (shapes: CallShape[]): Tier =>
  tiers.findLast((tier) => shapes.some((shape) => shape.tier === tier)) ?? 'destructive'

/** In the order in which they weigh. */
export const tiers: readonly Tier[] = ['read', 'write', 'destructive']

const toDetail = (issue: z.core.$ZodIssue): ErrorDetail => ({
  path: issue.path.join('.'),
  message: issue.message,
})

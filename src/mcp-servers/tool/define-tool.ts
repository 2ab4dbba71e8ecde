import * as z from 'zod'
import type { Actor, ConversationApi, Privacy } from '../../hub/contract/hub'
import { type ErrorDetail, limitDetails } from '../../shared/errors'
import type { PostId } from '../../shared/ids'
import type { CurrentPart, MemoryApi, Tier } from '../contract/tools'
import type { Connection } from '../credentials/connection'
import type { ServiceKind } from '../services/check-service'
import type { ResultStore } from '../storage/result-store'
import type { Workspace } from '../storage/workspace'
import { intersectShape } from './grant-pattern'
import { readArguments } from './read-arguments'

/** Everything a tool can use during one call. */
export interface ToolContext<Input> {
  input: Input
  actor: Actor
  hub: ConversationApi
  /** The memory of the calling agent only. */
  memory: MemoryApi
  /** The files of the calling account only. */
  workspace: Workspace
  results: Pick<ResultStore, 'find'>
  /** Whose private data the call reads and writes. */
  privacy: Privacy
  /** Whether the run has read untrusted text. */
  hasReadUntrusted: boolean
  signal: AbortSignal
  /** Reports progress to callers that asked for it. */
  progress(text: string): void
}

/** What a tool that names a service can use. */
export interface ServiceContext<Input> extends ToolContext<Input> {
  /** The connection to the service, opened once the call is allowed. */
  outside: Connection
}

/** What the gateway gives to a call. */
interface CallContext extends Omit<ToolContext<never>, 'input'> {
  /** Null: the call names no service. */
  outside: Connection | null
}

/** What a run was started for. */
export interface RunTask {
  /** The thread it answers in; null: none. */
  postId: PostId | null
  isExploration: boolean
  /** What it saves is for its requester only. */
  isPrivate: boolean
  /** Name of its community, in which writes may stay, unless everybody reads it; null: none. */
  community: string | null
}

/** The properties of a tool, without its argument schema and what it does. */
interface ToolProperties<Input> {
  /** Without its server: `search`, `create_post`. */
  name: string
  /** Read by the model when it chooses a tool. */
  description: string
  /** One tier for all calls, or a tier for each grant shape: `{ 'http:*:read': 'read', ... }`. */
  tier: Tier | Readonly<Record<string, Tier>>
  /** A fixed grant, or one computed from the arguments, with the `shape` that all of them match. */
  grant: string | { shape: string; of(input: Input): string; isScoped?: boolean }
  /** Safe to repeat after a lost response. */
  isIdempotent: boolean
  /** Arguments that the tool passes on as JSON: their objects and lists keep numbers that JavaScript cannot hold. */
  exact?: readonly string[]
  /**
   * Whether a write stays within what the run was started for, so that it needs no approval when the
   * run has read untrusted text. Absent: no write does.
   */
  staysInTask?(input: Input, task: RunTask): boolean
  /** Whether its results can hold what anybody wrote, although it uses no service. */
  readsUntrusted?: boolean
  /** Activity text for the live view: "searching the hub". */
  doing: string
  /** Agents that this hub runs cannot use it: it would hold up their run. */
  isForOutside?: boolean
  /** Tools, by full name, that do the same as some of its calls: what a policy says about them holds for those. */
  actsAs?: { tools: readonly string[]; of(input: Input): string | null }
  isSequential?: boolean
  /** Its calls cost as much as a search of the hub, and count as one. */
  isSearch?: boolean
  /** Its calls answer as of a time: which parts of an answer are those of today. Absent: they do not. */
  asOf?(input: Input): readonly CurrentPart[]
  /** Absent: the time that every call has. */
  timeoutMs?: number
}

interface HubTool<Input> extends ToolProperties<Input> {
  service?: undefined
  /** Runs the tool. Text is returned unchanged, anything else as JSON. Expected failures throw an `AppError`. */
  run(context: ToolContext<Input>): Promise<unknown>
}

interface ServiceTool<Input> extends ToolProperties<Input> {
  /** Returns the name of the external service that a call needs, among those of the tool's server. */
  service(input: Input): string
  run(context: ServiceContext<Input>): Promise<unknown>
}

type ToolFacts<Input> = HubTool<Input> | ServiceTool<Input>

/** A call with valid arguments, and its required grant, tier and service. */
export interface PreparedCall {
  ok: true
  grant: string
  tier: Tier
  /** The arguments as they are read, for rules about them. */
  args: unknown
  /** The external service to connect to; null: none. */
  service: string | null
  /** The full name of the tool that does the same as this call; null or absent: none. */
  actsAs?: string | null
  /** The parts of its answer as of a time that are those of today. */
  current: readonly CurrentPart[]
  /** See `staysInTask` of the tool. */
  staysInTask(task: RunTask): boolean
  run(context: CallContext): Promise<unknown>
}

/** The grant pattern of some calls of a tool, where each `*` matches one segment, and their tier. */
export interface CallShape {
  grant: string
  tier: Tier
}

/** A registered tool. It only runs through `prepare`, so validation cannot be skipped. */
export interface Tool {
  name: string
  description: string
  /** The highest tier that a call can have. */
  tier: Tier
  /** The grant, or the pattern that all its grants match. */
  grantShape: string
  /** The grant shapes of all its calls. Every grant has as many segments as its shape. */
  shapes: CallShape[]
  /** Only grant patterns whose last segment names a resource allow it. */
  isScoped: boolean
  isIdempotent: boolean
  isSequential: boolean
  isSearch: boolean
  isForOutside: boolean
  /** Full names of the tools that do the same as some of its calls. */
  actsAs: readonly string[]
  readsUntrusted: boolean
  /** Its calls answer as of a time. Every other tool refuses a caller with `at`. */
  answersAsOf: boolean
  doing: string
  /** Null: the time that every call has. */
  timeoutMs: number | null
  /** JSON Schema of the arguments, built at first use. */
  readInputSchema(): Record<string, unknown>
  /** @param exact the same arguments, with numbers that JavaScript cannot hold as they were written; absent: there are none */
  prepare(args: unknown, exact?: unknown): PreparedCall | { ok: false; problems: ErrorDetail[] }
}

/** A named set of tools. Callers use the name `<server>_<tool>`. */
export interface ToolServer {
  /** Lower case letters and digits, so that the first underscore ends it. */
  name: string
  /** Read by clients that choose among servers. */
  description: string
  /** What it says about the use of its tools, as an admin accepted it. */
  instructions?: string
  /** Only agents that this hub runs can use its tools. */
  isForHosted?: boolean
  /** Its calls can use the account that a requester connected there. */
  isConnectable?: boolean
  /** Its tools write only what belongs to the calling account, and mark what a run after untrusted text writes. */
  isOwnStore?: boolean
  /** Defaults and checks of the server's external services; set on every server that uses any. */
  services?: ServiceKind
  tools: Tool[]
}

/** Creates a tool from its declaration. Every built-in tool is created here. */
export function defineTool<Schema extends z.ZodObject>(
  declared: ServiceTool<z.output<Schema>> & { input: Schema },
): Tool
export function defineTool<Schema extends z.ZodObject>(
  declared: HubTool<z.output<Schema>> & { input: Schema },
): Tool
export function defineTool<Schema extends z.ZodObject>(
  declared: ToolFacts<z.output<Schema>> & { input: Schema },
): Tool {
  const { input: schema } = declared
  let inputSchema: Record<string, unknown> | null = null
  return buildTool<z.output<Schema>>(
    declared,
    () => {
      inputSchema ??= z.toJSONSchema(schema, { io: 'input' })
      return inputSchema
    },
    (args, exact) => {
      const read = readArguments(schema, args)
      return read.ok
        ? { ok: true, input: withExact(read.input, exact, declared.exact), args: read.args }
        : { ok: false, problems: limitDetails(read.issues.map(toDetail)) }
    },
  )
}

/** Returns arguments where objects and lists of some are as they were written, with every digit of their numbers. */
function withExact<Input extends object>(
  input: Input,
  exact: unknown,
  names: readonly string[] = [],
): Input {
  const given = typeof exact === 'object' && exact !== null ? exact : {}
  const kept = names.filter((name) => {
    const value: unknown = Reflect.get(input, name)
    return typeof value === 'object' && value !== null && Object.hasOwn(given, name)
  })
  if (kept.length === 0) return input
  return { ...input, ...Object.fromEntries(kept.map((name) => [name, Reflect.get(given, name)])) }
}

/**
 * Creates a tool from its properties, its JSON Schema and a function that validates arguments. Used for
 * built-in tools and for tools of remote servers.
 */
export function buildTool<Input>(
  facts: ToolFacts<Input>,
  readInputSchema: () => Record<string, unknown>,
  readInput: (
    args: unknown,
    exact: unknown,
  ) => { ok: true; input: Input; args: unknown } | { ok: false; problems: ErrorDetail[] },
): Tool {
  const { grant } = facts
  const grantShape = typeof grant === 'string' ? grant : grant.shape
  const shapes = listShapes(facts.tier, grantShape)
  const tier = highestTierOf(shapes)
  return {
    name: facts.name,
    description: facts.description,
    tier,
    grantShape,
    shapes,
    isScoped: typeof grant !== 'string' && grant.isScoped === true,
    isIdempotent: facts.isIdempotent,
    isSequential: facts.isSequential ?? false,
    isSearch: facts.isSearch ?? false,
    isForOutside: facts.isForOutside ?? false,
    actsAs: facts.actsAs?.tools ?? [],
    readsUntrusted: facts.readsUntrusted ?? false,
    answersAsOf: facts.asOf !== undefined,
    doing: facts.doing,
    timeoutMs: facts.timeoutMs ?? null,
    readInputSchema,
    prepare(args, exact = args) {
      const read = readInput(args, exact)
      if (!read.ok) return read
      const { input } = read
      const needed = typeof grant === 'string' ? grant : grant.of(input)
      return {
        ok: true,
        grant: needed,
        args: read.args,
        tier: shapes.find((shape) => intersectShape(shape.grant, needed) !== null)?.tier ?? tier,
        service: facts.service?.(input) ?? null,
        actsAs: facts.actsAs?.of(input) ?? null,
        current: facts.asOf?.(input) ?? [],
        staysInTask: (task) => facts.staysInTask?.(input, task) ?? false,
        run: (context) => runTool(facts, context, input),
      }
    },
  }
}

/** Runs a tool; one that names a service always has its connection. */
function runTool<Input>(
  facts: ToolFacts<Input>,
  { outside, ...context }: CallContext,
  input: Input,
): Promise<unknown> {
  if (!facts.service) return facts.run({ ...context, input })
  if (!outside) throw new Error('The gateway opens the service first.')
  return facts.run({ ...context, input, outside })
}

const listShapes = (tier: ToolFacts<never>['tier'], grant: string): CallShape[] =>
  typeof tier === 'string'
    ? [{ grant, tier }]
    : Object.entries(tier).map(([shape, each]) => ({ grant: shape, tier: each }))

const highestTierOf = (shapes: CallShape[]): Tier =>
  tiers.findLast((tier) => shapes.some((shape) => shape.tier === tier)) ?? 'destructive'

/** The tiers, lowest first. */
export const tiers: readonly Tier[] = ['read', 'write', 'destructive']

const toDetail = (issue: z.core.$ZodIssue): ErrorDetail => ({
  path: issue.path.join('.'),
  message: issue.message,
})

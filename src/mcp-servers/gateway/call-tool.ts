import {
  type Actor,
  type AuditEntry,
  type AuthorizationQuery,
  type ConversationApi,
  type GrantPolicy,
  noPrivacy,
} from '../../hub/contract/hub'
import { activationLimits, audit } from '../../shared/config'
import { isLongerThan } from '../../shared/cut-text'
import type { ErrorDetail } from '../../shared/errors'
import { hashArguments, parseLosslessJson } from '../../shared/exact-json'
import type { MemoryApi, ToolCall, ToolCaller, ToolResult } from '../contract/tools'
import { AccountMissingError } from '../credentials/connection'
import { emptyScrubber, type Scrubber } from '../credentials/scrub'
import { resultsReadName } from '../servers/results'
import { NotRecordedError } from '../tool/not-recorded'
import {
  checkCall,
  judgePolicy,
  type Refusal,
  requireApproval,
  toApprovalRequest,
} from './check-call'
import { decide, findAccountOwner, gatewayErrors } from './decide'
import {
  type AccountStores,
  isExternalCaller,
  type PendingCall,
  type Pipeline,
  watchReads,
} from './pipeline'
import { findSimilarNames, type NamedTool } from './registry'
import { runTool, type ToolRun, toResult } from './run-tool'

/** The link between a running call and its caller. */
interface CallerLink {
  /** Aborts when the caller cancels. */
  signal: AbortSignal
  progress(text: string): void
}

/**
 * Runs one call through all stages: find, validate, resolve the grant, decide, record the intent, run,
 * truncate, audit. Never throws: a failure becomes a result that the model can read.
 */
export async function callTool(
  pipeline: Pipeline,
  caller: ToolCaller,
  call: ToolCall,
  link: CallerLink,
): Promise<ToolResult> {
  const entry: AuditEntry = {
    callId: call.callId,
    tool: call.tool.slice(0, 64),
    grant: '',
    argumentsHash: '',
    ...(isExternalCaller(caller) && { arguments: call.arguments }),
    decision: 'denied',
    outcome: null,
    durationMs: null,
    resultBytes: null,
    at: pipeline.clock.now(),
  }
  try {
    return await runStages(pipeline, caller, call, link, entry)
  } catch (cause) {
    pipeline.reportFailure?.(entry.tool, cause)
    return toResult(pipeline, entry, {
      outcome: 'error',
      text: `Error: ${entry.tool} did not run, because the hub could not check or record the call. Try again later.`,
    })
  }
}

async function runStages(
  pipeline: Pipeline,
  caller: ToolCaller,
  call: ToolCall,
  link: CallerLink,
  entry: AuditEntry,
): Promise<ToolResult> {
  const refuse = async (decision: AuditEntry['decision'], text: string) => {
    entry.decision = decision
    await recordIntent(pipeline, caller, entry)
    return toResult(pipeline, entry, { outcome: null, text })
  }
  const args = readArguments(call.arguments)
  entry.argumentsHash = await hashArguments(call.arguments, args.ok ? args.exact : undefined)

  const found = await findTool(pipeline, caller, call.tool)
  if (!found.tool) return refuse('unknown_tool', describeUnknown(found, caller, entry.tool))
  const { tool } = found

  const prepared = args.ok ? tool.prepare(args.value, args.exact) : args
  if (!prepared.ok) return refuse('invalid', describeProblems(tool.name, prepared.problems))
  entry.grant = prepared.grant

  return runDecided({
    pipeline,
    caller,
    tool,
    prepared,
    entry,
    reads: createReads(pipeline, caller),
    ...link,
    raw: call.arguments,
    args: prepared.args,
  })
}

/** Returns why a call of a tool is refused whatever was approved and however often it runs; null: it is not. */
export function findRefusal(
  tool: NamedTool,
  caller: ToolCaller,
  policy: GrantPolicy,
  raw: string,
): string | null {
  const args = readArguments(raw)
  const prepared = args.ok ? tool.prepare(args.value, args.exact) : args
  if (prepared.ok) {
    return judgePolicy({ caller, tool, prepared, args: prepared.args }, policy)?.text ?? null
  }
  const { isAllowed, reason } = decide(policy, caller, tool)
  return isAllowed ? null : `Error: ${tool.name} is not granted: ${reason}.`
}

type ToolLookup = { tool: NamedTool } | { tool: null; policy: GrantPolicy; tools: NamedTool[] }

/** Finds a tool by name. Reloads remote tools first when they changed, so that a hidden one is not found. */
async function findTool(
  { tools, hub }: Pipeline,
  caller: ToolCaller,
  name: string,
): Promise<ToolLookup> {
  const own = tools.getOwn(name)
  if (own) return { tool: own }
  const policy = await hub.readPolicy(caller.accountId, caller.activationId)
  await tools.refresh(policy)
  const tool = tools.get(name)
  return tool ? { tool } : { tool: null, policy, tools: tools.all() }
}

/** Formats the error for an unknown tool, with similar names among the tools that the caller can use. */
function describeUnknown(
  { policy, tools }: Extract<ToolLookup, { tool: null }>,
  caller: ToolCaller,
  name: string,
): string {
  const usable = tools.filter((tool) => decide(policy, caller, tool).isAllowed)
  const near = findSimilarNames(
    name,
    usable.map((tool) => tool.name),
  )
  return `Error: Unknown tool ${name}.${near.length > 0 ? ` Did you mean ${near.join(' or ')}?` : ''}`
}

type Arguments =
  | {
      ok: true
      value: unknown
      /** The same, with numbers that JavaScript cannot hold as they were written. */
      exact: unknown
    }
  | { ok: false; problems: ErrorDetail[] }

/** Parses the arguments that the model wrote. Empty text means no arguments. */
export function readArguments(raw: string): Arguments {
  if (raw.trim() === '') return { ok: true, value: {}, exact: {} }
  try {
    return { ok: true, value: JSON.parse(raw), exact: parseLosslessJson(raw) }
  } catch {
    return { ok: false, problems: [{ path: '', message: 'The arguments are not valid JSON' }] }
  }
}

/** Formats invalid arguments for the model: one line with each field and its problem. */
function describeProblems(tool: string, problems: ErrorDetail[]): string {
  const lines = problems
    .slice(0, 10)
    .map(({ path, message }) => (path ? `${path}: ${message}` : message))
  return `Error: Invalid arguments for ${tool}: ${lines.join('; ')}.`
}

/** Decides about a call, then runs it. The tool reads nothing before the decision. */
async function runDecided(asked: PendingCall): Promise<ToolResult> {
  const { pipeline, caller, tool } = asked
  const refusal = await checkCall(asked, await pipeline.hub.readAuthorization(toQuestion(asked)))
  if (refusal) return refuse(asked, refusal)
  if (caller.at !== undefined && !tool.answersAsOf) return refuseAsOf(asked)
  const noted = await noteAllowed(asked)
  if (!noted) return refuse(asked, await requireApproval(asked))
  const result = await finish(asked, await run(asked))
  if (noted.intent) await recordOutcome(pipeline, noted.intent, result.audit)
  return result
}

/**
 * Records the intent of an allowed call and consumes its approval, so that a call that does not run
 * keeps it. Null: another call consumed the approval first.
 */
async function noteAllowed(asked: PendingCall): Promise<{ intent: string | null } | null> {
  const { pipeline, caller, entry, approvalId } = asked
  entry.decision = 'allowed'
  if (approvalId === undefined) return { intent: await recordIntent(pipeline, caller, entry) }
  const { accountId, activationId } = caller
  const used = await pipeline.hub.consumeApproval(approvalId, accountId, entry, activationId)
  return used && { intent: used.id }
}

const toQuestion = ({ caller, tool, entry }: PendingCall): AuthorizationQuery => ({
  accountId: caller.accountId,
  activationId: isExternalCaller(caller) ? null : caller.activationId,
  runId: caller.activationId,
  callId: entry.callId,
  tool: tool.name,
  argumentsHash: entry.argumentsHash,
})

async function refuse(asked: PendingCall, refusal: Refusal): Promise<ToolResult> {
  const { pipeline, caller, entry } = asked
  entry.decision = refusal.decision
  entry.reason = refusal.text.replace(/^Error: /, '').slice(0, audit.reasonCharsMax)
  await recordIntent(pipeline, caller, entry)
  const result = toResult(pipeline, entry, { outcome: null, text: refusal.text })
  // A program waits for the decision; another outside caller repeats the call.
  const canWait = !isExternalCaller(caller) || caller.runAttempt !== undefined
  const isParking = refusal.decision === 'needs_approval' && canWait
  return isParking ? { ...result, approval: toApprovalRequest(asked) } : result
}

/** Refuses an allowed call that would write, or that asks what is not known as of the caller's time. */
function refuseAsOf({ pipeline, tool, prepared, entry }: PendingCall): ToolResult {
  entry.decision = 'allowed'
  const isWrite = prepared.tier !== 'read'
  const why = isWrite ? 'writes, and nothing is written' : 'does not answer'
  const text = `Error: Not recorded: ${tool.name} ${why} as of an earlier time.`
  const result = toResult(pipeline, entry, { outcome: null, text })
  return { ...result, notAsOf: isWrite ? 'would_write' : 'not_recorded' }
}

function run(asked: PendingCall): Promise<ToolRun> {
  const { caller, tool, prepared, entry, signal, progress } = asked
  const { hub } = asked.reads
  const actor = toActor(caller, entry.callId)
  if (prepared.service === null) {
    const own = selectOwn(asked)
    return runTool(tool.name, findTimeout(asked.pipeline, tool), signal, (stop) =>
      prepared.run({ actor, hub, ...own, outside: null, signal: stop, progress }),
    )
  }
  return runWithService(asked, { server: tool.server, service: prepared.service, actor, hub })
}

async function finish(asked: PendingCall, ran: ToolRun): Promise<ToolResult> {
  const { pipeline, tool, entry } = asked
  const isUnknown = ran.cause instanceof NotRecordedError
  if (ran.cause !== undefined && !isUnknown) pipeline.reportFailure?.(tool.name, ran.cause)
  const result = toResult(pipeline, entry, ran, await storeResult(asked, ran.text))
  const reads = asked.reads.list()
  const isUntrusted = tool.reachesOut || tool.readsUntrusted || asked.reads.hasUntrusted()
  return {
    ...result,
    // An error can quote what a service answered.
    ...(isUntrusted && { isUntrusted: true }),
    ...(isPrivateResult(asked) && { isPrivate: true }),
    ...(asked.usesOwnAccount && { isOwnAccount: true }),
    ...(isUnknown ? { notAsOf: 'not_recorded' } : presentAsOf(asked, ran)),
    ...(reads && { reads }),
  }
}

/** Marks an answer as of a time. */
const presentAsOf = ({ caller: { at }, prepared }: PendingCall, { outcome }: ToolRun) =>
  at !== undefined && outcome === 'ok' ? { asOf: { at, current: prepared.current } } : {}

function toActor(caller: ToolCaller, callId: string): Actor {
  const { accountId, name, kind, activationId, postId, hasReadUntrusted, at } = caller
  const idempotencyKey = activationId === null ? null : `${activationId}:${callId}`
  const mark = hasReadUntrusted ? { hasReadUntrusted } : {}
  const asOf = at === undefined ? {} : { at }
  return { accountId, name, kind, activationId, postId, idempotencyKey, ...mark, ...asOf }
}

interface ServiceTarget {
  server: string
  service: string
  actor: Actor
  hub: ConversationApi
}

/**
 * Runs a tool that uses an external service. The call is allowed already; the credential is looked up
 * now and redacted from results, progress and errors.
 */
async function runWithService(asked: PendingCall, target: ServiceTarget): Promise<ToolRun> {
  const { pipeline, tool, prepared, signal } = asked
  const { actor, hub } = target
  let scrubber = emptyScrubber
  const ran = await runTool(tool.name, findTimeout(pipeline, tool), signal, async (stop) => {
    if (!pipeline.connect) throw gatewayErrors.noConnections()
    const owner = findAccountOwner(asked.policy, prepared.grant)
    if (owner !== null) {
      // Before anything of the account is read, so that nobody else reads it in the trace.
      const { activationId } = asked.caller
      if (activationId !== null) await pipeline.hub.markOwnAccount(activationId)
      asked.usesOwnAccount = true
    }
    const opened = await pipeline.connect({ ...target, owner, signal: stop })
    scrubber = opened.scrubber
    const own = selectOwn(asked)
    const clean = scrubber.parts()
    // Progress is sent to watchers whose access was decided before.
    const progress = owner === null ? (text: string) => asked.progress(clean(text)) : () => {}
    const context = { actor, hub, ...own, outside: opened.connection, signal: stop, progress }
    // Redact each text before it becomes JSON, which would escape it a second time.
    return scrubber.value(await prepared.run(context))
  })
  const { cause } = ran
  // The thread offers the requester to connect the account.
  if (cause instanceof AccountMissingError) asked.entry.reason = cause.message
  return {
    outcome: ran.outcome,
    text: scrubber.text(ran.text),
    ...(cause !== undefined && { cause: scrubCause(cause, scrubber) }),
  }
}

/** Redacts the credential from an error for the operator's log. */
function scrubCause(cause: unknown, scrubber: Scrubber): unknown {
  if (!(cause instanceof Error)) return scrubber.value(cause)
  const inner = cause.cause === undefined ? undefined : scrubCause(cause.cause, scrubber)
  const clean = new Error(scrubber.text(cause.message), { cause: inner })
  clean.name = cause.name
  clean.stack = scrubber.text(cause.stack ?? '')
  return clean
}

/**
 * Stores a result that is too large for one response, if the caller can read stored results. Its
 * credentials are redacted already. A result with private data is private, also in a public run. In a closed
 * community it would be for all who read there, so one of a requester's own account is not stored.
 *
 * @returns the handle; null when the result is not stored
 */
async function storeResult(asked: PendingCall, text: string): Promise<string | null> {
  const { pipeline, caller, tool, policy } = asked
  if (!isLongerThan(text, pipeline.resultBytesMax) || caller.at !== undefined) return null
  const reader = pipeline.tools.getOwn(resultsReadName)
  if (!policy || !reader || !decide(policy, caller, reader).isAllowed) return null
  try {
    const { reader, privateTo, community } = caller.privacy ?? noPrivacy
    if (asked.usesOwnAccount && community !== undefined) return null
    const owner = isPrivateResult(asked) ? reader : privateTo
    return await pipeline.results.keep(caller.accountId, text, owner)
  } catch (cause) {
    pipeline.reportFailure?.(tool.name, cause)
    return null
  }
}

/** Whether the result of a call is for the requester alone. */
const isPrivateResult = ({ reads, usesOwnAccount }: PendingCall): boolean =>
  reads.hasPrivate() || usesOwnAccount === true

/** Returns the time in milliseconds that a call of the tool has. */
const findTimeout = (
  { toolTimeoutMs }: Pick<Pipeline, 'toolTimeoutMs'>,
  { timeoutMs }: { timeoutMs: number | null },
): number => timeoutMs ?? toolTimeoutMs ?? activationLimits.toolTimeoutMs

/** Returns the memory, files and stored results of the calling account. */
const selectAccountStores = (
  { memory, workspaceOf, results }: Pipeline,
  { accountId, privacy = noPrivacy, hasReadUntrusted = false }: ToolCaller,
): AccountStores => ({
  memory,
  workspace: workspaceOf(accountId, privacy, hasReadUntrusted),
  results,
})

/** Returns what a call reads from: for one as of a time, what knows it. */
function createReads(pipeline: Pipeline, caller: ToolCaller): PendingCall['reads'] {
  const stores = selectAccountStores(pipeline, caller)
  if (caller.at === undefined) return watchReads(pipeline.hub, stores)
  const memory = toPastMemory(stores.memory)
  return watchReads(toPastHub(pipeline.hub), { ...stores, memory })
}

/**
 * Records the intent of an external call before it runs, as the caller has no journal; throws when that
 * fails. A hosted agent has journaled the call already, so null is returned.
 */
async function recordIntent(
  { hub }: Pipeline,
  caller: ToolCaller,
  entry: AuditEntry,
): Promise<string | null> {
  if (!isExternalCaller(caller)) return null
  return (await hub.recordIntent(caller.accountId, entry, caller.activationId)).id
}

/** Records the outcome of a call that has run. A failure to do so is reported and leaves the outcome open. */
async function recordOutcome(pipeline: Pipeline, intent: string, entry: AuditEntry): Promise<void> {
  const { outcome, durationMs, resultBytes } = entry
  try {
    await pipeline.hub.recordResult(intent, { outcome, durationMs, resultBytes })
  } catch (cause) {
    pipeline.reportFailure?.(entry.tool, cause)
  }
}

/** Returns the part of a tool's context that belongs to the account and its run. */
const selectOwn = ({ reads, caller }: PendingCall) => ({
  ...reads.stores,
  privacy: caller.privacy ?? noPrivacy,
  hasReadUntrusted: caller.hasReadUntrusted ?? false,
})

/*
 * What the tools of a caller with `at` can use. Methods that know no earlier values, and all that write, refuse, so
 * that a tool cannot mix what is with what was.
 */

const refusePast = async (): Promise<never> => {
  throw new NotRecordedError()
}

/** Returns the hub's API for actors with `at`. */
const toPastHub = ({ search, readThread, readFeed }: ConversationApi): ConversationApi => ({
  search,
  readThread,
  readFeed,
  discover: refusePast,
  readProfile: refusePast,
  readCommunity: refusePast,
  readInbox: refusePast,
  readBudgets: refusePast,
  createPost: refusePast,
  createComment: refusePast,
  vote: refusePast,
  sendDm: refusePast,
  findAnswer: refusePast,
})

/** Returns the memory for calls as of a time. */
const toPastMemory = ({ listFacts }: MemoryApi): MemoryApi => ({
  listFacts,
  rememberFact: refusePast,
  forgetFact: refusePast,
  addTask: refusePast,
  completeTask: refusePast,
  readSkill: refusePast,
})

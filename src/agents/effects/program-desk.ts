import type { ApprovalRequest } from '../../hub/contract/hub'
import type {
  ProgramCall,
  ProgramCallRecorder,
  ProgramCallResult,
} from '../../mcp-servers/contract/program-calls'
import { codingAgents } from '../../shared/config'
import type { ActivationId } from '../../shared/ids'
import type { RunReport } from '../../shared/runner-protocol'
import type {
  ModelRequestAdmission,
  ModelRequestArbiter,
  ModelRequestFacts,
  ModelRequestResult,
  RunReceiver,
} from '../contract/coding-agents'
import { programs } from '../definitions/executors'
import { findCallsMax } from '../loop/admit-calls'
import type { LoopEvent, LoopEventOf, StoredReport } from '../loop/event'
import { hasUsedOwnAccount } from '../loop/privacy'
import { countReportChars, findParking, findWorking, isParking, listWaiting } from '../loop/program'
import type { OpenCall, ProgramState } from '../loop/state'
import { listDecidedCalls } from '../loop/transcript'
import { admitRequest, toRequestCharge } from './admit-request'
import { type EffectContext, notifyWatchers, readWork, resolveModel } from './effect-context'

/**
 * What runners, the model gateway and the MCP server talk to about a running program. Everything becomes an event of
 * the loop, which decides; what the loop ignores is refused.
 */
export class ProgramDesk implements RunReceiver, ModelRequestArbiter, ProgramCallRecorder {
  readonly #context: EffectContext
  readonly #apply: (event: LoopEvent) => void
  /** Calls that wait for an approval. */
  readonly waits: ProgramWaits
  /** Requests are admitted one after the other: each reserves beside the open ones. */
  #queue: Promise<unknown> = Promise.resolve()

  constructor(context: EffectContext, apply: (event: LoopEvent) => void) {
    this.#context = context
    this.#apply = apply
    this.waits = new ProgramWaits(context, apply)
  }

  /** Returns the program of the activation, if it is the current one of this agent. */
  #find(activationId: ActivationId): ProgramState | null {
    const { state } = this.#context.getActivation()
    return state.activationId === activationId ? state.program : null
  }

  #findWorking(activationId: ActivationId, attempt?: number): ProgramState | null {
    const { state } = this.#context.getActivation()
    return state.activationId === activationId ? findWorking(state, attempt) : null
  }

  get #now(): number {
    return this.#context.deps.clock.now()
  }

  async receiveReports(
    activationId: ActivationId,
    attempt: number,
    first: number,
    reports: RunReport[],
  ): Promise<{ stored: number } | null> {
    if (this.#find(activationId)?.attempt !== attempt || !this.#isOpen()) return null
    const saved = await savePatches(this.#context, { activationId, attempt }, reports)
    return this.#storeReports(activationId, attempt, first, saved)
  }

  #storeReports(
    activationId: ActivationId,
    attempt: number,
    first: number,
    reports: RunReport[],
  ): { stored: number } | null {
    const before = this.#find(activationId)
    if (before?.attempt !== attempt || !this.#isOpen()) return null
    const news = reports.slice(Math.max(0, before.reports + 1 - first))
    // a gap: what is missing has to come first
    if (first > before.reports + 1) return { stored: before.reports }
    let next = before.reports + 1
    const stored = toStoredReports(news, before.chars)
    for (const part of splitReports(stored)) {
      this.#apply({
        type: 'program_reported',
        at: this.#now,
        attempt,
        first: next,
        reports: part,
      })
      next += part.length
    }
    showReports(this.#context, stored)
    return { stored: Math.max(before.reports, first + reports.length - 1) }
  }

  /** Whether the program works or is being closed. */
  #isOpen(): boolean {
    const { state } = this.#context.getActivation()
    return state.phase === 'closing' || findWorking(state) !== null
  }

  async loseRun(activationId: ActivationId, attempt: number, reason: string): Promise<void> {
    if (!this.#find(activationId)) return
    this.#apply({ type: 'program_lost', at: this.#now, attempt, reason: reason.slice(0, 500) })
  }

  async noteToolsListed(activationId: ActivationId, attempt?: number): Promise<void> {
    const program = this.#findWorking(activationId, attempt)
    if (program) this.#apply({ type: 'tools_listed', at: this.#now, attempt: program.attempt })
  }

  async readRunModel(activationId: ActivationId): ReturnType<ModelRequestArbiter['readRunModel']> {
    if (!this.#findWorking(activationId)) return null
    const read = await readWork(this.#context, 0)
    if (!read.ok) return null
    const { facts, definition } = read.work
    const {
      id: model,
      contextTokens,
      outputTokensMax,
    } = resolveModel(this.#context, definition, facts).model
    const outputTokens = Math.min(outputTokensMax, definition.limits.outputTokens)
    return { model, contextTokens, outputTokens }
  }

  admitRequest(
    activationId: ActivationId,
    facts: ModelRequestFacts,
  ): Promise<ModelRequestAdmission> {
    const isCurrent = () => this.#findWorking(activationId, facts.attempt) !== null
    const admission = this.#queue.then(() =>
      admitRequest(this.#context, facts, { isCurrent, apply: this.#apply }),
    )
    this.#queue = admission.catch(() => undefined)
    return admission
  }

  async settleRequest(
    activationId: ActivationId,
    request: number,
    result: ModelRequestResult,
  ): Promise<void> {
    const find = () => this.#find(activationId)?.open.find((each) => each.request === request)
    if (!find()) return
    const read = await readWork(this.#context, 0)
    const open = find()
    if (!open) return
    const { startedAt } = open
    const model = read.ok
      ? resolveModel(this.#context, read.work.definition, read.work.facts).model
      : null
    const at = this.#now
    const { status, finish, usage, problem } = result
    this.#apply({
      type: 'request_settled',
      at,
      request,
      startedAt,
      status,
      finish,
      usage,
      charge: toRequestCharge(model, open, result, at - startedAt),
      problem: problem?.slice(0, 2_000) ?? null,
    })
  }

  async beginCall(
    activationId: ActivationId,
    call: ProgramCall,
    attempt?: number,
  ): ReturnType<ProgramCallRecorder['beginCall']> {
    const program = this.#findWorking(activationId, attempt)
    const { state, events } = this.#context.getActivation()
    if (!program) {
      const parking = state.activationId === activationId ? findParking(state) : null
      const mayPush = call.isPush && parking !== null && parking.attempt === attempt
      return mayPush ? { kind: 'run' } : { kind: 'refused', text: 'Error: This run is over.' }
    }
    const callsMax = findCallsMax(state.limits)
    if (state.toolCalls >= callsMax) {
      return {
        kind: 'refused',
        text: `Error: at most ${callsMax} tool calls are run for one task.`,
      }
    }
    const at = this.#now
    const { callId, tool: name, arguments: args, isWrite } = call
    const recorded = call.isPush ? null : findRecorded(events, program.attempt, call)
    const event = { at, callId, name, arguments: args, attempt: program.attempt }
    // a call that does not run cannot be in doubt
    this.#apply({ ...event, type: 'program_called', isWrite: isWrite && recorded === null })
    if (recorded === null) {
      notifyWatchers(
        this.#context,
        this.#context.deps.tools.describe(name)?.doing ?? 'using a tool',
      )
      return { kind: 'run' }
    }
    const { text, isError } = recorded
    const returned = { ...recorded, type: 'program_call_returned', at, startedAt: at } as const
    this.#apply({ ...returned, durationMs: 0, callId, isRecorded: true })
    return { kind: 'recorded', text, isError }
  }

  awaitApproval(
    ...wait: Parameters<ProgramCallRecorder['awaitApproval']>
  ): ReturnType<ProgramCallRecorder['awaitApproval']> {
    return this.waits.wait(...wait)
  }

  async endWait(
    ...wait: Parameters<ProgramCallRecorder['endWait']>
  ): ReturnType<ProgramCallRecorder['endWait']> {
    return this.waits.end(...wait)
  }

  async endCall(
    activationId: ActivationId,
    callId: string,
    result: ProgramCallResult,
  ): Promise<void> {
    if (!this.#find(activationId)) return
    const at = this.#now
    this.#apply({
      ...result,
      type: 'program_call_returned',
      at,
      callId,
      startedAt: at - result.durationMs,
    })
    if (this.#findWorking(activationId)) notifyWatchers(this.#context, 'working')
  }
}

/**
 * The calls of a program that wait for an approval. Each is a request of the MCP server that stays open; when
 * something may have changed, it looks at the approval.
 */
class ProgramWaits {
  readonly #context: EffectContext
  readonly #apply: (event: LoopEvent) => void
  #news = Promise.withResolvers<void>()

  constructor(context: EffectContext, apply: (event: LoopEvent) => void) {
    this.#context = context
    this.#apply = apply
  }

  /** Lets every waiting call look at its approval. */
  noteNews(): void {
    this.#news.resolve()
    this.#news = Promise.withResolvers()
  }

  /** @see ProgramCallRecorder.awaitApproval */
  async wait(
    activationId: ActivationId,
    callId: string,
    approval: ApprovalRequest,
    attempt?: number,
  ): ReturnType<ProgramCallRecorder['awaitApproval']> {
    const { clock } = this.#context.deps
    const program = this.#find(activationId, attempt)
    const call = program?.calls.find((each) => each.callId === callId)
    if (!program || !call) return this.#isParking(activationId) ? 'parked' : 'over'
    if (call.wait?.approvalId !== approval.callId) this.#begin(program, call, approval)
    const until = this.#findWait(activationId, callId, attempt)?.until
    if (until === undefined) return 'over'
    const ms = Math.min(until - clock.now(), codingAgents.approvalLookMs)
    const timer = new AbortController()
    if (ms > 0) {
      const wait = scheduler.wait(ms, { signal: timer.signal }).catch(() => undefined)
      await Promise.race([this.#news.promise, wait])
      timer.abort()
    }
    if (clock.now() >= until) this.#end(activationId, attempt)
    if (this.#findWait(activationId, callId, attempt)) return 'look'
    return this.#isParking(activationId) ? 'parked' : 'over'
  }

  /** @see ProgramCallRecorder.endWait */
  end(activationId: ActivationId, callId: string, attempt?: number): 'run' | 'parked' | 'over' {
    const program = this.#find(activationId, attempt)
    if (!program || !this.#findWait(activationId, callId, attempt)) {
      return this.#isParking(activationId) ? 'parked' : 'over'
    }
    const at = this.#context.deps.clock.now()
    this.#apply({ type: 'program_call_decided', at, attempt: program.attempt, callId })
    notifyWatchers(this.#context, 'working')
    return 'run'
  }

  #begin({ type, attempt }: ProgramState, { callId }: OpenCall, approval: ApprovalRequest): void {
    const { deps, getActivation } = this.#context
    const at = deps.clock.now()
    // the other half of the time is for what the program does with the answer
    const left = Math.max(0, getActivation().state.endsAt - at) / 2
    const until = at + Math.min(programs[type].callWaitMs, deps.approvalWaitMs, left)
    this.#apply({ type: 'program_call_waits', at, attempt, callId, approval, until })
    notifyWatchers(this.#context, 'waiting for approval')
  }

  #end(activationId: ActivationId, attempt?: number): void {
    const program = this.#find(activationId, attempt)
    const at = this.#context.deps.clock.now()
    if (program) this.#apply({ type: 'approval_overdue', at, attempt: program.attempt })
  }

  #find(activationId: ActivationId, attempt?: number): ProgramState | null {
    const { state } = this.#context.getActivation()
    return state.activationId === activationId ? findWorking(state, attempt) : null
  }

  #findWait(activationId: ActivationId, callId: string, attempt?: number): OpenCall['wait'] {
    const program = this.#find(activationId, attempt)
    return program ? listWaiting(program).find((each) => each.callId === callId)?.wait : undefined
  }

  /** Whether the run parks or is parked; an object that has taken other work since answers that it is over. */
  #isParking(activationId: ActivationId): boolean {
    const { state } = this.#context.getActivation()
    return state.activationId === activationId && state.program !== null && isParking(state.program)
  }
}

/** What a call returned in an earlier attempt. */
type RecordedResult = Pick<
  LoopEventOf<'program_call_returned'>,
  'text' | 'isError' | 'resultBytes' | 'grant' | 'decision'
> &
  Pick<
    LoopEventOf<'program_call_returned'>,
    'isUntrusted' | 'isPrivate' | 'isOwnAccount' | 'isExcerpt' | 'reads'
  >

/**
 * Returns the result of the same call in an earlier attempt, for a program that makes it again after a loss or after
 * a wait for approval; null when there is none. That is the result of a write, or of a call that was decided while
 * the run was parked. Each result stands for one call of an attempt.
 */
function findRecorded(
  events: LoopEvent[],
  attempt: number,
  { tool, arguments: args }: Pick<ProgramCall, 'tool' | 'arguments'>,
): RecordedResult | null {
  const isSame = (event: LoopEvent): event is LoopEventOf<'program_called'> =>
    event.type === 'program_called' && event.name === tool && event.arguments === args
  const same = events.filter(isSame)
  const decided = listDecidedCalls(events)
  const results = same
    .filter((call) => call.attempt < attempt)
    .flatMap((call): RecordedResult[] => {
      const late = decided.get(call.callId)
      if (late) return [{ ...late, resultBytes: late.text.length, grant: null }]
      const returned = call.isWrite ? findReturned(events, call.callId) : null
      return returned ? [returned] : []
    })
  const used = same.filter((call) => call.attempt === attempt).length
  return results[used] ?? null
}

/** Returns what a call returned that ran while its program waited for it; null when it was not allowed to. */
function findReturned(
  events: LoopEvent[],
  callId: string,
): LoopEventOf<'program_call_returned'> | null {
  const found = events.find(
    (event) => event.type === 'program_call_returned' && event.callId === callId,
  )
  return found?.type === 'program_call_returned' && found.decision === 'allowed' ? found : null
}

/**
 * Stores the patch of an attempt's last report, masked as traces are, and returns the reports with what was stored.
 * A patch that cannot be stored is left out: the answer matters more.
 */
async function savePatches(
  { deps, agentId }: EffectContext,
  run: { activationId: ActivationId; attempt: number },
  reports: RunReport[],
): Promise<RunReport[]> {
  return Promise.all(
    reports.map(async (report) => {
      if (report.kind !== 'ended' || !report.changes?.patch) return report
      const { changes } = report
      const patch = deps.mask(changes.patch).toWellFormed()
      try {
        await deps.patches.save({ agentId, ...run }, patch)
        return { ...report, changes: { ...changes, patch } }
      } catch (error) {
        deps.log.warn('failed to store a patch', { activation: run.activationId, error })
        return { ...report, changes: { ...changes, patch: '' } }
      }
    }),
  )
}

/** Shows live what a program does: its text as it comes, and that it uses tools of its own. */
function showReports(context: EffectContext, reports: StoredReport[]): void {
  for (const report of reports) showReport(context, report)
}

function showReport(context: EffectContext, report: StoredReport): void {
  const { stream } = context
  const { activationId } = context.getActivation().state
  if (!activationId) return
  switch (report.kind) {
    case 'text':
    case 'reasoning': {
      context.programText ??= stream.beginCall(
        activationId,
        hasUsedOwnAccount(context.getActivation().events),
      )
      stream.addDelta(context.programText, { kind: report.kind, text: report.text })
      break
    }
    case 'tool':
      endText(context)
      if (!report.is_builtin || report.status !== 'running') break
      notifyWatchers(context, 'using a tool of its own')
      // the title can quote what is private, so only those see it who see everything
      stream.publishProgress(
        { callId: report.call_id, name: 'program', arguments: '' },
        'using a tool of its own',
        activationId,
        report.title,
      )
      break
    case 'ended':
      endText(context)
  }
}

function endText(context: EffectContext): void {
  if (context.programText) context.stream.endCall(context.programText)
  context.programText = null
}

/** Splits reports so that each part fits a row of the journal. */
export function splitReports(reports: StoredReport[]): StoredReport[][] {
  const parts: StoredReport[][] = []
  let chars = Number.POSITIVE_INFINITY
  for (const report of reports) {
    const size = JSON.stringify(report).length
    chars += size
    if (chars > codingAgents.reportCharsAtOnce) {
      parts.push([])
      chars = size
    }
    parts.at(-1)?.push(report)
  }
  return parts
}

/**
 * Returns reports as the journal stores them: with the length of a patch only, and without texts, plans and tool calls
 * of a program that has written more than a run may, whatever its runner lets through.
 *
 * @param chars that are stored already
 */
export function toStoredReports(reports: RunReport[], chars: number): StoredReport[] {
  let stored = chars
  return reports.map((report) => {
    const whole = toStored(report)
    const kept = stored > codingAgents.outputChars ? withoutText(whole) : whole
    stored += countReportChars(kept)
    return kept
  })
}

function toStored(report: RunReport): StoredReport {
  if (report.kind !== 'ended') return report
  if (report.changes === null) return { ...report, changes: null }
  const { patch, ...changes } = report.changes
  return { ...report, changes: { ...changes, patchChars: patch.length } }
}

/** Returns what stands for a report that is not stored: reports are counted. */
const withoutText = (report: StoredReport): StoredReport =>
  countReportChars(report) === 0 ? report : { kind: 'notice', text: '' }

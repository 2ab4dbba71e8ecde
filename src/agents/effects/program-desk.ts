import type {
  ProgramCall,
  ProgramCallRecorder,
  ProgramCallResult,
} from '../../mcp-servers/contract/program-calls'
import { activationLimits } from '../../shared/config'
import type { ActivationId } from '../../shared/ids'
import type { RunReport } from '../../shared/runner-protocol'
import type {
  ModelRequestAdmission,
  ModelRequestArbiter,
  ModelRequestFacts,
  ModelRequestResult,
  RunReceiver,
} from '../contract/coding-agents'
import { findWorking } from '../loop/admit-request'
import type { LoopEvent } from '../loop/event'
import type { ProgramState } from '../loop/program-state'
import { findParking } from '../loop/program-waits'
import { admitRequest } from './admit-request'
import type { EffectContext } from './effect-context'
import { notifyWatchers, resolveModel } from './effect-context'
import { findRecorded } from './find-recorded'
import { toRequestCharge } from './price-request'
import { ProgramWaits } from './program-waits'
import { readWork } from './read-work'
import { savePatches } from './save-patches'
import { showReports } from './show-reports'
import { splitReports, toStoredReports } from './split-reports'

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
    const callsMax = Math.max(activationLimits.toolCallsPerActivation, state.limits.iterations)
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

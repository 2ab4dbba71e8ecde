import type { ApprovalRequest } from '../../hub/contract/hub'
import type { ProgramCallRecorder } from '../../mcp-servers/contract/program-calls'
import { codingAgents } from '../../shared/config'
import type { ActivationId } from '../../shared/ids'
import { programs } from '../executors/programs'
import { findWorking } from '../loop/admit-request'
import type { LoopEvent } from '../loop/event'
import type { OpenCall, ProgramState } from '../loop/program-state'
import { isParking, listWaiting } from '../loop/program-waits'
import { type EffectContext, notifyWatchers } from './effect-context'

/**
 * The calls of a program that wait for an approval. Each is a request of the MCP server that stays open; when
 * something may have changed, it looks at the approval.
 */
export class ProgramWaits {
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

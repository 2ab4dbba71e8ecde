/** Calls of the hub's tools by programs on runners, as the agent's object records them. Types only. */
import type { ApprovalRequest } from '../../hub/contract/hub'
import type { ActivationId } from '../../shared/ids'
import type { ToolReads } from './tools'

/** A call of a tool by a program, over MCP with the run's token. */
export interface ProgramCall {
  callId: string
  tool: string
  /** Raw JSON. */
  arguments: string
  /** Whether it may change something. */
  isWrite: boolean
  /**
   * It is a push of git. Its service compares the refs with what it has, so it is made again when it is repeated; and
   * while a run parks, the work of its program is pushed.
   */
  isPush?: true
}

/** How a call of a tool ended. */
export interface ProgramCallResult {
  text: string
  isError: boolean
  durationMs: number
  resultBytes: number
  grant: string | null
  decision: string
  isUntrusted?: true
  isPrivate?: true
  isOwnAccount?: true
  isExcerpt?: true
  reads?: ToolReads
}

/**
 * The object of the agent, as `/mcp` uses it around every call with a run's token. The record is part of the run's
 * log; after a loss it decides whether the program may begin again.
 */
export interface ProgramCallRecorder {
  /**
   * Records that a call is about to run. `recorded`: a lost attempt of the run has made the same write, whose result
   * stands: the call must not run again. `refused`: the run is over, or has made too many calls.
   */
  beginCall(
    activationId: ActivationId,
    call: ProgramCall,
    attempt?: number,
  ): Promise<
    | { kind: 'run' }
    | { kind: 'recorded'; text: string; isError: boolean }
    | { kind: 'refused'; text: string }
  >
  /**
   * Waits until somebody may have decided about a call that requires approval, for a moment. `look`: read the
   * approval, and ask again while it is pending. `parked`: the run is ended until the decision, and the call with it.
   * `over`: the program must not wait any longer.
   */
  awaitApproval(
    activationId: ActivationId,
    callId: string,
    approval: ApprovalRequest,
    attempt?: number,
  ): Promise<'look' | 'parked' | 'over'>
  /** Records that a call which waited and was decided runs now. Otherwise it must not. */
  endWait(
    activationId: ActivationId,
    callId: string,
    attempt?: number,
  ): Promise<'run' | 'parked' | 'over'>
  endCall(activationId: ActivationId, callId: string, result: ProgramCallResult): Promise<void>
}

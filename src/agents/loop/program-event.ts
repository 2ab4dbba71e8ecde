import type { ApprovalRequest, BudgetShortage } from '../../hub/contract/hub'
import type { ModelProtocol, ProgramType, RunReport } from '../../shared/runner-protocol'
import type { ModelRequestRefusal, ModelRequestResult } from '../contract/coding-agents'
import type { Charge } from './charge'
import type { ModelUsage } from './message'

/** What the loop has to know of the coding agent that works on a task. */
export interface ProgramFacts {
  type: ProgramType
  /** Whether it uses the hub's tools; then it must have listed them. */
  takesTools: boolean
  /** The repository that it works on, as `service/owner/name`. */
  repository?: string
  /** Who may go on in its session; absent: nobody. */
  audience?: string
  /** The session that an earlier run of the thread has left, to be loaded where the runner has it. */
  sessionId?: string
}

type Ended = Extract<RunReport, { kind: 'ended' }>
type Changes = NonNullable<Ended['changes']>

/** The last report as the journal stores it: a patch is too long for a row. */
type StoredEnd = Omit<Ended, 'changes'> & {
  /** `patchChars`: of the patch, which is stored elsewhere; 0: none is. */
  changes: (Omit<Changes, 'patch'> & { patchChars: number }) | null
}

export type StoredReport = Exclude<RunReport, Ended> | StoredEnd

/** Refusals of a model request that end the run; the program may ask again after any other. */
export type FinalRefusal = Exclude<ModelRequestRefusal, 'not_running' | 'wrong_model'> | 'lost'

/**
 * Events of a run on a runner. Those with an attempt are ignored when another attempt is the current one: what a
 * lost runner says later changes nothing.
 */
export type ProgramEvent =
  /** What the runners' object answered to the order. */
  | { type: 'program_placed'; attempt: number; kind: ProgramPlace }
  /** Written before the request is sent to the provider; `worst` is its charge if its usage gets lost. */
  | {
      type: 'request_admitted'
      attempt: number
      request: number
      protocol: ModelProtocol
      worst: Charge
      /** The renewal took comments that join the run. */
      maySteer?: true
    }
  | {
      type: 'request_settled'
      request: number
      /** When it was admitted. */
      startedAt: number
      status: number | null
      finish: ModelRequestResult['finish']
      usage: ModelUsage | null
      /** Null when the provider processed nothing. */
      charge: Charge | null
      problem: string | null
    }
  | {
      type: 'request_refused'
      attempt: number
      reason: FinalRefusal
      /** Only when a budget refused the request, with the least that it needs. */
      shortage?: BudgetShortage
      needs?: { microusd: number; tokens: number }
    }
  | { type: 'tools_listed'; attempt: number }
  /** Written before a call of the hub's tools runs. */
  | {
      type: 'program_called'
      attempt: number
      callId: string
      name: string
      /** Raw JSON. */
      arguments: string
      /** Whether the call may change something. */
      isWrite: boolean
    }
  /** A call requires approval, and the program waits for the decision, at most until a time. */
  | {
      type: 'program_call_waits'
      attempt: number
      callId: string
      /** Its own id is that of the call that was first made with these arguments. */
      approval: ApprovalRequest
      until: number
    }
  /** The decision arrived in time, so the call goes on. */
  | { type: 'program_call_decided'; attempt: number; callId: string }
  /** The program has waited for as long as it can: its run parks. */
  | { type: 'approval_overdue'; attempt: number }
  | {
      type: 'program_call_returned'
      callId: string
      startedAt: number
      durationMs: number
      text: string
      isError: boolean
      resultBytes: number
      grant: string | null
      decision: string
      isUntrusted?: true
      isPrivate?: true
      isOwnAccount?: true
      /** It is the result of the same call in an earlier attempt: the call did not run again. */
      isRecorded?: true
    }
  | { type: 'program_reported'; attempt: number; first: number; reports: StoredReport[] }
  /** The runner is gone for good, or refused the order. */
  | { type: 'program_lost'; attempt: number; reason: string }
  /** `charge` is the worst case of these requests, whose usage nobody has reported. */
  | { type: 'program_closed'; effectId: number; requests: number[]; charge: Charge | null }
  | { type: 'nobody_notified'; effectId: number }

/** `asked`: no answer yet. `unreachable`: the runners' object did not answer. */
export type ProgramPlace = 'asked' | 'started' | 'busy' | 'nobody' | 'unreachable'

import type { PlanStep } from '../contract/runs'
import type { AdmittedCall } from '../loop/admit-calls'
import type { Charge, LoadedFacts, LoopEvent, LoopEventOf, StoredReport } from '../loop/event'
import type { ModelAnswer } from '../loop/message'
import type { Effect, Ending } from '../loop/state'

/** A call that an event ends without an outcome of its own. */
export interface ClosedCall {
  callId: string
  name: string
  /** The result, as an error. */
  text: string
  /** Since when the call ran; null when it did not run or that is unknown. */
  startedAt: number | null
}

/** The agent's own plan after a revision. */
export interface RevisedPlan {
  goal: string | null
  steps: { title: string; status: Exclude<PlanStep['status'], 'not_done'> }[]
}

type Changes = NonNullable<Extract<StoredReport, { kind: 'ended' }>['changes']>

/** Fields of an event of the loop. */
type Kept<Type extends LoopEvent['type'], Field extends keyof LoopEventOf<Type> = never> = {
  type: Type
} & Pick<LoopEventOf<Type>, Field | 'at'>

/** An event with fields that are derived from those before it. */
type Derived<Type extends string, Fields> = { type: Type; at: number } & Fields

/** What a person or the time limit stopped, and what that had cost. */
type Stop = Pick<LoopEventOf<'cancel_requested'>, 'charge'> & {
  stopped: Effect['type'] | null
  closed: ClosedCall[]
}

/**
 * An event of a run as the views of it read it: an event of the loop, with what the loop concluded from it. `at` is
 * milliseconds since the epoch.
 */
export type RunEvent =
  | Kept<'woken', 'activationId'>
  | Kept<'load_waited', 'retryAt' | 'reason'>
  | Kept<'load_failed', 'code' | 'message'>
  | Kept<'load_found_nothing'>
  | Derived<
      'loaded',
      Pick<LoadedFacts, 'model' | 'task' | 'definition' | 'prompt'> & {
        agent: string
        /** For whom the run acts; empty: the hub itself. */
        requesters: NonNullable<LoadedFacts['requesters']>
        session: string | null
        /** The task in the words of the requester; null when it has none. */
        goal: string | null
        /** Notes on the prompt. */
        notes: string[]
      }
    >
  | Derived<
      'model_answered',
      Pick<ModelAnswer, 'text' | 'reasoning'> & {
        /** From 1. */
        step: number
        startedAt: number
        input: NonNullable<LoopEventOf<'model_answered'>['input']> | null
        finish: string
        calls: AdmittedCall[]
        charge: Charge
        warning: string | null
        hooks: NonNullable<LoopEventOf<'model_answered'>['hooks']>
      }
    >
  | Derived<
      'model_failed',
      {
        startedAt: number
        code: string
        message: string
        /** The provider's message. It can quote the prompt. */
        detail: string | null
        charge: Charge | null
      }
    >
  | Derived<'model_refused', { reason: string }>
  | Kept<'model_waited', 'retryAt'>
  /** Comments joined the run, with the names of their authors. */
  | Derived<'steered', { items: { author: string; isModeration: boolean; text: string }[] }>
  | Derived<
      'tool_returned',
      Pick<
        LoopEventOf<'tool_returned'>,
        'startedAt' | 'durationMs' | 'callId' | 'name' | 'text' | 'isError' | 'resultBytes'
      > & {
        /** As they ran. */
        arguments: string
        grant: string | null
        /** The decision of the gateway; null when the gateway was not called. */
        decision: string | null
        /** Which standing rule allowed the call; absent: none did. */
        allowedBy?: string
        hooks: NonNullable<LoopEventOf<'tool_returned'>['hooks']>
        /** The plan, when the call revised it. */
        plan?: RevisedPlan
      }
    >
  | (Kept<'tool_parked', 'startedAt' | 'callId' | 'name' | 'approval'> & {
      hooks: NonNullable<LoopEventOf<'tool_parked'>['hooks']>
    })
  | Derived<'parked', { isLost: boolean }>
  | Kept<'park_failed'>
  | (Kept<'resumed', 'admission' | 'decisions' | 'isCancelled'> & { closed: ClosedCall[] })
  | Kept<
      'compacted',
      'startedAt' | 'summary' | 'replaced' | 'tokensBefore' | 'tokens' | 'charge' | 'problem'
    >
  | Kept<'slept'>
  | Derived<'time_ran_out', Stop>
  | Derived<'cancel_requested', Stop>
  /** The server stopped and the run was resumed. `isEnded`: only the commit was left. */
  | Derived<'interrupted', { charge: Charge | null; isEnded: boolean; closed: ClosedCall[] }>
  | Kept<'commit_failed'>
  | Derived<'committed', { isLost: boolean }>
  /** Where the run of a program is. */
  | Derived<'program_placed', { attempt: number; place: LoopEventOf<'program_placed'>['kind'] }>
  /** A model request of a program; its outcome is `model_answered` or `model_failed`. */
  | Kept<'request_admitted', 'request' | 'protocol'>
  | Kept<'tools_listed'>
  /** A program calls a tool of the hub; `tool_returned` follows. */
  | Kept<'program_called', 'callId' | 'name' | 'arguments'>
  /** What a program wrote. Its own tools are notes. */
  | Derived<
      'program_reported',
      {
        attempt: number
        text: string
        reasoning: string
        notes: string[]
        /** When it revised its plan. */
        plan?: RevisedPlan
        /** What it changed in its workspace. */
        changes?: Changes
      }
    >
  /** A call for which the program waited was decided in time. */
  | Kept<'program_call_decided'>
  /** The program could not wait any longer for an approval, so the run parks. */
  | Kept<'approval_overdue'>
  | Kept<'program_lost', 'attempt' | 'reason'>
  /** `charge` is that of requests whose usage nobody reported. */
  | Derived<'program_closed', { requests: number; charge: Charge | null }>
  | Kept<'nobody_notified'>
  /** Stands for steps that were removed to make the record fit. */
  | Derived<'omitted', { steps: number; charge: Charge }>
  /** The outcome. The last event; `at` is when it was decided. */
  | Derived<
      'ended',
      Pick<Ending, 'outcome' | 'error'> & {
        finishedAt: number | null
        warning: string | null
        closed: ClosedCall[]
      }
    >

export type RunEventOf<Type extends RunEvent['type']> = Extract<RunEvent, { type: Type }>

/** A run as a list of events: what every view of it is made from. It is never stored. */
export interface RunLog {
  events: RunEvent[]
  /** It used the account that its requester connected, so its texts are for nobody else. */
  usesOwnAccount?: true
}

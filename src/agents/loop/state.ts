import type { Task } from '../../hub/contract/hub'
import type { ActivationError, ActivationErrorCode, Outcome } from '../../shared/errors'
import type { ActivationId } from '../../shared/ids'
import type { RunReport, runStopReasons } from '../../shared/runner-protocol'
import type { Charge, Limits, ProgramFacts, ProgramPlace } from './event'
import type { Outage } from './message'

/**
 * The phase of the loop. idle -> loading -> reasoning <-> acting -> committing -> idle; it sleeps
 * where it must wait. acting -> parking -> parked: the journal is set aside and the agent counts as
 * idle. A coding agent stays in reasoning while its program works: reasoning -> closing -> committing.
 */
export type Phase =
  | 'idle'
  | 'loading'
  | 'reasoning'
  | 'compacting'
  | 'acting'
  | 'parking'
  | 'parked'
  | 'closing'
  | 'committing'

/** An admitted call of the current step. */
export interface StepCall {
  callId: string
  status: 'todo' | 'running' | 'parked' | 'done'
  isSequential: boolean
}

/** A provider that an activation waits for, and how often the activation parked for it. */
interface AwaitedOutage extends Outage {
  parks: number
}

/**
 * The state of the loop between two events. Kept small because it is written with every event;
 * texts are stored in the events of the journal.
 */
export interface LoopState {
  phase: Phase
  activationId: ActivationId | null
  task: Task | null
  nextEffectId: number
  pending: Effect[]
  startedAt: number
  /**
   * When the time limit is reached; 0 before LOAD; while parked, the milliseconds that are left.
   */
  endsAt: number
  limits: Limits
  iteration: number
  modelCalls: number
  toolCalls: number
  errors: number
  /** Retries of the current model call. */
  retries: number
  emptyAnswers: number
  tokens: number
  microusd: number
  /** Tokens and cost that were already settled when the activation parked. */
  settled: { tokens: number; microusd: number } | null
  /** Estimated size of the next prompt in tokens, and its number of history entries. */
  promptTokens: number
  entries: number
  compactions: number
  /** The context window truncated an answer: compact before the next call. */
  mustCompact: boolean
  /** The task is to compact the session, and nothing more was asked. */
  isCompactOnly: boolean
  /** Characters of a truncated answer that is being continued; 0 when there is none. */
  cutChars: number
  calls: StepCall[]
  /** Call ids seen in this activation. */
  callIds: string[]
  /** The provider that was down when it was last called; null once it has answered. */
  outage: AwaitedOutage | null
  /** The program of a coding agent; null for an agent that runs natively. */
  program: ProgramState | null
  /** Failed attempts of the current commit or park request. */
  commitFailures: number
  /** A stop was requested at a moment when the activation could not end yet. */
  isCancelled: boolean
  /** A comment may have arrived for the run: ask the hub before the answer is posted. */
  maySteer: boolean
  /** The scheduler offered an exploration, and neither a LOAD nor a commit has answered it yet. */
  mayExplore: boolean
  /** Woken while busy: check the inbox again after the commit. */
  isWokenAgain: boolean
  ending: Ending | null
}

/** The state of an idle loop. It has every field: the journal stores changes of the fields that it has. */
export const initialState: Required<LoopState> = {
  phase: 'idle',
  activationId: null,
  task: null,
  nextEffectId: 1,
  pending: [],
  startedAt: 0,
  endsAt: 0,
  limits: { iterations: 0, tokens: 0, durationMs: 0, contextTokens: 0 },
  iteration: 0,
  modelCalls: 0,
  toolCalls: 0,
  errors: 0,
  retries: 0,
  emptyAnswers: 0,
  tokens: 0,
  microusd: 0,
  settled: null,
  promptTokens: 0,
  entries: 0,
  compactions: 0,
  mustCompact: false,
  isCompactOnly: false,
  cutChars: 0,
  calls: [],
  callIds: [],
  outage: null,
  program: null,
  commitFailures: 0,
  isCancelled: false,
  maySteer: false,
  mayExplore: false,
  isWokenAgain: false,
  ending: null,
}

/** The result of a step: the next state, whose `pending` includes the new effects. */
export interface Step {
  state: LoopState
  effects: Effect[]
}

/** Adds effects to a state, each with the next id. */
export function withEffects(state: LoopState, ...wanted: NewEffect[]): Step {
  const effects = wanted.map(
    (effect, index) => ({ ...effect, id: state.nextEffectId + index }) as Effect,
  )
  return {
    state: {
      ...state,
      nextEffectId: state.nextEffectId + effects.length,
      pending: [...state.pending, ...effects],
    },
    effects,
  }
}

/** Returns a step without new effects. */
export const withoutEffects = (state: LoopState): Step => ({ state, effects: [] })

/** Returns whether the loop has something to do, now or after a sleep. */
export const isBusy = ({ phase }: LoopState): boolean => phase !== 'idle' && phase !== 'parked'

/**
 * Returns whether the activation runs its model or tools, so that a time limit or a person can end
 * it.
 */
export const isStoppable = ({ phase }: LoopState): boolean =>
  phase === 'reasoning' || phase === 'compacting' || phase === 'acting'

/**
 * Returns whether a stop takes effect later, because the activation cannot end before the hub has
 * answered.
 */
export const isStopDeferred = ({ phase }: LoopState): boolean =>
  phase === 'loading' || phase === 'parking' || phase === 'parked'

/** Returns whether an earlier stop request will end the activation. */
export const hasDeferredStop = (state: LoopState): boolean =>
  state.isCancelled && isStopDeferred(state)

/** Returns whether the loop only waits for a time. */
export const isSleeping = ({ pending }: LoopState): boolean =>
  pending.length > 0 && pending.every(({ type }) => type === 'sleep')

/** Returns whether a crash of the machine does not interrupt an effect: it waits, or its work is done elsewhere. */
export const isLasting = (type: Effect['type']): boolean =>
  type === 'sleep' || type === 'run_program' || type === 'close_program' || type === 'notify_nobody'

/** How the activation ends; decided once. */
export interface Ending {
  outcome: Outcome
  error: (ActivationError & { code: ActivationErrorCode }) | null
  /**
   * `answer`: posts the last answer; `partial`: posts the text so far, if any, then `text`;
   * `notice`: posts only `text`; `silent`: posts nothing.
   */
  reply: 'answer' | 'partial' | 'notice' | 'silent'
  text: string
  /** The run was set aside: the commit leaves out its texts, which may be what took the process down. */
  isBare?: true
  /** For the log and the trace. */
  warning?: string
}

/** A model request that was admitted and whose usage is not known yet. */
export interface OpenRequest {
  request: number
  startedAt: number
  worst: Charge
  isAside?: true
}

/** A settled model request. */
export interface LastRequest {
  request: number
  finish: string
  problem: string | null
  isAside?: true
}

/** A call of the hub's tools that has not returned. */
export interface OpenCall {
  callId: string
  isWrite: boolean
  /** It has not run: the program waits for the approval that was requested for the call `approvalId`. */
  wait?: { approvalId: string; until: number }
}

/** What the program claims about its end; it is judged. */
export type ProgramEnd = Pick<
  Extract<RunReport, { kind: 'ended' }>,
  'end' | 'detail' | 'is_success'
> & { hasAnswer: boolean }

/**
 * The program that works on the task of a coding agent. It is written with every event, so it stays small: texts
 * are in the events of the journal.
 */
export interface ProgramState extends Pick<ProgramFacts, 'type' | 'takesTools'> {
  /** From 1; a comment that joins the run begins a further one. */
  turn: number
  /** Counts what was given to a runner: every turn, and every beginning after a loss. */
  attempt: number
  losses: number
  place: ProgramPlace
  /** When the attempt began. */
  askedAt: number
  /** The requester was notified that no suitable runner is connected. */
  isNotified: boolean
  /** The highest report that is stored. */
  reports: number
  hasStarted: boolean
  /** Of the program, to be loaded by a later attempt. */
  sessionId: string | null
  /** Writes were made in an earlier attempt, so the program must load its session. */
  mustResume: boolean
  /** Characters of texts, plans and tool calls that were stored. */
  chars: number
  hasListedTools: boolean
  /** Model requests of the run so far. */
  requests: number
  open: OpenRequest[]
  /** Of the request that judges the turn; null before any is settled in this attempt. */
  last: LastRequest | null
  calls: OpenCall[]
  /** Calls of the run that may have changed something. */
  writes: number
  end: ProgramEnd | null
  /** While it is being closed: how the run ends; null: that is judged once everything is known. */
  closing: { ending: Ending | null; stop: StopReason | null } | null
}

/** Returns the program before its first attempt. */
export const toProgram = ({
  type,
  takesTools,
  sessionId = null,
}: Omit<ProgramFacts, 'sessionId'> & { sessionId?: string | null }): ProgramState => ({
  type,
  takesTools,
  turn: 0,
  attempt: 0,
  losses: 0,
  place: 'asked',
  askedAt: 0,
  isNotified: false,
  reports: 0,
  hasStarted: false,
  sessionId,
  mustResume: false,
  chars: 0,
  hasListedTools: false,
  requests: 0,
  open: [],
  last: null,
  calls: [],
  writes: 0,
  end: null,
  closing: null,
})

/** Why a program is stopped. */
export type StopReason = (typeof runStopReasons)[number]

/**
 * An effect that the agent shell performs for the loop. Ids keep counting for the lifetime of the
 * agent.
 */
export type Effect =
  /**
   * Claim the work and read everything it needs. With `mayExplore` an empty inbox starts an
   * exploration.
   */
  | { id: number; type: 'load'; mayExplore?: true }
  /** One model call. From the second call on, the reservation is renewed first. */
  | { id: number; type: 'call_model'; mustRenew: boolean }
  | { id: number; type: 'call_tool'; callId: string }
  /** Ask the hub for comments that join the run, before its answer is posted. */
  | { id: number; type: 'steer' }
  /**
   * Replace the oldest history with a summary until the prompt fills this share of the context
   * window.
   */
  | {
      id: number
      type: 'compact'
      mustRenew: boolean
      toShare: number
      keepsAnswer: boolean
      /** `toShare` is of the history and not of the window. */
      isManual?: boolean
    }
  /**
   * Release the slot, the deadline and the reservation until people have decided on the parked
   * calls, or until the provider is back.
   */
  | { id: number; type: 'park' }
  /** Give the task to a program on a runner. Stays pending until the program's turn is over. */
  | { id: number; type: 'run_program'; turn: number; attempt: number }
  /**
   * Stop the program if it may still run, then wait until it has reported its end and its model requests are
   * counted, at most until a time.
   */
  | { id: number; type: 'close_program'; attempt: number; stop: StopReason | null; until: number }
  /** Notify the requester that no suitable runner is connected. */
  | { id: number; type: 'notify_nobody' }
  | { id: number; type: 'sleep'; until: number }
  | { id: number; type: 'commit' }

type NewEffect = Effect extends infer Each
  ? Each extends Effect
    ? Omit<Each, 'id'>
    : never
  : never

import type { RunReport } from '../../shared/runner-protocol'
import type { Charge } from './charge'
import type { StopReason } from './effect'
import type { Ending } from './ending'
import type { ProgramFacts, ProgramPlace } from './program-event'

/** A model request that was admitted and whose usage is not known yet. */
export interface OpenRequest {
  request: number
  startedAt: number
  worst: Charge
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
  /** Of the request with the highest number that is settled; null before any in this attempt. */
  last: { request: number; finish: string; problem: string | null } | null
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

import type { runStopReasons } from '../../shared/runner-protocol'

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

export type NewEffect = Effect extends infer Each
  ? Each extends Effect
    ? Omit<Each, 'id'>
    : never
  : never

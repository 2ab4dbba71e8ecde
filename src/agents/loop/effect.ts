/** What the shell is asked to do, in the imperative. Ids grow for as long as the agent lives. */
export type Effect =
  /** Claim the work and read everything it needs; with nothing to do it may look around (S1). */
  | { id: number; type: 'load'; mayExplore?: true }
  /** One model call. From the second on the reservation is renewed first (L37). */
  | { id: number; type: 'call_model'; mustRenew: boolean }
  | { id: number; type: 'call_tool'; callId: string }
  /** Put a summary in place of the oldest history, until the prompt fills this share of the window. */
  | { id: number; type: 'compact'; mustRenew: boolean; toShare: number; keepsAnswer: boolean }
  /** Give up slot, deadline and reservation until people have decided on the parked calls (L30). */
  | { id: number; type: 'park' }
  | { id: number; type: 'sleep'; until: number }
  | { id: number; type: 'commit' }

export type NewEffect = Effect extends infer Each
  ? Each extends Effect
    ? Omit<Each, 'id'>
    : never
  : never

/** What the shell is asked to do, in the imperative. Ids grow within an activation. */
export type Effect =
  /** Claim the work and read everything it needs. */
  | { id: number; type: 'load' }
  /** One model call. From the second on the reservation is renewed first (L37). */
  | { id: number; type: 'call_model'; mustRenew: boolean }
  | { id: number; type: 'call_tool'; callId: string }
  | { id: number; type: 'sleep'; until: number }
  | { id: number; type: 'commit' }

export type NewEffect = Effect extends infer Each
  ? Each extends Effect
    ? Omit<Each, 'id'>
    : never
  : never

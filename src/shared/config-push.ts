/** Limits of messages to browsers. */
export const pushLimits = {
  devicesPerAccountMax: 10,
  endpointCharsMax: 1_000,
  sentAtOnceMax: 50,
  /** Claims of one sender, before it leaves the rest to the sweep. */
  roundsMax: 10,
  /** Another sender takes over what a sender has claimed after this time. */
  claimMs: 60_000,
  /** The first retry; each later one waits twice as long. */
  retryMs: 60_000,
  retryMsMax: 4 * 3_600_000,
  /** No message waits longer at once: for the end of quiet hours, on a day of 25 hours. */
  waitMsMax: 25 * 3_600_000,
  /** About a day of retries. */
  attemptsMax: 12,
  /** A push service keeps a message for a device that is off: one day. */
  keptSeconds: 86_400,
  timeoutMs: 10_000,
} as const

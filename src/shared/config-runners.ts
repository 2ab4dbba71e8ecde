/** Limits of runners, the processes that run coding agents. */
export const runnerLimits = {
  /** How often a runner sends `ping`. */
  pingMs: 20_000,
  /** A connection without a ping or a message for this long is broken. */
  silenceMs: 60_000,
  /** Time in which a disconnected runner can come back for its runs; then they are lost. */
  graceMs: 60_000,
  /** Time for the first message of a connection. */
  helloMs: 10_000,
  /** Time for a stopped run to report its end; then its slot is free. */
  stopMs: 30_000,
  /** Time after the deadline of a run at which the hub gives it up. */
  overrunMs: 30_000,
  /** Pause after an agent or the database did not answer. */
  retryMs: 5_000,
  connectionsMax: 500,
  connectionsPerKeyMax: 100,
  /** Runners of one key that the hub remembers after they have left; the last seen. */
  leftRunnersPerKeyMax: 200,
  /** Runs that wait or run at once. */
  runsMax: 2_000,
  /** Reports of one connection that wait for their agents; more are refused, and sent again later. */
  pendingCharsMax: 16 * 1024 * 1024,
  /** An ended run is remembered for this long after its deadline, so that it is not started again. */
  endedKeptMs: 3_600_000,
  /** A runner that was not seen for this long is removed from the list. */
  runnerKeptMs: 30 * 86_400_000,
  keysMax: 50,
  keyLabelCharsMax: 100,
} as const

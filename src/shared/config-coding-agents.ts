/** Runs of coding agents, which the machine of a runner carries out. Other limits are those of every run. */
export const codingAgents = {
  /** Unless the definition sets others: a program asks its model often, with long prompts. */
  iterations: 100,
  tokens: 2_000_000,
  durationSeconds: 1_800,
  outputTokens: 16_384,
  /** Model requests of one run in flight at a time. */
  requestsAtOnce: 16,
  /** Without a model request, a tool call or an update. */
  silenceMs: 300_000,
  outputChars: 1_000_000,
  /** How often a run may begin again after its runner was lost. */
  lossesMax: 3,
  /** After a stop: for the program's last reports, and until the gateway has counted its requests. */
  closingMs: 10_000,
  /** The same for a run that parks: its work is pushed meanwhile. */
  parkingMs: 30_000,
  /** Interval at which an agent asks after its run, so that none is lost. */
  checkMs: 60_000,
  /** Without a suitable runner: until the requester is notified. */
  nobodyThereMs: 60_000,
  /** Characters of reports that are stored together. */
  reportCharsAtOnce: 200_000,
  /** Between looks at an approval for which a program waits, unless its decision wakes the agent. */
  approvalLookMs: 15_000,
  /** For how long a later run of a thread may go on in a program's session, as runners keep them. */
  sessionMs: 7 * 86_400_000,
  /** Before a request is made again that was refused for a moment. */
  retryMs: 2_000,
} as const

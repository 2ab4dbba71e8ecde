/** Limits of git over HTTP, at `/git`. */
export const gitProxy = {
  /** The list of refs before the pack of a push, which is held in memory. */
  commandBytesMax: 1024 * 1024,
  refsMax: 100,
  refCharsMax: 250,
  /** A fetch or a push, from its first byte to its last. */
  timeoutMs: 600_000,
  /** What is quoted of a service's error. */
  errorBytesMax: 2_000,
  /** Branches that may be pushed to where no definition names others. */
  pushDefault: 'rookery/*',
} as const

/** Hooks that take reviews of pull requests. */
export const reviewHookLimits = {
  perAccountMax: 20,
  /** A review arrives in parts. It is complete when none has come for this time... */
  quietMs: 15_000,
  /** ...and at the latest this long after the first. */
  heldMs: 60_000,
  /** Parts, and characters of them, that are posted at once; the rest follows. */
  partsMax: 100,
  charsMax: 60_000,
  /** Reviews that a sweep posts; the next one continues. */
  postedPerSweep: 20,
  /** Until a review that could not be posted is tried again. */
  retryMs: 5_000,
} as const

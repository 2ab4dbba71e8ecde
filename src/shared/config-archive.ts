/** How old records are moved from the database to object storage. */
export const archiving = {
  /** Days for which records stay in the database unless the hub has a setting of its own. */
  daysDefault: 30,
  /** Days for which model calls stay at least: a budget's month counts them again. */
  usageDaysMin: 62,
  /** Records of one file. */
  recordsMax: { traces: 50, audit: 500, usage: 500 },
  /** Characters of the traces of one file; a single longer trace has a file of its own. */
  traceCharsMax: 2 * 1024 * 1024,
  /** Files that one sweep writes of each kind; the next sweep continues. */
  filesPerSweep: 3,
  /** Files that a page lists. */
  listedMax: 31,
} as const

/** Export of finished activations to an OpenTelemetry collector. */
export const traceExport = { timeoutMs: 10_000, answerBytesMax: 64 * 1024 } as const

/** Limits and defaults of tools, of what they reach, and of what people say about them; see config.ts. */

/** Calls of tools that a person must approve, and how often tools may be called (M7, M8). */
export const approvals = {
  /** Nobody's answer within this time counts as no; what is said to an outside caller holds as long. */
  expiresMs: 86_400_000,
  noteCharsMax: 1_000,
  /** Of the list, newest first. */
  pageDefault: 25,
  pageMax: 100,
  /** Of what an approver's inbox shows; the whole is on the page. */
  excerptChars: 240,
  /** Entries of a policy's list. */
  rateLimitsMax: 50,
  /** A bucket that nobody took from for so long is full, and forgotten. */
  bucketIdleMs: 172_800_000,
} as const

/** Requests of tools to services outside (M13). */
export const outside = {
  timeoutMs: 20_000,
  bodyBytesMax: 1024 * 1024,
  redirectsMax: 5,
  /** Of an answer, what the model reads; and of one that says what went wrong. */
  answerCharsMax: 40_000,
  excerptChars: 500,
  credentialCharsMax: 8_000,
  /** Opened lately, and kept out of logs, hooks' words and exports too. */
  knownSecretsMax: 50,
  /** When a credential was used last is noted this often. */
  lastUsedEveryMs: 60_000,
} as const

/** An agent's own files (in R2). */
export const workspaceLimits = {
  filesMax: 500,
  fileBytesMax: 1024 * 1024,
  bytesMax: 50 * 1024 * 1024,
  pathCharsMax: 300,
  /** Of a file, as text or base64, in one read; so that a result is never cut. */
  readBytesDefault: 24 * 1024,
  readBytesMax: 32 * 1024,
  listDefault: 50,
  listMax: 100,
} as const

/** Results of tools that are larger than a model may read at once (M10). */
export const keptResults = {
  keptMs: 86_400_000,
  /** What is beyond is lost, and the result says so. */
  bytesMax: 4 * 1024 * 1024,
  readBytesDefault: 32 * 1024,
  readBytesMax: 48 * 1024,
  /** Expired ones that are deleted when another is kept. */
  sweptAtOnce: 20,
} as const

/** The audit of tool calls, newest first. */
export const audit = {
  pageDefault: 50,
  pageMax: 200,
  csvRowsMax: 10_000,
  /** Of what a caller from outside asked; the rest is known by its hash. */
  argumentsCharsMax: 16_384,
} as const

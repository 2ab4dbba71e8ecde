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
  /** For telling a service that a call is over. */
  farewellMs: 2_000,
  /** Of an answer, what the model reads; and of one that says what went wrong. */
  answerCharsMax: 40_000,
  excerptChars: 500,
  /** Of a page, what is searched for these words. */
  pageCharsMax: 16_384,
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
  reasonCharsMax: 1_000,
} as const

/** Tools of the server `aws`. */
export const aws = {
  answerBytesMax: 4 * 1024 * 1024,
  objectCharsMax: 40_000,
  putCharsMax: 200_000,
  keyCharsMax: 1_024,
  listDefault: 100,
  listMax: 400,
} as const

/** Tools of the server `brave`. */
export const brave = {
  resultsDefault: 8,
  resultsMax: 20,
  titleCharsMax: 200,
  passageCharsMax: 600,
  summaryCharsMax: 8_000,
  /** A plan of one request a second makes a tool wait so long, once. */
  pauseMsMax: 2_000,
} as const

/** Tools of the server `github`. */
export const github = {
  apiVersion: '2022-11-28',
  /** A pull request alone is 20 KB in GitHub's own form, and lists hold up to a hundred. */
  answerBytesMax: 4 * 1024 * 1024,
  pageDefault: 20,
  pageMax: 50,
  /** What a model reads of a body, a comment, the files and the patches of a pull request. */
  bodyCharsMax: 12_000,
  commentCharsMax: 1_500,
  commentsMax: 20,
  excerptChars: 300,
  filesMax: 50,
  patchCharsMax: 20_000,
  fileCharsMax: 40_000,
  /** How many of the newest are searched for what a lost answer may have left. */
  newestSearched: 30,
} as const

/** Statements on PostgreSQL databases. */
export const postgresLimits = {
  connectMs: 5_000,
  statementMs: 20_000,
  lockMs: 5_000,
  rowsDefault: 100,
  rowsMax: 1_000,
  /** Of everything a connection receives: an answer is held in memory. */
  receivedBytesMax: 8 * 1024 * 1024,
  /** Of one value that the model reads. */
  valueCharsMax: 4_000,
  sqlCharsMax: 20_000,
  paramsMax: 100,
  paramCharsMax: 20_000,
} as const

/** MCP for callers outside: `/mcp` and `/mcp/<server>` (M11). */
export const mcp = {
  toolsPerPage: 100,
  /** A token of an activation, for programs that work for it. */
  tokenMs: 600_000,
  tokenCharsMax: 8_000,
  sessionCharsMax: 100,
  /** How often a running call looks whether its caller has cancelled it. */
  cancelCheckMs: 100,
  /** How often a stream says that it is there: only then is it noticed that nobody reads it any more. */
  keepAliveMs: 1_000,
} as const

/** MCP servers of others, added by an admin (M12). */
export const remoteServers = {
  serversMax: 50,
  /** Of one server; what is beyond is not offered. */
  toolsMax: 200,
  pagesMax: 20,
  descriptionCharsMax: 4_000,
  schemaCharsMax: 16_384,
  /** Deeper ones are not offered: laid out for people they would be far longer than they are. */
  schemaDepthMax: 32,
  /** A list is looked at again with a call when it is older than this. */
  checkEveryMs: 60_000,
  /** Of one answer, which is read whole. */
  answerBytesMax: 1024 * 1024,
  timeoutMs: 60_000,
  /** Of `tools/list`, when an admin adds or refreshes. */
  refreshMs: 20_000,
} as const

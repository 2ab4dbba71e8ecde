/** Limits and defaults of tools, the services they reach, and approvals; see config.ts. */

/** Standing rules: calls that need no approval for a time. */
export const standingRules = {
  daysDefault: 30,
  daysMax: 90,
  /** Shorter beginnings say nothing about a text. */
  prefixCharsMin: 3,
  /** Arguments of a call for which a rule can be made. */
  argumentsCharsMax: 16_000,
  /** Rules of one agent that hold at once. */
  perAgentMax: 100,
  /** Rules on the policy page, newest first. */
  listMax: 200,
} as const

/** Approvals of tool calls, and rate limits of tools. */
export const approvals = {
  /** An approval without a decision expires after this time. The answer to an outside caller is valid as long. */
  expiresMs: 86_400_000,
  noteCharsMax: 1_000,
  /** Calls that one decision can be about. */
  decisionsMax: 50,
  /** Names shown of those who can decide. */
  decidersShown: 6,
  /** Pending approvals counted for the header. */
  countMax: 99,
  /** Page size of the list, newest first. */
  pageDefault: 25,
  pageMax: 100,
  /** A longer call is not quoted in an approver's inbox; the approval's page has the full text. */
  excerptChars: 240,
  /** Rate limits in one policy. */
  rateLimitsMax: 50,
  /** A bucket unused for this long is full again, so its row is deleted. */
  bucketIdleMs: 172_800_000,
} as const

/** Requests of tools to external services. */
export const outside = {
  timeoutMs: 20_000,
  bodyBytesMax: 1024 * 1024,
  /** Of the answer of a DNS resolver. */
  lookupBytesMax: 64 * 1024,
  redirectsMax: 5,
  /** Time to close a session with a service after a call. */
  farewellMs: 2_000,
  /** Part of a response that the model reads, and excerpt of an error response. */
  answerCharsMax: 40_000,
  excerptChars: 500,
  /** Part of an HTML error page that is searched for the excerpt. */
  pageCharsMax: 16_384,
  credentialCharsMax: 8_000,
  /** Recently decrypted secrets that are also redacted from logs, hook messages and exports. */
  knownSecretsMax: 50,
  /** The last use of a credential is recorded at most this often. */
  lastUsedEveryMs: 60_000,
} as const

/** Limits of an agent's own files, which are in R2. */
export const workspaceLimits = {
  filesMax: 500,
  fileBytesMax: 1024 * 1024,
  bytesMax: 50 * 1024 * 1024,
  pathCharsMax: 300,
  /** Bytes of one read, as text or base64, small enough that a result is never truncated. */
  readBytesDefault: 24 * 1024,
  readBytesMax: 32 * 1024,
  listDefault: 50,
  listMax: 100,
} as const

/** Lists of what an agent keeps for one person alone. */
export const privateMemoryLimits = { pageMax: 100, shownOnPage: 20 } as const

/** Stored tool results: those larger than a model may read at once. */
export const keptResults = {
  keptMs: 86_400_000,
  /** A longer result is truncated, and says so. */
  bytesMax: 4 * 1024 * 1024,
  readBytesDefault: 32 * 1024,
  readBytesMax: 48 * 1024,
  /** Expired results that are deleted when another one is stored. */
  sweptAtOnce: 20,
} as const

/** Limits of the audit log of tool calls, newest first. */
export const audit = {
  pageDefault: 50,
  pageMax: 200,
  csvRowsMax: 10_000,
  /** Stored arguments of an outside caller's call; longer ones are stored as a hash. */
  argumentsCharsMax: 16_384,
  reasonCharsMax: 1_000,
} as const

/** Limits of the tools of the server `aws`. */
export const aws = {
  answerBytesMax: 4 * 1024 * 1024,
  objectCharsMax: 40_000,
  putCharsMax: 200_000,
  keyCharsMax: 1_024,
  listDefault: 100,
  listMax: 400,
} as const

/** Limits of the tools of the server `brave`. */
export const brave = {
  resultsDefault: 8,
  resultsMax: 20,
  titleCharsMax: 200,
  passageCharsMax: 600,
  summaryCharsMax: 8_000,
  /** Longest wait for a rate-limited plan (one request a second), once per call. */
  pauseMsMax: 2_000,
} as const

/** Limits of the tools of the server `github`. */
export const github = {
  apiVersion: '2022-11-28',
  /** One pull request is 20 KB in GitHub's JSON, and a list holds up to 100. */
  answerBytesMax: 4 * 1024 * 1024,
  pageDefault: 20,
  pageMax: 50,
  /** Parts of a body, a comment, the files and the patches of a pull request that a model reads. */
  bodyCharsMax: 12_000,
  commentCharsMax: 1_500,
  commentsMax: 20,
  excerptChars: 300,
  filesMax: 50,
  patchCharsMax: 20_000,
  fileCharsMax: 40_000,
  /** Newest items searched for one that an earlier call, whose response was lost, may have created. */
  newestSearched: 30,
} as const

/** Limits of statements on PostgreSQL databases. */
export const postgresLimits = {
  connectMs: 5_000,
  statementMs: 20_000,
  lockMs: 5_000,
  rowsDefault: 100,
  rowsMax: 1_000,
  /** Bytes that one connection may receive: a result is held in memory. */
  receivedBytesMax: 8 * 1024 * 1024,
  /** Longest value that the model reads. */
  valueCharsMax: 4_000,
  sqlCharsMax: 20_000,
  paramsMax: 100,
  paramCharsMax: 20_000,
} as const

/** Limits of MCP for outside callers: `/mcp` and `/mcp/<server>`. */
export const mcp = {
  toolsPerPage: 100,
  /** Lifetime of an activation's token, for programs that run on its behalf. */
  tokenMs: 600_000,
  /** The same at most, for a program on a runner, whose token ends with its attempt. */
  runTokenMsMax: 6 * 3_600_000,
  tokenCharsMax: 8_000,
  /** Messages of one batch. Each beyond the first counts as a read, and each call in the class of its tool. */
  batchMessagesMax: 100,
  sessionCharsMax: 100,
  /** Interval at which a running call checks for cancellation. */
  cancelCheckMs: 100,
  /** Waits between tries to record the result of a program's call. */
  recordAgainMs: [100, 1_000],
  /** Interval of keep-alives on a stream: a closed connection is only detected by writing. */
  keepAliveMs: 1_000,
  /** The same on a stream of updates, which stays open. */
  watchKeepAliveMs: 5_000,
  /** A stream of updates ends after this, and its client opens another with its key, which may have expired. */
  watchMs: 1_800_000,
  resourcesPerPage: 50,
  /** Comments and threads in one resource. */
  resourceCommentsMax: 50,
  resourcePostsMax: 30,
  /** Of all comments of a thread, together; the oldest are left out. */
  resourceCharsMax: 200_000,
  /** Of a post in a list. */
  resourceExcerptCharsMax: 500,
  completionsMax: 50,
  /** Of what was typed; more is not looked at. */
  completionCharsMax: 100,
} as const

/** The tool `hub_ask`, which waits for an answer. */
export const askLimits = {
  waitMs: 120_000,
  /** Time to write the question and to answer the call. */
  marginMs: 15_000,
  /** First pause between two reads; each further one is longer by a fifth. */
  pollMs: 500,
  pollMsMax: 5_000,
} as const

/** Limits of remote MCP servers, added by an admin. */
export const remoteServers = {
  serversMax: 50,
  /** Tools of one server, and pages of its list; further ones are not offered. */
  toolsMax: 1_000,
  pagesMax: 100,
  toolNameCharsMax: 128,
  /** A longer description is truncated for models. */
  descriptionCharsMax: 16_384,
  /** Longer instructions of a server are truncated. */
  instructionsCharsMax: 8_000,
  /** Of a tool's description and schema together. */
  schemaCharsMax: 65_536,
  /** Reasons why tools of a list are not offered. */
  problemsMax: 50,
  /** Tools with a deeper schema are not offered: indented for people, the schema would be far longer. */
  schemaDepthMax: 32,
  /** A tool list older than this is refreshed with the next call. */
  checkEveryMs: 60_000,
  /** Tool lists that an isolate remembers, by server and by the requester whose account is used. */
  listsKeptMax: 500,
  /** Bytes of one response, which is read into memory. */
  answerBytesMax: 4 * 1024 * 1024,
  /** Wait for the stream on which a server sends what belongs to no request. */
  listenMs: 1_000,
  /** Wait before it is opened again, this often, when the server says that the session has one. */
  listenAgainMs: 100,
  listenAgainMax: 3,
  /** Requests that a server may send during one of the hub: each is answered. */
  requestsOfServerMax: 64,
  /** A stream that ended before its response is resumed this often. */
  resumedMax: 30,
  /** Wait before a stream is resumed, unless the server states another one, which is at most the second. */
  resumeMs: 1_000,
  resumeMsMax: 15_000,
  timeoutMs: 60_000,
  /** Time to open a session, in which one call opens it for all of its run; the others look this often. */
  openMs: 20_000,
  lookEveryMs: 100,
  /** A session that its run has not used for this time is closed; its use is recorded this often. */
  sessionIdleMs: 900_000,
  sessionTouchMs: 60_000,
  /** What is left of a session whose run did not end in this time is deleted. */
  sessionKeptMs: 604_800_000,
  /** Sessions that one sweep closes. */
  sessionsClosedAtOnce: 20,
  /** Time for `tools/list`, when an admin adds or refreshes a server. */
  refreshMs: 20_000,
} as const

/** Accounts that people connect at remote MCP servers. */
export const connectedAccounts = {
  /** Time of one request to an authorization server, and of all requests of a step. */
  timeoutMs: 10_000,
  stepMs: 30_000,
  answerBytesMax: 256 * 1024,
  /** A visit to an authorization server comes back within this time. */
  attemptMs: 600_000,
  /** The hub registers itself anew after this time: a server may forget its clients. */
  clientReuseMs: 86_400_000,
  /** An access token is renewed this long before it expires. */
  renewBeforeMs: 30_000,
  /** One call renews the tokens within this time; other calls look this often whether it has. */
  renewalMs: 15_000,
  lookEveryMs: 250,
} as const

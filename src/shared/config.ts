/**
 * Every default and limit of the hub, with the unit in the name. Settings that an operator sets in
 * the environment are in settings.ts.
 */
export const limits = {
  post: {
    titleCharsMax: 300,
    contentCharsMax: 40_000,
    urlCharsMax: 2_000,
    /** Of a title that is made from the text. */
    madeTitleCharsMax: 100,
  },
  comment: { contentCharsMax: 10_000, depthMax: 10 },
  task: { contentCharsMax: 10_000 },
  directMessage: { contentCharsMax: 10_000, previewChars: 140, pageDefault: 50, pageMax: 100 },
  account: { nameCharsMin: 2, nameCharsMax: 32, descriptionCharsMax: 1_000 },
  community: { nameCharsMin: 2, nameCharsMax: 32, descriptionCharsMax: 2_000 },
  page: {
    postsDefault: 25,
    postsMax: 100,
    commentsDefault: 100,
    commentsMax: 500,
    /** First comments of a thread that are listed by votes: a cursor has a bit for each. */
    votedCommentsMax: 20_000,
  },
  search: {
    resultsDefault: 20,
    resultsMax: 50,
    queryCharsMax: 500,
    queryTermsMax: 32,
    /** Documents that are ranked: the words that stand in the fewest choose them. */
    candidatesMax: 5_000,
    /** Documents of each kind, in the title and elsewhere, that are looked at when all words are common. */
    newestMax: 100,
    /** Hits that are counted for the numbers beside the kinds. */
    countedMax: 100,
    /** Words of a search that found nothing that are tried with another spelling. */
    misspeltMax: 2,
  },
  /** Counts of unread items stop here, so that an inbox that nobody reads costs no more. */
  unreadCountMax: 1_000,
  /** Accounts that one item notifies: the first ten that the item mentions. */
  mentionsPerItemMax: 10,
  /** Mentioned names of a text about which its author learns that they reached nobody. */
  unreachedNamesMax: 30,
  /** Size of one stored value. Deployed D1 and Durable Objects refuse values over 2 MB. */
  storedRowBytesMax: 1024 * 1024,
  /** Size of the record of a run in the database. A larger one is in object storage. */
  traceBytesMax: 512 * 1024,
  /** Size of the record of a run. The texts of a larger one are truncated. */
  recordBytesMax: 8 * 1024 * 1024,
  idempotencyKeyCharsMax: 200,
  sessionDays: 30,
  signInLinkHours: 24,
  keysPerAccountMax: 20,
} as const

/** Default limits of one activation. A definition can set others, up to the ceilings. */
export const activationLimits = {
  /** Tokens of the first prompt reserved for the status and the text of hooks. */
  addedTokensMax: 2_048,
  iterations: 10,
  iterationsCeiling: 200,
  tokens: 100_000,
  durationSeconds: 300,
  durationSecondsCeiling: 1_800,
  errors: 5,
  toolCallsPerStep: 16,
  toolCallsPerActivation: 100,
  /** Concurrent tool calls. A Worker has six outgoing connections; one is reserved for the model. */
  toolCallsAtOnce: 5,
  toolTimeoutMs: 30_000,
  toolResultBytes: 50 * 1024,
  modelAnswerBytes: 512 * 1024,
  /** Until the first byte of an answer. A server on a private address may load the model first. */
  modelFirstByteSeconds: 120,
  modelFirstBytePrivateSeconds: 600,
  modelBetweenBytesSeconds: 120,
  retries: 3,
  retryBaseMs: 2_000,
  retryCapMs: 30_000,
  outputTokens: 4_096,
  contextTokensFallback: 8_192,
} as const

/** Images that accounts upload. */
export const media = {
  bytesMax: 8 * 1024 * 1024,
  /** Of the picture of an account or a community. */
  pictureBytesMax: 256 * 1024,
  /** Pixels of its longer side. */
  pictureSideMax: 1_024,
  /** Of an image that a model sees, or of the reduced form that it sees in its place: what providers take unchanged. */
  reducedBytesMax: 1_000_000,
  /** Pixels of its longer side. */
  reducedSideMax: 1_568,
  pixelsMax: 40_000_000,
  /** Pixels of the longer side: more than five digits are not part of an id. */
  sideMax: 65_535,
  /** Of all images of one account, unless the hub has a setting of its own. */
  quotaMbDefault: 500,
  /** Images that one text shows; further ones are links. */
  perTextMax: 20,
  /** Characters of the description of an image. */
  altCharsMax: 1_000,
  /** An image that no text shows is deleted after this time. */
  unusedMs: 24 * 60 * 60 * 1000,
  /** Images that one sweep deletes; the next sweep continues. */
  deletedPerSweep: 100,
} as const

/** Backups. */
export const backupLimits = {
  /** A client can ask the hub to hold writes for at most so long. */
  holdSecondsMax: 600,
} as const

/** How interrupted runs go on after their process has stopped; see `src/agents/recovery.ts`. */
export const recovery = {
  /** Time that a run waits to be alone, and time that it then has its turn, after its first interruption. */
  turnMs: 10_000,
  /** Each further interruption multiplies these times. */
  turnFactor: 6,
  turnMsMax: 600_000,
  /** How often a waiting run asks for its turn. */
  askMs: 50,
  /** A run that has not asked for this long is gone. */
  goneMs: 5_000,
} as const

/** Limits between agents that hold in a community: agents that wake one another in a row, comments in a thread. */
export interface ReplyLimits {
  hopLimit: number
  replyLimit: number
}

const replyLimitDefaults: ReplyLimits = { hopLimit: 4, replyLimit: 3 }
/** Below `lookBack`, and so that agents stop after few model calls. */
const replyLimitCeilings: ReplyLimits = { hopLimit: 10, replyLimit: 20 }

/** Reply limits and hop limit between agents, counted since the last words of a person. */
export const replyLimits = {
  /** Used until an admin sets others for the hub, or a moderator for a community, up to the ceilings. */
  defaults: replyLimitDefaults,
  ceilings: replyLimitCeilings,
  repliesInARowMax: 1,
  /** Comments of a thread that are counted, from the newest. */
  lookBack: 40,
  /** Calls in which an external agent may wake the same agent of this hub within `callsWindowMs`. */
  callsOutsideMax: 30,
  callsWindowMs: 60 * 60 * 1000,
} as const

/** Limits of an agent's memory between activations, and of its share in a prompt. */
export const memoryLimits = {
  /** Facts in a prompt, unless the definition sets `max_facts`. */
  factsInPrompt: 50,
  /** Facts that one agent stores. */
  factsMax: 1_000,
  factCharsMax: 500,
  sourceCharsMax: 200,
  /**
   * For how long, and how many, earlier versions of its facts one agent keeps: at most about 1 MB of ASCII text, and
   * typically 200 bytes each.
   */
  pastFactsMs: 90 * 86_400_000,
  pastFactsMax: 1_000,
  openTasksMax: 50,
  /** Maximum age of the storage size that a prompt contains. */
  storageBytesEveryMs: 60_000,
  taskCharsMax: 500,
  /** Activations of a session that are read into a prompt; a compaction merges them into one. */
  historyTurnsMax: 50,
  /**
   * Share of the model's window that the history of the session may fill. The history is normally
   * compacted long before; messages beyond this share are not read, not even for the compaction.
   */
  historyWindowShare: 0.6,
  /** Share of the model's window that the task with its thread may fill. */
  threadWindowShare: 0.3,
  /** Share of the model's window that facts, recent activity and open tasks may fill. */
  factsWindowShare: 0.15,
  /** Share of the model's window that the text of triggered skills may fill. */
  skillsWindowShare: 0.2,
  /** Characters of a tool's result, its arguments and a text that are stored after the activation. */
  keptResultCharsMax: 2_000,
  keptArgumentsCharsMax: 1_000,
  keptTextCharsMax: 8_000,
  summaryCharsMax: 8_000,
  /** Recent activations of other sessions in a prompt. */
  latelyMax: 10,
  gistCharsMax: 280,
  /** Sessions that one agent stores; the least recently used are deleted. */
  sessionsMax: 2_000,
  /** Saved activations between two checks of that limit. */
  sessionsPrunedEvery: 100,
  sessionsListed: 200,
  sessionIdCharsMax: 200,
  restoredMessagesMax: 500,
} as const

/** When and how far history is replaced by a summary. Shares are of the model's window. */
export const compaction = {
  warnShare: 0.8,
  aboveShare: 0.95,
  aboveEntries: 50,
  aboveTokens: 100_000,
  autoShare: 0.82,
  /** Target of a manual compaction, or of one after the window truncated an answer. */
  forcedShare: 0.6,
  /** Target number of messages: half of the limit, so that three attempts suffice for long. */
  toEntries: 25,
  attempts: 3,
  summaryCharsMax: 6_000,
  /** Limit of a summary in a small window: a twentieth of the window. */
  summaryCharsPerToken: 0.2,
  summaryOutputTokens: 1_500,
  /** Limit of the text that is summarized; with fewer characters per token than usual, as a margin. */
  recordCharsMax: 120_000,
  recordCharsPerToken: 2.5,
} as const

/** Iteration limits by profile. */
export const profileIterations = {
  safe_assistant: 10,
  research_agent: 15,
  system_admin: 20,
  automation_agent: 50,
} as const

/** Limits and intervals of running activations and sweeps. */
export const scheduling = {
  concurrentActivationsMax: 50,
  /** Interval of sweeps while the sweep is armed. */
  sweepIntervalMs: 3_000,
  /** Time for which the sweep stays armed; then it runs at the slow interval. */
  sweepArmedMs: 60_000,
  sweepSlowMs: 600_000,
  /** Delay of the alarm that resumes an activation whose machine died. */
  watchdogMs: 3_000,
  /** Time after its start at which a still running activation gets that alarm. */
  graceMs: 250,
  /** A Durable Object event ends after this many effects or this time, and sets an alarm for now. */
  effectsPerEvent: 20,
  eventMs: 60_000,
  /**
   * Retry interval of an agent that was refused for capacity or money; it grows with the time that the agent has
   * waited. The run that makes room wakes those that wait longest.
   */
  capacityRetryMs: 2_000,
  capacityRetryMsMax: 15_000,
  /** A task is claimed within this time of its wake-up; until then a slot is kept for it. */
  claimMs: 10_000,
  /** Time for the commit, added to the activation's duration limit for its deadline. */
  deadlineGraceMs: 30_000,
  /** Delay of a wake-up, so that the answer of the request that causes it leaves first. */
  wakeDelayMs: 5,
} as const

/** How often a model provider that is down is called again: by one agent, while agents wait for it. */
export const outageRetry = {
  /** Until the first attempt; doubles with each that fails. */
  baseMs: 5_000,
  capMs: 60_000,
  /** After this time an attempt without a result counts as lost. */
  attemptMs: 120_000,
} as const

/** Which agents explore, and how often. */
export const explorationScheduling = {
  /** The unit in which the scheduler counts staleness: about one activation. */
  slotMs: 30_000,
  /** An agent's weight is clamped to this range and rounded to a tier; tiers are spaced logarithmically. */
  weightMin: 0.1,
  weightMax: 10,
  weightTiers: 15,
  /** Share of the capacity reserved for exploration while tasks wait, in `hybrid` mode. */
  explorationFloor: 0.2,
  /** The same in `exploration` mode. In `notification` mode no agent explores. */
  explorationFloorHigh: 0.8,
  /** Interval between two explorations of one agent, unless its definition sets another. */
  intervalMs: 900_000,
  /** Wait of an agent that has never run after it found no post, if its interval is not shorter. */
  firstLooksMs: 60_000,
  hourlyMs: 3_600_000,
  dailyMs: 86_400_000,
  /** Maximum backoff. The interval doubles with each failure, and jitter adds up to this share. */
  backOffMsMax: 86_400_000,
  backOffJitter: 0.25,
  /** Failures in a row that open the circuit: the maximum backoff, and a post in m/agent-errors. */
  failuresMax: 5,
} as const

/** Which posts an exploring agent is offered. */
export const exploration = {
  /** Age of a post: people get the first five minutes, and a post expires after a day. */
  ageMsMin: 300_000,
  ageMsMax: 86_400_000,
  /** A thread with this many replies of agents, or with a person's comment this recent, is skipped. */
  agentRepliesMax: 3,
  humanQuietMs: 120_000,
  /** Newest posts that are ranked, and how many of the best are offered. */
  lookMax: 500,
  candidatesMax: 5,
  contentChars: 1_500,
  commentsShown: 3,
  commentChars: 280,
  /** Minimum confidence, unless the definition sets another. */
  minConfidence: 0.5,
  /** Time for which tasks leave capacity to an agent whose exploration was refused. */
  waitsMs: 60_000,
} as const

/** Limits of budgets. Their default thresholds are in `src/hub/rules/budget-levels.ts`. */
export const budgetLimits = {
  /** Length of the id of a provider, model or community in a budget's scope. */
  scopeIdCharsMax: 200,
  /** Agents, communities and models suggested in the budget form; other names can be typed. */
  namesOffered: 100,
  /** Models and providers are suggested when they were used in the last so many days. */
  namesDays: 30,
  /** Differences listed by a reconciliation of budgets with usage. */
  differencesMax: 1_000,
  /** Budgets that one sweep creates windows for; the next sweep continues. */
  extendedPerSweep: 250,
  /** Windows in one write: their list is one parameter, which D1 limits to 2 MB. */
  windowsPerWrite: 1_000,
} as const

/** Limits of the hub's daily summaries and of its reports of unusual usage. */
export const reports = {
  /** Usage is unusual from this multiple of the agent's usual day. */
  unusualFactor: 5,
  /** The usual day is the median of the active days among the last so many, of at least so many. */
  usualDays: 14,
  usualDaysMin: 5,
  /** A day with fewer tokens is never reported as unusual. */
  unusualTokensMin: 20_000,
  /** Agents that a summary lists; the totals include all. */
  agentsMax: 50,
  /** A late summary is still written within so many days. */
  lateDaysMax: 7,
} as const

/** Limits of an agent's plan. */
export const planLimits = {
  stepsMax: 40,
  titleCharsMax: 200,
  goalCharsMax: 400,
  /** Excerpt of the output of a step, or of the reason why it failed. */
  outputCharsMax: 300,
} as const

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

/** When agents follow threads that they answered in. */
export const following = {
  /** Following ends after this time without a comment. */
  quietMs: 24 * 60 * 60 * 1000,
  /** Comments, and mentions, of a thread that are searched for other agents. */
  lookBack: 200,
  /** Agents that one comment without a name reaches. */
  agentsMax: 3,
} as const

/** Comments that join a run while it works. */
export const steering = {
  /** Comments that are taken at a time. */
  itemsMax: 10,
  /** Characters of one that its model reads. */
  charsMax: 8_000,
} as const

/** Compaction of a session by hand: time for all of its summaries. */
export const manualCompaction = { timeoutMs: 60_000 } as const

/** Limits of a definition as a whole, and defaults of its `behavior.limits`. */
export const definitionLimits = {
  /** Minimum of `brain.max_context_tokens`: rules and tools alone take much of this. */
  contextTokensMin: 4_000,
  dailyPosts: 5,
  dailyComments: 50,
  responsesPerThread: 3,
  intervalSeconds: 60,
  /** Agents that one member can own. */
  agentsPerMember: 5,
  filesMax: 64,
  /** One file, and the prompt with its templates filled in. */
  fileCharsMax: 128 * 1024,
  /** All files of a definition together. */
  charsMax: 512 * 1024,
  linesMax: 10_000,
  /** Words and marks of YAML in `config.yaml` and in the front matter of all skills together. */
  yamlTokensMax: 10_000,
  /** Grants, keywords and communities that the skills of a definition name, all together. */
  skillTermsMax: 500,
  /** Problems, and warnings, that are listed of one definition. */
  detailsMax: 50,
  /** Versions of one agent whose files are kept. */
  versionsKept: 100,
  /** Versions that one member can save in 24 hours. With `versionsKept`, a run that waits a day still has its files. */
  savesPerDay: 100,
} as const

/** Limits of request bodies, by what a route reads. */
export const bodyLimits = {
  /** A form; the longest post fits, with every character percent-encoded. */
  formBytesMax: 512 * 1024,
  /** A form that signs in or joins, with the answer of a passkey. */
  secretFormBytesMax: 128 * 1024,
  jsonBytesMax: 2 * 1024 * 1024,
  /** A request of a coding agent to its model: a whole conversation, with pictures. */
  modelBytesMax: 4 * 1024 * 1024,
  /** A body of the class `upload`, which only admins can send. */
  uploadBytesMax: 64 * 1024 * 1024,
  jsonDepthMax: 64,
  /** Entries of all objects and lists of a JSON body: each costs far more than its bytes. Uploads have no such limit. */
  jsonValuesMax: 50_000,
  /** An archive nests a thread's replies; deeper ones are imported at the maximum depth of comments. */
  uploadJsonDepthMax: 2_000,
  /** Time until the last byte of a body has to arrive. */
  readMs: 30_000,
  uploadReadMs: 300_000,
} as const

/**
 * Requests of one account or address, by class of route. Routes of `signIn` and `register` count by
 * address. A deployed hub applies the limits of the other classes with the bindings in wrangler.toml.
 */
export const rateLimits = {
  read: { requests: 1_200, periodSeconds: 60 },
  write: { requests: 300, periodSeconds: 60 },
  search: { requests: 300, periodSeconds: 60 },
  upload: { requests: 300, periodSeconds: 60 },
  connect: { requests: 300, periodSeconds: 60 },
  signIn: { requests: 30, periodSeconds: 60 },
  register: { requests: 30, periodSeconds: 3_600 },
} as const satisfies Record<string, { requests: number; periodSeconds: number }>

/** Class of a route in `rateLimits`. */
export type RateClass = keyof typeof rateLimits

/** Class of a call within a request, such as of a tool. */
export type CallClass = 'read' | 'write' | 'search'

/** Counting of requests, and the backoff of addresses that send wrong keys. */
export const rateCounting = {
  /** Multiple of the limits for programs on the hub's own machine, except `signIn` and `register`. */
  loopbackFactor: 1_000,
  /** Multiple of the limits of `signIn` and `register` for all addresses of one IPv6 /48. */
  wideNetworkFactor: 10,
  /** Accounts, credentials and addresses that one isolate keeps; the least recently used are dropped. */
  subjectsMax: 20_000,
  /** Wrong keys, and failed sign-ins, of an address before it has to wait. */
  wrongKeysFree: 40,
  failedSignInsFree: 5,
  /** The first wait; it doubles with each further failure. */
  backoffBaseMs: 1_000,
  backoffCapMs: 60_000,
  /** Time without a failure after which the failures of an address are forgotten. */
  forgetMs: 600_000,
} as const

/** Signing in, besides the lives of sessions and of an admin's links. */
export const signInLimits = {
  /** A sign-in link for another device of the same person. */
  deviceLinkMinutes: 15,
  /** Time to answer the prompt of a passkey, or to come back from another service. */
  attemptMinutes: 10,
  passkeysPerAccountMax: 20,
  identitiesPerAccountMax: 20,
  /** Sessions of an account by one way to sign in, and unused links; the oldest ends when another one begins. */
  sessionsPerWayMax: 50,
  linksPerAccountMax: 20,
  /** How long settings show a sign-in link that somebody else created. */
  linkNoticeDays: 30,
} as const

/** What an account has in its own feed. */
export const subscriptionLimits = {
  /** Communities, and as many accounts. */
  perAccountMax: 200,
  /** The latest posts of a followed account that are sorted otherwise than by time. */
  latestMax: 100,
} as const

/** What GET /home shows. */
export const homeLimits = {
  /** Posts of each list. */
  postsMax: 10,
  /** The newest unread items of the inbox that are looked at. */
  itemsMax: 200,
} as const

/** Posts of the order "rising". */
export const risingLimits = {
  /** The newest posts, among which it ranks. */
  candidatesMax: 200,
  /** Of those, the newest of each community and account in one's own feed. */
  ofEachMax: 50,
} as const

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

/** Reviews of pull requests that triggers take. */
export const reviewLimits = {
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

/** Limits of replays, which run a recorded run again. */
export const replayLimits = {
  repeatsMax: 5,
  /** How old the result of a baseline may be that another replay gets. */
  reuseMs: 7 * 86_400_000,
  /** Lanes of all replays that run at a time; the others are queued. */
  runningMax: 4,
  /** Lanes of one account that are queued or run. */
  perAccountMax: 24,
  /** The most that a lane may cost of whose models one has no known price. */
  unpricedCostMicrousdMax: 1_000_000,
  /** A lane that has not ended this long after its deadline counts as lost. */
  lostMs: 600_000,
  /** Until the sweep looks again while lanes are queued or run. */
  sweepMs: 5_000,
  /** Replays of a run that are listed. */
  listedMax: 50,
  /** Of the tool calls that are kept of a lane, besides its record. */
  callsMax: 200,
  notesMax: 50,
  argumentsCharsMax: 4_000,
  answerCharsMax: 100_000,
  /** Of what a run was asked, as it is shown and judged. */
  questionCharsMax: 8_000,
} as const

/** Limits of sets of recorded runs, and of trials of a draft on them. */
export const trialLimits = {
  setsPerAgent: 20,
  nameCharsMax: 60,
  casesPerSet: 200,
  checksPerCase: 10,
  checkCharsMax: 500,
  noteCharsMax: 2_000,
  /** Of an import. */
  importBytesMax: 1024 * 1024,
  /** Runs that an import names and its set does not have. */
  importRunsMax: 400,
  importLinesMax: 10_000,
  repeatsMax: 5,
  /** Cases of a trial that run at a time. */
  casesAtOnce: 4,
  /** Trials of one account that have not finished. */
  perAccountMax: 5,
  /** Trials of a set that are listed. */
  listedMax: 50,
  /** Of an answer, and of what a run was asked, in the list of the cases of a trial. */
  listedCharsMax: 1_000,
  /** Of what a judge says of one. */
  judgeCharsMax: 2_000,
  /** Cases that begin, or are skipped, before a trial lets others go on. */
  casesPerTurn: 10,
  /** Cases that differ, before a trial says better or worse: five of five come out one way by chance in 1 of 16 trials. */
  differencesMin: 6,
  /** Cases that people and a judge have both decided, before their agreement is shown. */
  agreementMin: 10,
} as const

/** Limits of the model that compares two answers of a trial. */
export const judgeLimits = {
  /** Of each text that it is shown; a longer one loses its middle. */
  answerBytesMax: 12_000,
  questionBytesMax: 6_000,
  noteBytesMax: 4_000,
  /** Of its answer, with what it thinks before. */
  outputTokens: 4_096,
  reasonCharsMax: 500,
  /** Of one comparison, with the waits for money and for a provider that is busy. */
  durationMsMax: 600_000,
} as const

/** Triggers, with which other services post in a community or give an agent a task. */
export const triggerLimits = {
  perAccountMax: 20,
  templateCharsMax: 4_000,
  /** Placeholders of a template, and fields and indexes in the path of one. */
  placeholdersMax: 50,
  pathPartsMax: 10,
  /** Of the values that a payload gives to a template; the rest is left out. */
  valuesBytesMax: 64 * 1024,
  /** Of a body, which has to be read as a whole for its signature. */
  bodyBytesMax: 1024 * 1024,
  perHourDefault: 60,
  perHourMax: 600,
  /** Between the time of a delivery and that of the hub. */
  toleranceMs: 5 * 60_000,
  /** Within it the same body is the same delivery, where the sender names none. */
  sameBodyMs: 10 * 60_000,
  /** A secret is accepted for so long after a new one was made. */
  oldSecretMs: 24 * 3_600_000,
  /** Secrets that were replaced and are still accepted. */
  oldSecretsMax: 4,
  /** Deliveries are kept for so long; GitHub sends one again within three days. */
  keptMs: 7 * 24 * 3_600_000,
  /** Deliveries that started nothing and are kept; anybody can send them. */
  refusedMax: 20,
  shownMax: 10,
  /** Of the id of a delivery, and of the name of its event. */
  idCharsMax: 200,
} as const

/** Limits of an import of an archive. */
export const importLimits = {
  recordsMax: 100_000,
  /** Comments of all records of a request. */
  commentsMax: 200_000,
  /** Of a post or comment: as UTF-8 with its HTML it stays below the size of a stored row. */
  textCharsMax: 262_144,
  /** Posts and comments, and characters of their texts, that one batch writes: its parameters stay below D1's 2 MB. */
  rowsPerGroup: 500,
  charsPerGroup: 400_000,
  /** Entries of each list of the report; those beyond are counted. */
  reportEntriesMax: 1_000,
} as const

/** Limits of live updates of threads over WebSockets. */
export const liveLimits = {
  /**
   * Number of Durable Objects that all topics share. One takes about 1,000 small calls a second and
   * 32,768 sockets; starting one costs more than many calls, so a few for the whole hub are cheaper
   * than one per thread. A change takes effect with a deployment: open pages reconnect by themselves.
   */
  objects: 8,
  /** Watchers of one topic; more indicate an attack or a bug. */
  watchersPerTopicMax: 1_000,
  watchersPerObjectMax: 20_000,
  /** Open sockets of an account, on threads and runs together; of an address, for those without an account. */
  socketsPerAccountMax: 100,
  socketsPerAddressMax: 200,
  /** How long an account or address with that many is refused before its sockets are counted again. */
  recountMs: 5_000,
  /** Time for which no socket can be opened whose like were closed: longer than an upgrade. */
  closedMs: 3_000,
  /** Age of events sent to a new watcher: longer than an upgrade, shorter than an object's lifetime. */
  recentMs: 8_000,
  /** That an object is watched is noted again when the note is older: each note is a write. */
  markedMs: 30_000,
  /** Age of a note that can be deleted: by `markedMs` and an upgrade longer than that nobody is about to watch. */
  unmarkedMs: 60_000,
  /** A run reported longer ago than this counts as ended: the report of its end was lost. */
  workingMsMax: 600_000,
  /** Events that one object holds in memory. */
  recentEventsMax: 2_000,
  /** Threads that one session of MCP subscribes to. */
  threadsPerSessionMax: 20,
  /** Sessions of an account whose threads one object stores; the one that was used longest ago makes room. */
  sessionsPerAccountMax: 20,
  /** Sessions that were not used for this long are deleted. */
  sessionMs: 86_400_000,
} as const

/** Limits of watching one activation. */
export const streamLimits = {
  /** Text deltas within this time are sent together. */
  coalesceMs: 100,
  /** Text, and reasoning, of one model call that watchers receive. */
  textCharsMax: 12_000,
  /** Excerpt of a text, arguments or a result in an event. */
  excerptChars: 400,
  /** Characters in all events of one activation; later events have empty texts. */
  eventCharsMax: 64_000,
  watchersPerActivationMax: 300,
} as const

/** Limits of the gateway through which coding agents use models. */
export const modelGateway = {
  /** Tokens of a picture, whatever its size: more than any provider counts for one. */
  pictureTokensMax: 12_000,
  /** Characters of one event of a stream; what a longer one says is not read. */
  eventCharsMax: 4 * 1024 * 1024,
  /** Bytes of an answer; the connection of a longer one is broken. */
  answerBytesMax: 32 * 1024 * 1024,
  /** Bytes of a provider's error that are read. */
  errorBytesMax: 64 * 1024,
  /** Waits before the result of a request is reported again to an object that did not answer. */
  settleAgainMs: [200, 1_000],
} as const

/** Admins who open what is private to a community or an account. */
export const openings = {
  holdsMs: 3_600_000,
  reasonCharsMax: 500,
  listed: 100,
} as const

/** Limits of reports, actions of moderators and appeals. */
export const moderationLimits = {
  reasonCharsMax: 500,
  appealCharsMax: 2_000,
  /** Pinned posts of one community. */
  pinsMax: 3,
  /** Reports that one account makes an hour. */
  reportsPerHourMax: 20,
  pageMax: 50,
  /** Reports of one post or comment that the queue quotes. */
  reasonsShownMax: 10,
  /** Characters of a reported text in the queue. */
  excerptCharsMax: 2_000,
} as const

/** Limits of usage charts: series beyond the maximum are drawn as one. */
export const usageCharts = { seriesMax: 8, daysDefault: 30, tableRowsMax: 100 } as const

/** Limits of the scheduler's page: agents and waiting tasks per page, and agents in the CSV. */
export const schedulerPages = { agents: 50, tasks: 25, csvAgentsMax: 5_000 } as const

/** Limits of the list of runs. */
export const runLists = {
  pageDefault: 50,
  /** Newest runs that a filter and its totals look at; a later page goes on where they end. */
  scannedMax: 10_000,
  csvRowsMax: 10_000,
  textCharsMax: 200,
  /** Views that an account keeps, and the length of a view's name and filter. */
  viewsMax: 20,
  viewNameCharsMax: 60,
  viewQueryCharsMax: 1_000,
} as const

/** Feedback on answers: the length of a note, and what an agent's page shows. */
export const runFeedbackLimits = { noteCharsMax: 1_000, daysShown: 30, notesShown: 5 } as const

/** Limits of the list of spending by requester, and after what time a sweep counts a model call for it. */
export const requesterLists = {
  shown: 10,
  tasksMax: 6,
  lagMs: 3_600_000,
  /** Requesters of a window that has ended. */
  keptMax: 100,
  keptMs: 400 * 86_400_000,
  /** Ended windows that a list offers. */
  windowsShown: 12,
} as const

/** Limits of claims, invitations, and what admins do with accounts. */
export const peopleLimits = {
  claimHours: 24,
  invitationDaysDefault: 7,
  invitationDaysMax: 90,
  /** Invitations of one account that can still be used. */
  openInvitationsMax: 100,
  noteCharsMax: 200,
  reasonCharsMax: 500,
  /** Accounts on a page of /admin/people. */
  pageSize: 50,
} as const

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

const minute = 60_000
const hour = 60 * minute

/** Limits of webhooks, which send what happens to other services. */
export const webhookLimits = {
  perAccountMax: 20,
  perCommunityMax: 20,
  /** Of one account in a community, so that others can have some there, too. */
  perMemberMax: 5,
  urlCharsMax: 2_000,
  /** Webhooks that one sender claims at once: each uses a connection, of which an invocation has six. */
  claimedMax: 4,
  /** Deliveries to one webhook in a round, and rounds, before the sender leaves the rest to the sweep. */
  sentPerClaimMax: 10,
  roundsMax: 10,
  /** A sender begins no delivery later than this after it started: the platform ends work after an answer at 30 s. */
  sendMsMax: 15_000,
  timeoutMs: 10_000,
  /** Another sender takes over what a sender has claimed after this time. */
  claimMs: 60_000,
  /** Waits after failed attempts, of which up to a tenth is random; the last one repeats. */
  retriesMs: [
    5_000,
    5 * minute,
    30 * minute,
    2 * hour,
    5 * hour,
    10 * hour,
    14 * hour,
    20 * hour,
    24 * hour,
  ],
  /** No wait is longer: the last one with its random part. */
  waitMsMax: 27 * hour,
  /** How long a refused delivery holds up the others to its webhook: only the refused one waits longer. */
  refusedMs: minute,
  /** A webhook that fails for so long is disabled, and a delivery is given up. */
  failingMsMax: 5 * 24 * hour,
  /** How long the previous secret signs after a rotation. */
  rotationMs: 24 * hour,
  /** Previous secrets that sign at the same time. */
  previousSecretsMax: 4,
  /** How long deliveries are kept, and how many of them a sweep deletes. */
  keptMs: 30 * 24 * hour,
  deletedPerSweep: 1_000,
  /** Deliveries that a page lists. */
  listedMax: 50,
  /** Characters of a text in a message; the link leads to the rest. */
  textCharsMax: 20_000,
  slackCharsMax: 2_900,
  discordCharsMax: 2_000,
} as const

/** Limits of mail. */
export const mailLimits = {
  addressCharsMax: 254,
  /** Messages that a sender claims at once, and rounds before it leaves the rest to the sweep. */
  claimedMax: 20,
  roundsMax: 10,
  /** A sender begins no message later than this after it started: the platform ends work after an answer at 30 s. */
  sendMsMax: 15_000,
  /** Of a connection, and of each step of it. */
  timeoutMs: 10_000,
  /** Another sender takes over what a sender has claimed after this time. */
  claimMs: minute,
  /** Waits after failed attempts, of which up to a tenth is random; the last one repeats. */
  retriesMs: [30_000, 5 * minute, 30 * minute, 2 * hour, 5 * hour],
  /** No wait is longer: the last one with its random part. */
  waitMsMax: 6 * hour,
  /** A message that was not sent for so long is given up. */
  keptTryingMs: 2 * 24 * hour,
  /** Messages in a row that a server refuses for good before an address is stopped. */
  refusalsMax: 3,
  /** How long the link that confirms an address works, and how many an account gets in a day. */
  confirmMs: 24 * hour,
  confirmationsPerDayMax: 5,
  /** Accounts that may have the same address unconfirmed: each sends it a message. */
  unconfirmedPerAddressMax: 3,
  /** How long a sign-in link works, and how many an address is sent in an hour. */
  signInMs: 15 * minute,
  signInsPerHourMax: 5,
  /** No digest is further away: a day, and an hour by which clocks go back. */
  digestWaitMsMax: 26 * hour,
  /** Notifications and posts of a digest, how many posts of a source are counted, and digests that a sweep queues. */
  digestItemsMax: 50,
  digestPostsMax: 20,
  digestPostsCounted: 100,
  /** A digest has nothing that is younger when it is queued. */
  digestSettleMs: minute,
  digestsPerSweep: 50,
  subjectCharsMax: 150,
  /** Characters of a text in a message; the link leads to the rest. */
  textCharsMax: 2_000,
  listedMax: 50,
  /** Waiting messages that the page of admins counts. */
  waitingCounted: 1_000,
} as const

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

/** What is kept of a text that was edited, besides the text as it is now. */
export const textVersionLimits = {
  /** Earlier versions; beyond it the oldest after the first go. */
  keptMax: 50,
  /** Length of the newest ones together. */
  charsMax: 400_000,
} as const

/** Limits of texts that are stored with their HTML, and of pages that show many of them. */
export const renderedTexts = {
  /** Length of one text's HTML. A text that would be longer is stored as plain text. */
  htmlCharsMax: 256 * 1024,
  /** Comments, strings, numbers and keywords of a text's code that have a color; what follows has none. */
  codeSpansMax: 2_000,
  /** Comments of a page, and the length of all their HTML; beyond it a page shows excerpts. */
  commentsPerPage: 50,
  pageHtmlCharsMax: 1024 * 1024,
  excerptCharsMax: 1_000,
  /** Comments after the linked one on the page of a link to a comment. */
  commentsAfterLinked: 24,
  /** Texts, and their length, that are rendered again after a page has shown them. */
  renderedAgainMax: 10,
  renderedAgainCharsMax: 100_000,
} as const

// With the file extension: scripts run this file directly in Node.
export * from './config-tools.ts'

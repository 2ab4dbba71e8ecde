/**
 * Every default and limit of the hub, the unit in the name. What an operator
 * sets by environment is in settings.ts.
 */
export const limits = {
  post: { titleCharsMax: 300, contentCharsMax: 40_000, urlCharsMax: 2_000 },
  comment: { contentCharsMax: 10_000, depthMax: 10 },
  task: { contentCharsMax: 10_000 },
  directMessage: { contentCharsMax: 10_000, previewChars: 140, pageDefault: 50, pageMax: 100 },
  account: { nameCharsMin: 2, nameCharsMax: 32, descriptionCharsMax: 1_000 },
  community: { nameCharsMin: 2, nameCharsMax: 32, descriptionCharsMax: 2_000 },
  page: { postsDefault: 25, postsMax: 100, commentsDefault: 100, commentsMax: 500 },
  search: { resultsDefault: 20, resultsMax: 50, queryCharsMax: 500, queryTermsMax: 32 },
  /** An item that names more accounts delivers to the first ten (H4). */
  mentionsPerItemMax: 10,
  requestBytesMax: 2 * 1024 * 1024,
  importBytesMax: 64 * 1024 * 1024,
  /** Deployed D1 and Durable Objects refuse values over 2 MB; we stay well below, everywhere. */
  storedRowBytesMax: 1024 * 1024,
  /** A trace that would be larger loses the ends of its texts. */
  traceBytesMax: 512 * 1024,
  /** A finished journal up to this size is kept as it is; of a longer one the trace with its excerpts. */
  storedJournalCharsMax: 32 * 1024,
  idempotencyKeyCharsMax: 200,
  sessionDays: 30,
  signInLinkHours: 24,
} as const

/** Limits of one activation (L8, L10). A definition may set lower or higher, never over a ceiling. */
export const activationLimits = {
  /** Room in the first prompt for the status and what hooks say; a longer one is noted by itself. */
  addedTokensMax: 2_048,
  iterations: 10,
  iterationsCeiling: 200,
  tokens: 100_000,
  durationSeconds: 300,
  durationSecondsCeiling: 1_800,
  errors: 5,
  toolCallsPerStep: 16,
  toolCallsPerActivation: 100,
  /** A Worker has six outgoing connections; one is kept for the model. */
  toolCallsAtOnce: 5,
  toolTimeoutMs: 30_000,
  toolResultBytes: 50 * 1024,
  modelAnswerBytes: 512 * 1024,
  modelSilenceMs: 30_000,
  retries: 3,
  retryBaseMs: 2_000,
  retryCapMs: 30_000,
  startsWithoutProgress: 3,
  outputTokens: 4_096,
  contextTokensFallback: 8_192,
} as const

/** Brakes between agents, counted since the last word of a human (H11). */
export const brakeLimits = {
  /** Agents that call one another in a row. */
  hopsMax: 4,
  repliesPerPostMax: 3,
  repliesByOneMax: 3,
  repliesInARowMax: 1,
  /** Comments of a thread that are looked at, from the newest. */
  lookBack: 40,
  /** How long an agent that works outside of this hub is taken to act on an agent's call. */
  calledMs: 60 * 60 * 1000,
  /** How often within that time it may call one agent of this hub, whatever it is answered. */
  callsOutsideMax: 10,
} as const

/** What `behavior.limits` of a definition sets when it says nothing (D6). */
export const definitionLimits = {
  /** The least that `brain.max_context_tokens` may say: the rules and tools alone take a good part of it. */
  contextTokensMin: 4_000,
  dailyPosts: 5,
  dailyComments: 50,
  responsesPerThread: 3,
  intervalSeconds: 60,
} as const

/** Hooks around model and tool calls (L33). */
export const hookLimits = { timeoutMs: 2_000 } as const

/** What an agent keeps between activations, and how much of it a prompt holds (L11, L39). */
export const memoryLimits = {
  /** Facts in a prompt, when the definition names no `max_facts`. */
  factsInPrompt: 50,
  /** Facts that one agent keeps. */
  factsMax: 1_000,
  factCharsMax: 500,
  sourceCharsMax: 200,
  openTasksMax: 50,
  /** How old the size of its storage may be that an agent is told. */
  storageBytesEveryMs: 60_000,
  taskCharsMax: 500,
  /** Activations of a session that are read back; a compaction makes them one. */
  historyTurnsMax: 50,
  /**
   * Share of the model's window that the history of the session may fill. Long before, or after so
   * many messages, it is compacted; what is beyond could not be read even for that.
   */
  historyWindowShare: 0.6,
  /** Share of the model's window that the task with its thread may fill. */
  threadWindowShare: 0.3,
  /** Share of the model's window that facts, what it did lately and open tasks may fill. */
  factsWindowShare: 0.15,
  /** Share of the model's window that the text of triggered skills may fill. */
  skillsWindowShare: 0.2,
  /** Of a tool's result, of its arguments and of a text, once their activation has ended. */
  keptResultCharsMax: 2_000,
  keptArgumentsCharsMax: 1_000,
  keptTextCharsMax: 8_000,
  summaryCharsMax: 8_000,
  /** What it did lately elsewhere. */
  latelyMax: 10,
  gistCharsMax: 280,
  /** Sessions that one agent keeps; those nobody came back to longest are forgotten. */
  sessionsMax: 2_000,
  /** Looked at after every so many saved activations. */
  sessionsPrunedEvery: 100,
  sessionsListed: 200,
  sessionIdCharsMax: 200,
  restoredMessagesMax: 500,
} as const

/** When and how far history gives way to a summary (L19, L20). Shares are of the model's window. */
export const compaction = {
  warnShare: 0.8,
  aboveShare: 0.95,
  aboveEntries: 50,
  aboveTokens: 100_000,
  autoShare: 0.82,
  /** Asked for by hand, or because the window cut an answer short. */
  forcedShare: 0.6,
  /** Half of what is too many, so that three attempts last long. */
  toEntries: 25,
  attempts: 3,
  summaryCharsMax: 6_000,
  /** A summary in a small window is smaller: a twentieth of it. */
  summaryCharsPerToken: 0.2,
  summaryOutputTokens: 1_500,
  /** What the summary is made from, at most; fewer characters a token than usual, to be safe. */
  recordCharsMax: 120_000,
  recordCharsPerToken: 2.5,
} as const

/** Iterations by profile (L8). */
export const profileIterations = {
  safe_assistant: 10,
  research_agent: 15,
  system_admin: 20,
  automation_agent: 50,
} as const

export const scheduling = {
  concurrentActivationsMax: 50,
  /** An armed sweep runs this often ... */
  sweepIntervalMs: 3_000,
  /** ... for this long, then falls back to the slow pace (S6). */
  sweepArmedMs: 60_000,
  sweepSlowMs: 600_000,
  /** The alarm that resumes an activation whose machine died. */
  watchdogMs: 3_000,
  /** Work gets it so long after it began, if it is not over by then. */
  graceMs: 250,
  /** A Durable Object event ends after this many effects or this long, and re-arms for now. */
  effectsPerEvent: 20,
  eventMs: 60_000,
  /** How long an agent that was refused for capacity waits before it asks again. */
  capacityRetryMs: 2_000,
  /** A deadline is the activation's duration limit and this much for its commit. */
  deadlineGraceMs: 30_000,
} as const

/** Whose turn it is to look around (S3 to S7). */
export const turns = {
  /** The unit in which the scheduler counts staleness: about one activation. */
  slotMs: 30_000,
  /** An agent's weight is brought into this range and onto one of the tiers, spaced evenly by logarithm. */
  weightMin: 0.1,
  weightMax: 10,
  weightTiers: 15,
  /** Share of the capacity that looking around keeps while tasks wait, in `hybrid` mode ... */
  explorationFloor: 0.2,
  /** ... and in `exploration` mode. In `notification` mode nobody looks around. */
  explorationFloorHigh: 0.8,
  /** Between two turns of one agent, unless its definition says otherwise. */
  intervalMs: 900_000,
  hourlyMs: 3_600_000,
  dailyMs: 86_400_000,
  /** After a failure the interval doubles, up to this, and is spread by up to this share. */
  backOffMsMax: 86_400_000,
  backOffJitter: 0.25,
  /** So many failures in a row open the circuit: the longest wait, and m/agent-errors says so. */
  failuresMax: 5,
} as const

/** What an agent that looks around is shown, and what it is spared (S9). */
export const exploration = {
  /** A post is left to people first, and is old news after a day. */
  ageMsMin: 300_000,
  ageMsMax: 86_400_000,
  /** Nobody joins a thread in which so many agents spoke, or a person just did. */
  agentRepliesMax: 3,
  humanQuietMs: 120_000,
  /** Of the newest so many posts, the best few. */
  lookMax: 500,
  candidatesMax: 5,
  contentChars: 1_500,
  commentsShown: 3,
  commentChars: 280,
  /** Unless the definition says how sure the agent must be. */
  minConfidence: 0.5,
  /** How long tasks leave room for an agent that could not have its turn. */
  waitsMs: 60_000,
} as const

/** What budgets say unless they are told otherwise: shares of the limit (B3). */
export const budgetLimits = {
  warningShare: 0.8,
  throttleShare: 0.9,
  criticalShare: 1,
  /** Ids of providers, models and communities that a budget may name. */
  scopeIdCharsMax: 200,
  /** Agents, communities and models that the form of a budget offers by name; it takes any ... */
  namesOffered: 100,
  /** ... and models and providers are offered when they were used in so many days. */
  namesDays: 30,
  /** Differences that an audit of the books lists. */
  differencesMax: 1_000,
  /** Budgets that one sweep makes windows for; the next ones go on ... */
  extendedPerSweep: 250,
  /** ... and windows written at once: their list is one parameter, of which D1 takes 2 MB. */
  windowsPerWrite: 1_000,
} as const

/** What the hub says by itself of its agents (B9). */
export const reports = {
  /** An agent is unusual from so many times its usual day on ... */
  unusualFactor: 5,
  /** ... the median of the days on which it worked, of the last so many; fewer are no habit. */
  usualDays: 14,
  usualDaysMin: 5,
  /** A day with fewer tokens is nobody's worry, whatever is usual. */
  unusualTokensMin: 20_000,
  /** Agents that a summary names; the others are in its sums. */
  agentsMax: 50,
  /** A summary that nobody could write in time is written within so many days, or never. */
  lateDaysMax: 7,
} as const

/** Watching threads over WebSockets (H16). */
export const liveLimits = {
  /**
   * The objects that all topics share. A Durable Object takes about 1,000 small calls a second and
   * 32,768 sockets; starting one costs more than many calls, so a few for the whole hub are cheaper
   * than one a thread. To change it, deploy: open pages reconnect by themselves.
   */
  objects: 8,
  /** More watchers of one topic than this are an attack or a mistake. */
  watchersPerTopicMax: 1_000,
  watchersPerObjectMax: 20_000,
  /** Repeated to a new watcher: longer than an upgrade takes, shorter than an object stays. */
  recentMs: 8_000,
  /** Work told of longer ago than this is taken for lost: its end was not heard. */
  workingMsMax: 600_000,
  /** Events in the memory of one object. */
  recentEventsMax: 2_000,
} as const

/** Watching one activation (L22, L42). */
export const streamLimits = {
  /** Text that comes within this time is sent together. */
  coalesceMs: 100,
  /** Of the text and of the reasoning of one model call, what watchers are shown. */
  textCharsMax: 12_000,
  /** Of a text, arguments or a result within an event. */
  excerptChars: 400,
  /** Of all words in the events of one activation; later events come without theirs. */
  eventCharsMax: 64_000,
  watchersPerActivationMax: 300,
} as const

/** What an agent may write into its plan (L41). */
export const planLimits = { stepsMax: 40, titleCharsMax: 200, goalCharsMax: 400 } as const

/** Finished activations, sent to a collector of OpenTelemetry. */
export const traceExport = { timeoutMs: 10_000 } as const

/** Where a budget is heading, and how usage is drawn (B8, B10). */
export const budgetForecast = {
  /** The run rate is the mean of so many whole days ... */
  rateDays: 7,
  /** ... shaped by the days of the week once so many whole weeks are known, of at most the last ... */
  shapeWeeksMin: 2,
  shapeWeeksMax: 4,
} as const

/** Charts of usage: more series than this are drawn as one. */
export const usageCharts = { seriesMax: 8, daysDefault: 30, tableRowsMax: 100 } as const

/** The scheduler's page: agents and waiting tasks a page, and agents in its CSV. */
export const schedulerPages = { agents: 50, tasks: 25, csvAgentsMax: 5_000 } as const

// With its ending: scripts read this file as it is.
export * from './config-tools.ts'

/**
 * Every default and limit of the hub, with the unit in the name. Settings that an operator sets in
 * the environment are in settings.ts.
 */
export const limits = {
  post: { titleCharsMax: 300, contentCharsMax: 40_000, urlCharsMax: 2_000 },
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
  },
  /** Counts of unread items stop here, so that an inbox that nobody reads costs no more. */
  unreadCountMax: 1_000,
  /** Accounts that one item notifies: the first ten that the item mentions. */
  mentionsPerItemMax: 10,
  /** Mentioned names of a text about which its author learns that they reached nobody. */
  unreachedNamesMax: 30,
  /** Size of one stored value. Deployed D1 and Durable Objects refuse values over 2 MB. */
  storedRowBytesMax: 1024 * 1024,
  /** Size of a trace. The texts of a larger one are truncated. */
  traceBytesMax: 512 * 1024,
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

/** Limits of budgets. Their default thresholds are in `src/hub/budgets/levels.ts`. */
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

export * from './config-archive.ts'
// With the file extension: scripts run this file directly in Node.
export * from './config-coding-agents.ts'
export * from './config-conversation.ts'
export * from './config-definitions.ts'
export * from './config-entry.ts'
export * from './config-feed.ts'
export * from './config-git.ts'
export * from './config-import.ts'
export * from './config-live.ts'
export * from './config-model-gateway.ts'
export * from './config-moderation.ts'
export * from './config-pages.ts'
export * from './config-people.ts'
export * from './config-push.ts'
export * from './config-runners.ts'
export * from './config-texts.ts'
export * from './config-tools.ts'

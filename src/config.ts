import * as z from 'zod'

/**
 * Every default and limit of the hub, the unit in the name. Settings that an operator changes by
 * environment are in `settingsSchema` below.
 */
export const limits = {
  post: { titleCharsMax: 300, contentCharsMax: 40_000, urlCharsMax: 2_000 },
  comment: { contentCharsMax: 10_000, depthMax: 10 },
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
  idempotencyKeyCharsMax: 200,
  sessionDays: 30,
  signInLinkHours: 24,
} as const

/** Limits of one activation (L8, L10). A definition may set lower or higher, never over a ceiling. */
export const activationLimits = {
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
  taskCharsMax: 500,
  /** Messages of a session's history; beyond that it is compacted. */
  historyMessages: 50,
  /** Share of the model's window that the history of the session may fill. */
  historyWindowShare: 0.3,
  /** Share of the model's window that the task with its thread may fill. */
  threadWindowShare: 0.3,
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
  /** A manual compaction leaves this share of what the history may fill (L19). */
  manualCompactionShare: 0.6,
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

const flag = (fallback: boolean) =>
  z
    .enum(['true', 'false', '1', '0', ''])
    .optional()
    .transform((text) => (text ? text === 'true' || text === '1' : fallback))

/** How much is logged: everything up to this level (L45). */
const logLevels = ['error', 'warn', 'info', 'debug', 'trace'] as const
export type LogLevel = (typeof logLevels)[number]

/** Providers of models; the registry of agents knows how to reach them. */
const modelProviders = ['anthropic', 'openai', 'openai-compatible', 'workers-ai', 'offline']

const defaultModel = z
  .string()
  .regex(
    new RegExp(`^(offline|(${modelProviders.join('|')})/\\S+)$`),
    `must be provider/model, where the provider is one of ${modelProviders.join(', ')}`,
  )

const httpUrl = z
  .string()
  .refine(
    (text) => /^https?:\/\/\S+$/i.test(text) && URL.canParse(text),
    'must be an address that begins with http:// or https://',
  )

const dollars = z.number().min(0).max(100_000)
const tokens = z.number().int().min(1).max(100_000_000)
const ownModel = z.strictObject({
  contextTokens: tokens.optional(),
  outputTokensMax: tokens.optional(),
  /** Null: not known, so the model is counted in tokens only. */
  prices: z
    .strictObject({
      input: dollars,
      cached: dollars.optional(),
      cacheWrite: dollars.optional(),
      output: dollars,
    })
    .nullish(),
})
export type OwnModel = z.infer<typeof ownModel>

const ownModels = z
  .string()
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text)
    } catch {
      context.addIssue({ code: 'custom', message: 'is not JSON' })
      return z.NEVER
    }
  })
  .pipe(z.record(z.string().min(1), ownModel))

/** What an operator sets by environment (`wrangler secret put`, `[vars]`, or the shell locally). */
export const settingsSchema = z.object({
  /** The admin's key. Without it nobody is admin. */
  ROOKERY_ADMIN_KEY: z.string().min(16).optional(),
  /** Prefix of new keys. */
  ROOKERY_KEY_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9]+_$/, 'letters and digits, then an underscore')
    .default('rookery_'),
  /** Name of the hub, shown in page titles. */
  ROOKERY_NAME: z.string().max(60).default('Rookery'),
  /** Whether reading needs no key. `npm start` sets it; a deployed hub is private by default. */
  ROOKERY_PUBLIC: flag(false),
  /**
   * `provider/model` for agents whose definition names none. Providers: `anthropic`, `openai`,
   * `openai-compatible`, `workers-ai`, `offline`.
   */
  ROOKERY_DEFAULT_MODEL: defaultModel.optional(),
  /** Activations that may run at the same time on the whole hub. */
  ROOKERY_MAX_CONCURRENT: z.coerce.number().int().min(1).max(10_000).optional(),
  /** How much is logged: `error`, `warn`, `info`, `debug` or `trace`. */
  ROOKERY_LOG_LEVEL: z.enum(logLevels).default('info'),
  /**
   * Where each finished activation's trace is sent as OpenTelemetry (OTLP over HTTP, JSON), e.g.
   * `http://localhost:4318`; nowhere when not set.
   */
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
  /** Headers of those requests: `name=value,name=value`, values percent-encoded. */
  OTEL_EXPORTER_OTLP_HEADERS: z.string().optional(),
  /** Whether exported traces hold the words of prompts, answers and tools too. */
  ROOKERY_OTLP_CONTENT: flag(false),
  /** Key for models of the provider `anthropic`. */
  ANTHROPIC_API_KEY: z.string().optional(),
  /** Another address for Anthropic's API, e.g. a proxy. */
  ANTHROPIC_BASE_URL: httpUrl.optional(),
  /** Key for models of the provider `openai`. */
  OPENAI_API_KEY: z.string().optional(),
  /** Another address for OpenAI's API, e.g. a proxy. */
  OPENAI_BASE_URL: httpUrl.optional(),
  /** Key for `openai-compatible`, when that server wants one. */
  OPENAI_COMPATIBLE_API_KEY: z.string().optional(),
  /** Address of a server that speaks Chat Completions, e.g. `http://localhost:11434/v1`. */
  OPENAI_COMPATIBLE_BASE_URL: httpUrl.optional(),
  /** API token for models of the provider `workers-ai`; it needs the permission Workers AI, Read. */
  WORKERS_AI_API_KEY: z.string().optional(),
  /** Id of the Cloudflare account whose Workers AI is used. */
  WORKERS_AI_ACCOUNT_ID: z
    .string()
    .regex(/^[0-9a-f]{32}$/, 'must be 32 hexadecimal digits')
    .optional(),
  /** Another address for Workers AI, e.g. of an AI Gateway; then no account id is needed. */
  WORKERS_AI_BASE_URL: httpUrl.optional(),
  /**
   * Models to add to the catalogue or to correct in it, as JSON by name or `provider/model`, prices
   * in dollars per million tokens: `{ "my-model": { "contextTokens": 32768, "outputTokensMax": 4096,
   * "prices": { "input": 0.5, "cached": 0.1, "output": 2 } } }`. Everything may be left out.
   */
  ROOKERY_PRICES: ownModels.optional(),
})

export type Settings = z.infer<typeof settingsSchema>

/** Reads the settings from a Worker's environment; empty strings count as not set. */
export function readSettings(env: Record<string, unknown>): Settings {
  const given = Object.fromEntries(
    Object.keys(settingsSchema.shape)
      .map((name) => [name, env[name]] as const)
      .filter(([, value]) => typeof value === 'string' && value !== ''),
  )
  const parsed = settingsSchema.safeParse(given)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
  throw new Error(`The settings are wrong: ${problems.join('; ')}`)
}

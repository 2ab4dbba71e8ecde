import * as z from 'zod'

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

const isHttpUrl = (text: string): boolean => /^https?:\/\/\S+$/i.test(text) && URL.canParse(text)

const httpUrl = z
  .string()
  .refine(isHttpUrl, 'must be an address that begins with http:// or https://')

const resolver = z
  .string()
  .refine(
    (text) => text === 'off' || isHttpUrl(text),
    'must be an address that begins with http:// or https://, or off',
  )

const vaultKey = z
  .string()
  .regex(/^[A-Za-z0-9+/]{43}=$/, 'must be 32 bytes in base64: openssl rand -base64 32')

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
  /**
   * How the hub shares its capacity: `notification` (agents only answer), `hybrid` (a fifth is kept
   * for looking around), `exploration` (most of it is).
   */
  ROOKERY_SCHEDULING: z.enum(['notification', 'exploration', 'hybrid']).default('hybrid'),
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
  /**
   * Encrypts the credentials that agents' tools use: 32 random bytes in base64, e.g. of
   * `openssl rand -base64 32`. `npm start` makes one.
   */
  ROOKERY_VAULT_KEY: vaultKey.optional(),
  /** Keys that were in use before, with commas between them. */
  ROOKERY_VAULT_OLD_KEYS: z
    .string()
    .transform((text) => text.split(',').map((key) => key.trim()))
    .pipe(z.array(vaultKey))
    .optional(),
  /** Whether services that an admin declares may be at private addresses. */
  ROOKERY_ALLOW_PRIVATE_SERVICES: flag(false),
  /**
   * A resolver that answers `application/dns-json`: it is asked where a name leads before a tool's
   * request goes there, so that none goes to a private address. `off`: nobody is asked.
   */
  ROOKERY_DNS_OVER_HTTPS: resolver.default('https://cloudflare-dns.com/dns-query'),
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

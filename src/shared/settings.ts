import * as z from 'zod'

const flag = (fallback: boolean) =>
  z
    .enum(['true', 'false', '1', '0', ''])
    .optional()
    .transform((text) => (text ? text === 'true' || text === '1' : fallback))

/** Log levels, from the least to the most verbose. */
const logLevels = ['error', 'warn', 'info', 'debug', 'trace'] as const
export type LogLevel = (typeof logLevels)[number]

/** Model providers; the model registry implements each of them. */
const modelProviders = ['anthropic', 'openai', 'openai-compatible', 'workers-ai', 'offline']

const defaultModel = z
  .string()
  .regex(
    new RegExp(`^(offline|(${modelProviders.join('|')})/\\S+)$`),
    `must be offline or provider/model, where the provider is one of ${modelProviders.join(', ')}`,
  )

const isHttpUrl = (text: string): boolean => /^https?:\/\/\S+$/i.test(text) && URL.canParse(text)

const httpUrl = z.string().refine(isHttpUrl, 'must be a URL that starts with http:// or https://')

const resolver = z
  .string()
  .refine(
    (text) => text === 'off' || isHttpUrl(text),
    'must be off or a URL that starts with http:// or https://',
  )

const vaultKey = z
  .string()
  .regex(/^[A-Za-z0-9+/]{43}=$/, 'must be 32 bytes in base64: openssl rand -base64 32')

const dollars = z.number().min(0).max(100_000)
const tokens = z.number().int().min(1).max(100_000_000)
const ownModel = z.strictObject({
  contextTokens: tokens.optional(),
  outputTokensMax: tokens.optional(),
  /** Null when unknown: usage of the model is then counted in tokens only. */
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
      context.addIssue({ code: 'custom', message: 'must be valid JSON' })
      return z.NEVER
    }
  })
  .pipe(z.record(z.string().min(1), ownModel))

/** Settings that an operator sets in the environment: `wrangler secret put`, `[vars]`, or the shell. */
export const settingsSchema = z.object({
  /** The admin's key. When it is not set, no key has admin access. */
  ROOKERY_ADMIN_KEY: z.string().min(16).optional(),
  /** Prefix of new keys. */
  ROOKERY_KEY_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9]+_$/, 'must be letters and digits followed by an underscore')
    .default('rookery_'),
  /** Name of the hub, shown in page titles. */
  ROOKERY_NAME: z.string().max(60).default('Rookery'),
  /** Whether anyone can read without a key. `npm start` sets it; a deployed hub is private by default. */
  ROOKERY_PUBLIC: flag(false),
  /**
   * `provider/model` for agents whose definition sets no model. Providers: `anthropic`, `openai`,
   * `openai-compatible`, `workers-ai`, `offline`.
   */
  ROOKERY_DEFAULT_MODEL: defaultModel.optional(),
  /**
   * How the hub divides its capacity: `notification` (agents only answer), `hybrid` (a fifth is
   * reserved for exploration), `exploration` (most of it is).
   */
  ROOKERY_SCHEDULING: z.enum(['notification', 'exploration', 'hybrid']).default('hybrid'),
  /** Activations that may run at the same time on the whole hub. */
  ROOKERY_MAX_CONCURRENT: z.coerce.number().int().min(1).max(10_000).optional(),
  /** Log level: `error`, `warn`, `info`, `debug` or `trace`. */
  ROOKERY_LOG_LEVEL: z.enum(logLevels).default('info'),
  /**
   * OpenTelemetry collector that receives the trace of each finished activation (OTLP over HTTP,
   * JSON), e.g. `http://localhost:4318`. When it is not set, no traces are exported.
   */
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
  /** Headers of requests to the collector: `name=value,name=value`, values percent-encoded. */
  OTEL_EXPORTER_OTLP_HEADERS: z.string().optional(),
  /** Whether exported traces include the text of prompts, answers and tool results. */
  ROOKERY_OTLP_CONTENT: flag(false),
  /**
   * Key that encrypts the credentials of agents' tools: 32 random bytes in base64, e.g. from
   * `openssl rand -base64 32`. `npm start` creates one.
   */
  ROOKERY_VAULT_KEY: vaultKey.optional(),
  /** Previous vault keys, separated by commas. */
  ROOKERY_VAULT_OLD_KEYS: z
    .string()
    .transform((text) => text.split(',').map((key) => key.trim()))
    .pipe(z.array(vaultKey))
    .optional(),
  /** Whether services that an admin declares can have private addresses. */
  ROOKERY_ALLOW_PRIVATE_SERVICES: flag(false),
  /**
   * DNS-over-HTTPS resolver that answers `application/dns-json`. Host names are resolved before a
   * tool's request, so that no request goes to a private address. `off` disables the lookup.
   */
  ROOKERY_DNS_OVER_HTTPS: resolver.default('https://cloudflare-dns.com/dns-query'),
  /** Key for models of the provider `anthropic`. */
  ANTHROPIC_API_KEY: z.string().optional(),
  /** Base URL for Anthropic's API, e.g. of a proxy. */
  ANTHROPIC_BASE_URL: httpUrl.optional(),
  /** Key for models of the provider `openai`. */
  OPENAI_API_KEY: z.string().optional(),
  /** Base URL for OpenAI's API, e.g. of a proxy. */
  OPENAI_BASE_URL: httpUrl.optional(),
  /** Key for models of the provider `openai-compatible`, if the server requires one. */
  OPENAI_COMPATIBLE_API_KEY: z.string().optional(),
  /** Base URL of a server with the Chat Completions API, e.g. `http://localhost:11434/v1`. */
  OPENAI_COMPATIBLE_BASE_URL: httpUrl.optional(),
  /** API token for models of the provider `workers-ai`; it needs the permission Workers AI, Read. */
  WORKERS_AI_API_KEY: z.string().optional(),
  /** Id of the Cloudflare account whose Workers AI is used. */
  WORKERS_AI_ACCOUNT_ID: z
    .string()
    .regex(/^[0-9a-f]{32}$/, 'must be 32 hexadecimal digits')
    .optional(),
  /** Base URL for Workers AI, e.g. of an AI Gateway; then no account id is needed. */
  WORKERS_AI_BASE_URL: httpUrl.optional(),
  /**
   * Models to add or override in the catalogue, as JSON by name or `provider/model`, with prices in
   * dollars per million tokens: `{ "my-model": { "contextTokens": 32768, "outputTokensMax": 4096,
   * "prices": { "input": 0.5, "cached": 0.1, "output": 2 } } }`. All fields are optional.
   */
  ROOKERY_PRICES: ownModels.optional(),
})

export type Settings = z.infer<typeof settingsSchema>

/**
 * Returns the settings of a Worker's environment; empty strings count as not set.
 *
 * @throws Error that lists every invalid setting
 */
export function readSettings(env: Record<string, unknown>): Settings {
  const given = Object.fromEntries(
    Object.keys(settingsSchema.shape)
      .map((name) => [name, env[name]] as const)
      .filter(([, value]) => typeof value === 'string' && value !== ''),
  )
  const parsed = settingsSchema.safeParse(given)
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
  throw new Error(`Invalid settings: ${problems.join('; ')}`)
}

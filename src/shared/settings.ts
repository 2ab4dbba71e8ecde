import * as z from 'zod'
// With the file extension: scripts run this file directly in Node.
import { activationLimits, archiving, media, scheduling } from './config.ts'
import { parseNetwork } from './ip-address.ts'
import { parseMailUrl, parseSender } from './mail-url.ts'

const flag = (fallback: boolean) =>
  z
    .enum(['true', 'false', '1', '0', ''])
    .optional()
    .transform((text) => (text ? text === 'true' || text === '1' : fallback))

/** Log levels, from the least to the most verbose. */
const logLevels = ['error', 'warn', 'info', 'debug', 'trace'] as const
export type LogLevel = (typeof logLevels)[number]

/** Names of model providers; the model registry implements each of them. */
export const providerNames = ['anthropic', 'openai', 'openai-compatible', 'workers-ai', 'offline']

/** In the place of a provider: the definition takes whichever model the hub has. */
export const autoProvider = 'auto'

const defaultModel = z
  .string()
  .regex(
    new RegExp(`^(offline|(${providerNames.join('|')})/\\S+)$`),
    `must be offline or provider/model, where the provider is one of ${providerNames.join(', ')}`,
  )

const judgingProviders = providerNames.filter((provider) => provider !== 'offline')
const judgeModel = z
  .string()
  .regex(
    new RegExp(`^(${judgingProviders.join('|')})/\\S+$`),
    `must be provider/model, where the provider is one of ${judgingProviders.join(', ')}`,
  )

const isHttpUrl = (text: string): boolean => /^https?:\/\/\S+$/i.test(text) && URL.canParse(text)

const httpUrl = z.string().refine(isHttpUrl, 'must be a URL that starts with http:// or https://')

const resolver = z
  .string()
  .refine(
    (text) => text === 'off' || isHttpUrl(text),
    'must be off or a URL that starts with http:// or https://',
  )

const isSecureUrl = (text: string): boolean =>
  isHttpUrl(text) && /^(https:\/\/|http:\/\/(localhost|127\.0\.0\.1)(:|\/|$))/i.test(text)

const splitList = (text: string): string[] => text.split(',').map((item) => item.trim())

const origin = z
  .string()
  .refine(
    (text) => isHttpUrl(text) && /^https?:\/\/[^/?#@]+\/?$/i.test(text),
    'must be an origin such as https://hub.example.com',
  )
  .transform((text) => new URL(text).origin)

const network = z.string().transform((text, context) => {
  const parsed = parseNetwork(text)
  if (parsed) return parsed
  context.addIssue({
    code: 'custom',
    message: 'must be an IP address or a network such as 10.0.0.0/8',
  })
  return z.NEVER
})

const modelTimeout = z.coerce
  .number('must be a number of seconds')
  .int()
  .min(1)
  .max(activationLimits.durationSecondsCeiling)

const vaultKey = z
  .string()
  .regex(/^[A-Za-z0-9+/]{43}=$/, 'must be 32 bytes in base64: openssl rand -base64 32')

const dollars = z.number().min(0).max(100_000)
const tokens = z.number().int().min(1).max(100_000_000)
const ownModel = z.strictObject({
  contextTokens: tokens.optional(),
  outputTokensMax: tokens.optional(),
  seesImages: z.boolean().optional(),
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

/** What a key of any hub also begins with; its client speaks the dialect of existing clients. */
export const dialectKeyPrefix = 'moltbook_'

const keyPrefix = z
  .string()
  .regex(/^[A-Za-z0-9]+_$/, 'must be letters and digits followed by an underscore')
  .refine((prefix) => prefix !== dialectKeyPrefix, {
    message: `must not be ${dialectKeyPrefix}, with which existing clients send the keys of every hub`,
  })

const toolTimeout = z.coerce.number('must be a number of seconds').int().min(1).max(600)

/** Settings that an operator sets in the environment: `wrangler secret put`, `[vars]`, or the shell. */
export const settingsSchema = z.object({
  /** The admin's key. When it is not set, no key has admin access. */
  ROOKERY_ADMIN_KEY: z.string().min(16).optional(),
  /** Prefix of new keys. */
  ROOKERY_KEY_PREFIX: keyPrefix.default('rookery_'),
  /** Name of the hub, shown in page titles. */
  ROOKERY_NAME: z.string().max(60).default('Rookery'),
  /** Whether anyone can read without a key. `npm start` sets it; a deployed hub is private by default. */
  ROOKERY_PUBLIC: flag(false),
  /**
   * How agents register on a public hub: `open` (anybody gets a key of a guest), `claim` (the key works
   * after a member opens the claim link), `closed` (only admins register accounts). Default: `open` when
   * the hub's origin is on this machine, otherwise `claim`.
   */
  ROOKERY_REGISTRATION: z.enum(['open', 'claim', 'closed']).optional(),
  /** Whether members can invite people, as guests or members. Admins always can. */
  ROOKERY_MEMBERS_INVITE: flag(false),
  /**
   * Origin of the hub, e.g. `https://hub.example.com`; several are separated by commas, and links use the
   * first. Requests for other hosts are refused, except for `localhost`, `127.0.0.0/8` and `[::1]`. When
   * it is not set, the hub also answers `https://*.workers.dev`, which Cloudflare routes to it alone; a
   * custom domain requires the setting.
   */
  ROOKERY_ORIGIN: z.string().transform(splitList).pipe(z.array(origin)).optional(),
  /**
   * Header with the client's address, for rate limits: `CF-Connecting-IP` in `wrangler.toml`,
   * `X-Forwarded-For` behind most proxies. Set it only to a header that the proxy overwrites or appends
   * to. When it is not set, all clients without a key count as one.
   */
  ROOKERY_CLIENT_ADDRESS_HEADER: z
    .string()
    .regex(/^[A-Za-z0-9-]+$/, 'must be the name of a header')
    .optional(),
  /**
   * Proxies in front of the hub, as addresses and networks separated by commas. They are skipped from
   * the end of the list in the client address header; otherwise its last address counts.
   */
  ROOKERY_TRUSTED_PROXIES: z.string().transform(splitList).pipe(z.array(network)).optional(),
  /**
   * Issuer of OpenID Connect that people can sign in with, e.g. `https://login.example.com`. Also set
   * ROOKERY_OIDC_CLIENT_ID and ROOKERY_OIDC_CLIENT_SECRET; the redirect URI is `/login/oidc/callback`.
   */
  ROOKERY_OIDC_ISSUER: z
    .string()
    .refine(isSecureUrl, 'must be a URL that starts with https://')
    .optional(),
  /** Id of this hub at the OpenID Connect issuer. */
  ROOKERY_OIDC_CLIENT_ID: z.string().max(500).optional(),
  /** Secret of this hub at the OpenID Connect issuer. */
  ROOKERY_OIDC_CLIENT_SECRET: z.string().max(500).optional(),
  /** Name of the OpenID Connect issuer on the sign-in page; its host unless set. */
  ROOKERY_OIDC_NAME: z.string().max(40).optional(),
  /**
   * Id of a GitHub OAuth app that people can sign in with. Also set ROOKERY_GITHUB_CLIENT_SECRET; the
   * callback URL is `/login/github/callback`.
   */
  ROOKERY_GITHUB_CLIENT_ID: z.string().max(500).optional(),
  /** Secret of the GitHub OAuth app. */
  ROOKERY_GITHUB_CLIENT_SECRET: z.string().max(500).optional(),
  /**
   * `provider/model` for agents whose definition sets no model. Providers: `anthropic`, `openai`,
   * `openai-compatible`, `workers-ai`, `offline`.
   */
  ROOKERY_DEFAULT_MODEL: defaultModel.optional(),
  /**
   * `provider/model` that compares the answers of trials. It reads what the runs of a trial were asked and answered. Without it
   * people compare.
   */
  ROOKERY_JUDGE_MODEL: judgeModel.optional(),
  /**
   * How the hub divides its capacity: `notification` (agents only answer), `hybrid` (a fifth is
   * reserved for exploration), `exploration` (most of it is).
   */
  ROOKERY_SCHEDULING: z.enum(['notification', 'exploration', 'hybrid']).default('hybrid'),
  /** Activations that may run at the same time on the whole hub. */
  ROOKERY_MAX_CONCURRENT: z.coerce
    .number()
    .int()
    .min(1)
    .max(10_000)
    .default(scheduling.concurrentActivationsMax),
  /**
   * Days after which traces of runs, the audit and usage leave the database for object storage; 0: never.
   * Pages show them from there. Usage stays for 62 days at least.
   */
  ROOKERY_RETENTION_DAYS: z.coerce.number().int().min(0).max(3650).default(archiving.daysDefault),
  /** Megabytes of all images of one account. */
  ROOKERY_MEDIA_QUOTA_MB: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(media.quotaMbDefault),
  /**
   * Whether copies of the database near the reader may answer those who are not signed in. Turn on read
   * replication of the D1 database first.
   */
  ROOKERY_READ_REPLICAS: flag(false),
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
  ROOKERY_VAULT_OLD_KEYS: z.string().transform(splitList).pipe(z.array(vaultKey)).optional(),
  /**
   * Whether services that an admin declares, and servers of models, can have private addresses. On a hub that only its
   * own machine reaches, servers of models on loopback need no setting.
   */
  ROOKERY_ALLOW_PRIVATE_SERVICES: flag(false),
  /**
   * DNS-over-HTTPS resolver that answers `application/dns-json`. Host names are resolved before a
   * tool's request, so that no request goes to a private address. `off` disables the lookup.
   */
  ROOKERY_DNS_OVER_HTTPS: resolver.default('https://cloudflare-dns.com/dns-query'),
  /**
   * Seconds that a tool call has, and each of its requests to a service. Default: 30, 60 for a tool of a
   * remote server, and 20 for one request.
   */
  ROOKERY_TOOL_TIMEOUT_SECONDS: toolTimeout.optional(),
  /**
   * Server that mail is sent with: `smtps://user:password@host:465` (TLS) or `smtp://user:password@host:587` (STARTTLS,
   * which is required; a server on this machine without a login may have none), both percent-encoded; or the API key
   * of a service: `postmark://token`, `resend://key`. When it is not set, the hub sends no mail.
   */
  ROOKERY_MAIL_URL: z
    .string()
    .refine(
      (text) => parseMailUrl(text) !== null,
      'must be smtps://user:password@host, smtp://user:password@host, postmark://token or resend://key',
    )
    .optional(),
  /** Sender of mail, e.g. `Rookery <hub@example.com>`. */
  ROOKERY_MAIL_FROM: z
    .string()
    .refine((text) => parseSender(text) !== null, 'must be an address, or Name <address>')
    .optional(),
  /**
   * Secret of the reports of bounces that Postmark or Resend send: the password in the address at Postmark, or the signing
   * secret of the webhook at Resend (`whsec_...`).
   */
  ROOKERY_MAIL_HOOK_SECRET: z.string().min(16, 'must have at least 16 characters').optional(),
  /** Key for models of the provider `anthropic`. It is sent to Anthropic or ANTHROPIC_BASE_URL only. */
  ANTHROPIC_API_KEY: z.string().optional(),
  /** Base URL for Anthropic's API, e.g. of a proxy. */
  ANTHROPIC_BASE_URL: httpUrl.optional(),
  /** Key for models of the provider `openai`. It is sent to OpenAI or OPENAI_BASE_URL only. */
  OPENAI_API_KEY: z.string().optional(),
  /** Base URL for OpenAI's API, e.g. of a proxy. */
  OPENAI_BASE_URL: httpUrl.optional(),
  /**
   * Key for models of the provider `openai-compatible`, if the server requires one. It is sent to
   * OPENAI_COMPATIBLE_BASE_URL only, not to another `api_base` of a definition.
   */
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
   * Seconds that a model has until the first byte of its answer, unless a definition sets
   * `brain.timeout_seconds`. Default: 120, or 600 for a server on a private address.
   */
  ROOKERY_MODEL_FIRST_BYTE_SECONDS: modelTimeout.optional(),
  /**
   * Seconds between two bytes of an answer, unless a definition sets `brain.timeout_seconds`.
   * Default: 120.
   */
  ROOKERY_MODEL_BETWEEN_BYTES_SECONDS: modelTimeout.optional(),
  /**
   * Seconds for which a coding agent's program waits for an approval before its run parks: 0 to 900. Programs that
   * wait less long for the answer of a tool park earlier.
   */
  ROOKERY_APPROVAL_WAIT_SECONDS: z.coerce
    .number('must be a number of seconds')
    .int()
    .min(0)
    .max(900)
    .default(240),
  /**
   * Models to add or override in the catalogue, as JSON by name or `provider/model`, with prices in
   * dollars per million tokens: `{ "my-model": { "contextTokens": 32768, "outputTokensMax": 4096,
   * "seesImages": true, "prices": { "input": 0.5, "cached": 0.1, "output": 2 } } }`. All fields are optional.
   */
  ROOKERY_PRICES: ownModels.optional(),
})

export type Settings = z.infer<typeof settingsSchema>

/** What keys of this hub begin with. Existing clients send `dialectKeyPrefix` in the place of the hub's own. */
export type KeyPrefixes = Pick<Settings, 'ROOKERY_KEY_PREFIX'>

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

import { toIsoTime } from './iso-time'
import { parseMailUrl } from './mail-url'
import type { LogLevel } from './settings'

/** Fields of a log line. Values are identifiers and numbers, never content that people wrote. */
export interface LogFields {
  agent?: string | undefined
  activation?: string | undefined
  session?: string | undefined
  step?: number | undefined
  /** Logged as name, message, stack and causes. */
  error?: unknown
  [field: string]: unknown
}

/**
 * Structured log for the operator: one JSON object per line. Every value is redacted before it is
 * written. No other code may write to the console.
 */
export interface Log {
  error(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  debug(message: string, fields?: LogFields): void
  trace(message: string, fields?: LogFields): void
  /** Returns whether lines of this level are written, so that expensive ones need not be built. */
  isEnabled(level: LogLevel): boolean
}

interface LogOptions {
  level: LogLevel
  /** Returns the text with its secrets redacted. */
  redact(text: string): string
  /** Milliseconds since the Unix epoch. */
  now(): number
  /** Writes a line; the console when absent. */
  write?: (level: LogLevel, line: string) => void
}

const order = ['error', 'warn', 'info', 'debug', 'trace'] as const satisfies LogLevel[]

export function createLog({ level, redact, now, write = writeToConsole }: LogOptions): Log {
  const maxIndex = order.indexOf(level)
  const writes = (of: LogLevel) => order.indexOf(of) <= maxIndex
  const at = (of: LogLevel) => (message: string, fields?: LogFields) => {
    if (writes(of)) write(of, formatLine(of, message, fields, redact, now()))
  }
  return {
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    trace: at('trace'),
    isEnabled: writes,
  }
}

function formatLine(
  level: LogLevel,
  message: string,
  fields: LogFields | undefined,
  redact: (text: string) => string,
  now: number,
): string {
  const line = { at: toIsoTime(now), level, message: redact(message) }
  const clean = (_key: string, value: unknown): unknown => {
    if (typeof value === 'string') return redact(value)
    if (typeof value === 'bigint') return String(value)
    return value instanceof Error ? describeError(value) : value
  }
  const entry: Record<string, unknown> = { ...line, ...fields }
  let isFlat = true
  for (const field in fields) {
    const value = fields[field]
    if (typeof value === 'string') {
      const shown = redact(value)
      if (shown !== value) entry[field] = shown
    } else isFlat &&= value === null || isPlain[typeof value] === true
  }
  try {
    // Most fields are strings and numbers, and a replacer function makes this many times slower.
    return JSON.stringify(entry, isFlat ? undefined : clean)
  } catch {
    // A field that cannot be serialized must not fail the caller.
    return JSON.stringify(line)
  }
}

const isPlain: Partial<Record<string, true>> = {
  string: true,
  number: true,
  boolean: true,
  undefined: true,
}

const causesMax = 3

/** Returns an error as plain JSON, with up to three nested causes. */
function describeError(error: Error, depth = 0): object {
  const { name, message, stack, cause } = error
  return {
    name,
    message,
    stack,
    ...(cause instanceof Error && depth < causesMax
      ? { cause: describeError(cause, depth + 1) }
      : {}),
  }
}

/** The console method for each level; the platform derives a line's level from the method. */
const methods = {
  error: 'error',
  warn: 'warn',
  info: 'info',
  debug: 'debug',
  trace: 'debug',
} as const

function writeToConsole(level: LogLevel, line: string): void {
  // biome-ignore lint/suspicious/noConsole: the only place that writes to the console
  console[methods[level]](line)
}

/** Returns the values of environment variables whose names mark them as secret. */
export const findSecrets = (env: Record<string, unknown>): string[] =>
  Object.entries(env).flatMap(([name, value]) => {
    if (name === 'ROOKERY_MAIL_URL' && typeof value === 'string') return readMailSecrets(value)
    if (
      typeof value !== 'string' ||
      !/((KEYS?|TOKEN|SECRET|PASSWORD|HEADERS)$|^ROOKERY_SECRET_)/.test(name)
    )
      return []
    if (name.endsWith('KEYS')) return value.split(',').map((key) => key.trim())
    return name.endsWith('HEADERS') ? [value, ...readHeaderValues(value)] : [value]
  })

/** Returns the login of a mail server or the key of a service. */
function readMailSecrets(text: string): string[] {
  const server = parseMailUrl(text)
  if (!server) return [text]
  return server.kind === 'smtp' ? [text, server.login?.password ?? ''] : [server.key]
}

/** Returns the values of `name=value,name=value`, percent-decoded. */
const readHeaderValues = (text: string): string[] =>
  text.split(',').map((pair) => {
    const value = pair.slice(pair.indexOf('=') + 1).trim()
    return value.includes('%') ? decodeIfValid(value) : value
  })

function decodeIfValid(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Shorter values are not redacted: they are no secrets, and redacting them would make lines unreadable. */
const secretCharsMin = 8

/**
 * Returns a function that redacts secrets from a text: known values, plain, URL-encoded and in base64;
 * tokens after `Bearer` and `Basic`; and whatever `maskShapes` takes for a credential.
 *
 * @param secrets keys and tokens of this hub's settings
 */
export function createRedactor(
  secrets: (string | undefined)[],
  maskShapes: (text: string) => string,
): (text: string) => string {
  const known = secrets
    .filter((secret) => secret !== undefined)
    .filter((secret) => secret.length >= secretCharsMin)
    .flatMap((secret) => [secret, encodeURIComponent(secret), toBase64(secret)])
  const hidden = [...new Set(known)].sort((a, b) => b.length - a.length)
  return (text) => {
    const named = hidden.reduce((rest, secret) => rest.replaceAll(secret, redacted), text)
    return maskShapes(named.replace(authorization, `$1 ${redacted}`))
  }
}

const redacted = '[redacted]'
const authorization = /\b(Bearer|Basic) +[A-Za-z0-9._~+/=-]{8,}/gi

/** Returns the base64 of a text without its last characters, which depend on the following bytes. */
const toBase64 = (text: string): string =>
  btoa(String.fromCharCode(...new TextEncoder().encode(text))).replace(/.?.?={0,2}$/, '')

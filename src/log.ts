import { toIsoTime } from './iso-time'
import type { LogLevel } from './settings'

/** What a line is about (L45). Values are words and numbers, never content that people wrote. */
export interface LogFields {
  agent?: string | undefined
  activation?: string | undefined
  session?: string | undefined
  step?: number | undefined
  /** Told by name, message and stack. */
  error?: unknown
  [field: string]: unknown
}

/**
 * Structured lines for the operator: one JSON object a line. Everything that is written here is
 * redacted first; it is the only place that may write to the console.
 */
export interface Log {
  error(message: string, fields?: LogFields): void
  warn(message: string, fields?: LogFields): void
  info(message: string, fields?: LogFields): void
  debug(message: string, fields?: LogFields): void
  trace(message: string, fields?: LogFields): void
  /** Whether a line of this level is written: for lines that are dear to make. */
  writes(level: LogLevel): boolean
}

export interface LogOptions {
  level: LogLevel
  /** A text without its secrets. */
  redact(text: string): string
  /** Milliseconds since the Unix epoch. */
  now(): number
  /** Where lines go; the console when absent. */
  write?: (level: LogLevel, line: string) => void
}

const order = ['error', 'warn', 'info', 'debug', 'trace'] as const satisfies LogLevel[]

export function createLog({ level, redact, now, write = writeToConsole }: LogOptions): Log {
  const most = order.indexOf(level)
  const writes = (of: LogLevel) => order.indexOf(of) <= most
  const at = (of: LogLevel) => (message: string, fields?: LogFields) => {
    if (writes(of)) write(of, formatLine(of, message, fields, redact, now()))
  }
  return {
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    trace: at('trace'),
    writes,
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
  const whole: Record<string, unknown> = { ...line, ...fields }
  let isFlat = true
  for (const field in fields) {
    const value = fields[field]
    if (typeof value === 'string') {
      const shown = redact(value)
      if (shown !== value) whole[field] = shown
    } else isFlat &&= value === null || isPlain[typeof value] === true
  }
  try {
    // most fields are words and numbers: to walk into each of them takes many times as long
    return JSON.stringify(whole, isFlat ? undefined : clean)
  } catch {
    // what cannot be told must not stop who tells it
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

/** A cause often says more than the error around it. */
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

/** The platform sorts lines by the method that wrote them. */
const methods = {
  error: 'error',
  warn: 'warn',
  info: 'info',
  debug: 'debug',
  trace: 'debug',
} as const

function writeToConsole(level: LogLevel, line: string): void {
  // biome-ignore lint/suspicious/noConsole: the one place that writes to it
  console[methods[level]](line)
}

/** The values of an environment whose names say that they are secret. */
export const findSecrets = (env: Record<string, unknown>): string[] =>
  Object.entries(env).flatMap(([name, value]) => {
    if (
      typeof value !== 'string' ||
      !/((KEYS?|TOKEN|SECRET|PASSWORD|HEADERS)$|^ROOKERY_SECRET_)/.test(name)
    )
      return []
    if (name.endsWith('KEYS')) return value.split(',').map((key) => key.trim())
    return name.endsWith('HEADERS') ? [value, ...readHeaderValues(value)] : [value]
  })

/** Of `name=value,name=value`. */
const readHeaderValues = (text: string): string[] =>
  text.split(',').map((pair) => {
    const value = pair.slice(pair.indexOf('=') + 1).trim()
    return value.includes('%') ? decodeOrKeep(value) : value
  })

function decodeOrKeep(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Shorter values are no secrets, and leaving them out would make lines unreadable. */
const secretCharsMin = 8

/**
 * Leaves out every value that is known to be secret, as it is and as it looks in an address or in
 * base64, what stands after `Bearer` and `Basic`, and what `maskShapes` takes for a credential.
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

/** Without its last characters, which depend on what follows. */
const toBase64 = (text: string): string =>
  btoa(String.fromCharCode(...new TextEncoder().encode(text))).replace(/.?.?=*$/, '')

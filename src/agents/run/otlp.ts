/**
 * The part of ExportTraceServiceRequest that is used here: OTLP over HTTP in its JSON encoding.
 * 64-bit numbers are text, ids are hexadecimal, enums are numbers.
 */
export interface OtlpExport {
  resourceSpans: {
    resource: { attributes: OtlpAttribute[] }
    scopeSpans: { scope: { name: string }; spans: OtlpSpan[] }[]
  }[]
}

export interface OtlpSpan {
  /** 32 hexadecimal digits. */
  traceId: string
  /** 16 hexadecimal digits. */
  spanId: string
  /** Absent for the root. */
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: OtlpAttribute[]
  events?: { timeUnixNano: string; name: string; attributes: OtlpAttribute[] }[]
  status: { code: number; message?: string }
}

export interface OtlpAttribute {
  key: string
  value: OtlpValue
}

export type OtlpValue =
  | { stringValue: string }
  | { boolValue: boolean }
  | { intValue: string }
  | { doubleValue: number }
  | { arrayValue: { values: OtlpValue[] } }

export const spanKind = { internal: 1, client: 3 } as const
export const statusCode = { unset: 0, error: 2 } as const

type Plain = string | boolean | number | string[]

/** Returns attributes from plain values; null, undefined and empty values are omitted. */
export const toAttributes = (values: Record<string, Plain | null | undefined>): OtlpAttribute[] =>
  Object.entries(values).flatMap(([key, value]) =>
    value === null || value === undefined || value === '' ? [] : [{ key, value: toValue(value) }],
  )

function toValue(value: Plain): OtlpValue {
  if (Array.isArray(value)) return { arrayValue: { values: value.map(toValue) } }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'string') return { stringValue: value }
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value }
}

/** Converts milliseconds since the epoch to nanoseconds. */
export const toNanos = (ms: number): string => `${Math.round(ms)}000000`

/** Returns the trace id of an activation: its UUID has as many digits. */
export const toTraceId = (activationId: string): string =>
  activationId.replaceAll('-', '').toLowerCase()

const offset = 0xcbf29ce484222325n
const prime = 0x100000001b3n
const mask = 0xffffffffffffffffn

/**
 * Returns a span id that is always the same for an activation and name, so that a repeated export
 * creates the same spans (FNV-1a).
 */
export function toSpanId(activationId: string, name: string): string {
  let hash = offset
  for (const byte of new TextEncoder().encode(`${activationId}/${name}`)) {
    hash = ((hash ^ BigInt(byte)) * prime) & mask
  }
  return (hash || 1n).toString(16).padStart(16, '0')
}

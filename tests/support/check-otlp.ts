// biome-ignore-all lint/suspicious/noExplicitAny: it inspects untyped wire data
import { expect } from 'vitest'

export interface Span {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  from: bigint
  to: bigint
  status: { code: number; message?: string }
  attributes: Record<string, unknown>
}

/**
 * Checks an ExportTraceServiceRequest against the rules of OTLP's JSON encoding, as a collector
 * reads it. Returns its spans.
 */
export function readOtlp(body: any): Span[] {
  expect(Object.keys(body)).toEqual(['resourceSpans'])
  expect(body.resourceSpans).toHaveLength(1)
  const [{ resource, scopeSpans }] = body.resourceSpans
  expect(readAttributes(resource.attributes)['service.name']).toBe('rookery')
  expect(scopeSpans).toHaveLength(1)
  expect(scopeSpans[0].scope.name).toEqual(expect.any(String))
  const spans: Span[] = scopeSpans[0].spans.map(readSpan)
  const ids = new Set(spans.map(({ spanId }) => spanId))
  expect(ids.size).toBe(spans.length)
  expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
  expect(spans.filter(({ parentSpanId }) => parentSpanId === undefined)).toHaveLength(1)
  for (const { parentSpanId } of spans) if (parentSpanId) expect(ids).toContain(parentSpanId)
  return spans
}

function readSpan(span: any): Span {
  expect(span.traceId).toMatch(/^(?!0{32})[0-9a-f]{32}$/)
  expect(span.spanId).toMatch(/^(?!0{16})[0-9a-f]{16}$/)
  if ('parentSpanId' in span) expect(span.parentSpanId).toMatch(/^[0-9a-f]{16}$/)
  expect(span.name).toMatch(/\S/)
  expect([1, 2, 3, 4, 5]).toContain(span.kind)
  expect([0, 1, 2]).toContain(span.status.code)
  for (const nanos of [span.startTimeUnixNano, span.endTimeUnixNano]) {
    expect(nanos).toMatch(/^[1-9]\d{18}$/)
  }
  for (const event of span.events ?? []) {
    expect(event.timeUnixNano).toMatch(/^[1-9]\d{18}$/)
    readAttributes(event.attributes)
  }
  const from = BigInt(span.startTimeUnixNano)
  const to = BigInt(span.endTimeUnixNano)
  expect(to >= from).toBe(true)
  const { traceId, spanId, parentSpanId, name, kind, status } = span
  return {
    traceId,
    spanId,
    name,
    kind,
    from,
    to,
    status,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    attributes: readAttributes(span.attributes),
  }
}

function readAttributes(list: any[]): Record<string, unknown> {
  const read: Record<string, unknown> = {}
  for (const { key, value } of list) {
    expect(key).toMatch(/^[a-z_.]+$/)
    expect(read).not.toHaveProperty([key])
    read[key] = readValue(value)
  }
  return read
}

function readValue(value: any): unknown {
  const [[kind, inner] = [], ...more] = Object.entries<any>(value)
  expect(more).toEqual([])
  switch (kind) {
    case 'stringValue':
      expect(inner).toEqual(expect.any(String))
      return inner
    case 'boolValue':
      expect(inner).toEqual(expect.any(Boolean))
      return inner
    case 'intValue':
      expect(inner).toMatch(/^-?\d+$/)
      return Number(inner)
    case 'doubleValue':
      expect(inner).toEqual(expect.any(Number))
      return inner
    case 'arrayValue':
      return inner.values.map(readValue)
    default:
      throw new Error(`Not an OTLP value: ${kind}`)
  }
}

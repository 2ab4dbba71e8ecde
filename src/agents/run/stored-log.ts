import * as z from 'zod'
import { limits } from '../../shared/config'
import { cutText } from '../../shared/cut-text'
import type { RunAccess, RunLogProblem, Trace } from '../contract/agents'
import { toRuntimeEvents } from './live-events'
import { foldPlan } from './plan'
import { redactRunLog } from './redact'
import { type RunEvent, type RunLog, runLogSchema, runLogVersion } from './run-event'
import { addCharges, toWaterfall } from './waterfall'

/** The shortest length that a text of a log is truncated to: a shorter one is not useful. */
const textCharsMin = 120

/** A stored log, or why it cannot be read. */
type ParsedRunLog = { ok: true; log: RunLog } | { ok: false; problem: RunLogProblem }

/** Parses a stored log. Each view of a stored run begins here, so none sees a malformed log. */
export function parseRunLog(stored: string): ParsedRunLog {
  let json: unknown
  try {
    json = JSON.parse(stored)
  } catch {
    return { ok: false, problem: 'not_json' }
  }
  const version = z.object({ version: z.number() }).safeParse(json).data?.version
  if (version !== undefined && version !== runLogVersion)
    return { ok: false, problem: 'other_version' }
  return runLogSchema.safeParse(json).success
    ? { ok: true, log: json as RunLog }
    : { ok: false, problem: 'invalid' }
}

/** Returns why a stored log cannot be read; null when it can. */
export function findRunLogProblem(stored: string): RunLogProblem | null {
  const parsed = parseRunLog(stored)
  return parsed.ok ? null : parsed.problem
}

/**
 * Returns a stored log as its viewer may see it; null when the log cannot be read.
 *
 * @param knowsOwnAccount whether the access was decided knowing that the run used its requester's account
 */
export function openRun(stored: string, access: RunAccess, knowsOwnAccount: boolean): Trace | null {
  const parsed = parseRunLog(stored)
  if (!parsed.ok) return null
  // A log that is read while its run goes on can be newer than what the access was decided by.
  const isOutdated = !knowsOwnAccount && parsed.log.usesOwnAccount === true
  const shown = redactRunLog(parsed.log, isOutdated ? 'none' : access)
  return { ...toWaterfall(shown), plan: foldPlan(shown), events: toRuntimeEvents(shown) }
}

/**
 * Returns a log as JSON that the hub can store. When it is too large, its longest texts are truncated
 * to one common length, as long as possible; numbers and names stay.
 *
 * @param bytesMax of the JSON in UTF-8
 */
export function serializeRunLog(log: RunLog, bytesMax: number = limits.traceBytesMax): string {
  const whole = JSON.stringify(log)
  if (fits(whole, bytesMax)) return whole
  const truncated: RunLog = { ...log, isTruncated: true }
  return truncateEvenly(truncated, bytesMax) ?? omitSteps(truncated, bytesMax)
}

/**
 * Returns the log with the longest texts that fit, found by bisection; null when even the shortest do
 * not fit.
 */
function truncateEvenly(log: RunLog, bytesMax: number): string | null {
  let low = textCharsMin
  let best = stringify(log, low)
  if (!fits(best, bytesMax)) return null
  let high = findLongestText(log)
  while (high - low > 64) {
    const middle = (low + high) >> 1
    const text = stringify(log, middle)
    if (fits(text, bytesMax)) {
      low = middle
      best = text
    } else high = middle
  }
  return best
}

/** Returns the log without steps in the middle, with an event that stands for them. */
function omitSteps(log: RunLog, bytesMax: number): string {
  const starts = log.events.flatMap(({ type }, index) => (type === 'model_answered' ? [index] : []))
  const steps = starts.length
  for (let kept = steps >> 1; ; kept >>= 1) {
    const from = starts[kept] ?? log.events.length
    const to = kept === 0 ? log.events.length : (starts[steps - kept] ?? log.events.length)
    const events = from < to ? replaceEvents(log.events, from, to, steps - 2 * kept) : log.events
    const json = stringify({ ...log, events }, textCharsMin)
    if (kept === 0 || fits(json, bytesMax)) return json
  }
}

/** Replaces events by one with their charge; the outcome of the run stays. */
function replaceEvents(events: RunEvent[], from: number, to: number, steps: number): RunEvent[] {
  const removed = events.slice(from, to)
  const omitted: RunEvent = {
    type: 'omitted',
    at: removed[0]?.at ?? 0,
    steps,
    charge: addCharges(removed),
  }
  const kept = removed.filter(({ type }) => type === 'ended')
  return [...events.slice(0, from), omitted, ...kept, ...events.slice(to)]
}

const stringify = (log: RunLog, chars: number): string =>
  JSON.stringify(log, (key, value: unknown) => {
    // a part of it would be refused by the provider
    if (key === 'providerParts') return undefined
    return typeof value === 'string' && value.length > chars
      ? `${cutText(value, chars)} [...]`
      : value
  })

function findLongestText(log: RunLog): number {
  let longest = textCharsMin
  JSON.stringify(log, (_key, value: unknown) => {
    if (typeof value === 'string') longest = Math.max(longest, value.length)
    return value
  })
  return longest
}

/**
 * Returns whether a text fits. A UTF-16 unit takes at most three bytes, so most texts need no
 * encoding.
 */
const fits = (text: string, bytesMax: number): boolean =>
  text.length * 3 <= bytesMax ||
  (text.length <= bytesMax && new TextEncoder().encode(text).length <= bytesMax)

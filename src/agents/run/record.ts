import { limits } from '../../shared/config'
import { cutText, isLongerThan } from '../../shared/cut-text'
import type { RunAccess, RunLogProblem, Trace } from '../contract/agents'
import type { Charge, LoopEvent } from '../loop/event'
import type { Ending } from '../loop/state'
import { sumCharges } from './charges'
import { toRuntimeEvents } from './live-events'
import { foldPlan } from './plan'
import { redactRunLog } from './redact'
import type { RunLog } from './run-event'
import { toRunLog } from './run-log'
import { toWaterfall } from './waterfall'

/** Changes with every change of `LoopEvent` that a reader of stored records must know about. */
export const recordVersion = 4

/**
 * What is stored of a run: the events of its loop, whole but for the turn of its session, which the journal keeps. Everything
 * that people see of it is a fold over them, made when it is read, and the loop run again over them comes to the same
 * decisions.
 */
export interface RunRecord {
  version: typeof recordVersion
  events: LoopEvent[]
  /** How it ended, as the loop decided it then; null while it goes on or waits. */
  ending: Ending | null
  finishedAt: number | null
  /** Long texts were truncated to make the record fit, so the run cannot be replayed. */
  isTruncated?: true
  /** Stands for events before `index` that were removed to make the record fit. */
  omitted?: { index: number; steps: number; charge: Charge }
}

/** The shortest length that a text of a record is truncated to: a shorter one is not useful. */
const textCharsMin = 120

export const composeRecord = (
  events: LoopEvent[],
  ending: Ending | null,
  finishedAt: number | null,
): RunRecord => ({
  version: recordVersion,
  events: events.map(withoutTurn),
  ending,
  finishedAt,
})

function withoutTurn(event: LoopEvent): LoopEvent {
  if (event.type !== 'loaded' || !event.facts.session) return event
  const session = { id: event.facts.session.id, task: '', gist: '' }
  return { ...event, facts: { ...event.facts, session } }
}

/** A stored record with the events that every view of the run reads, or why it cannot be read. */
type ParsedRecord =
  | { ok: true; record: RunRecord; log: RunLog }
  | { ok: false; problem: RunLogProblem }

/**
 * Parses a stored record. Only this module writes records, so what is checked is what can happen to one: it was
 * damaged, or another version wrote it. Where a damage shows only in use, the record is invalid, too.
 */
export function parseRecord(stored: string): ParsedRecord {
  let record: RunRecord | null
  try {
    record = JSON.parse(stored)
  } catch {
    return { ok: false, problem: 'not_json' }
  }
  if (typeof record?.version === 'number' && record.version !== recordVersion)
    return { ok: false, problem: 'other_version' }
  try {
    if (record?.version === recordVersion && record.events.every(hasTime)) {
      const whole = { ...record, events: record.events.map(unpackEvent) }
      return { ok: true, record: whole, log: toLog(whole) }
    }
  } catch {
    // a part that its events need is not there
  }
  return { ok: false, problem: 'invalid' }
}

const hasTime = ({ at }: LoopEvent): boolean => Number.isFinite(new Date(at).getTime())

/** Returns the events of a record as every view of the run reads them. */
function toLog({ events, ending, finishedAt, omitted }: RunRecord): RunLog {
  const log = toRunLog(events, ending, finishedAt)
  if (!omitted) return log
  const { index, steps, charge } = omitted
  const after = log.events.slice(index)
  for (const event of after) if (event.type === 'model_answered') event.step += steps
  const { at } = events[index] ?? { at: 0 }
  const gap = { type: 'omitted', at, steps, charge } as const
  return { ...log, events: [...log.events.slice(0, index), gap, ...after] }
}

/** Returns why a stored record cannot be read; null when it can. */
export function findRunLogProblem(stored: string): RunLogProblem | null {
  const parsed = parseRecord(stored)
  if (!parsed.ok) return parsed.problem
  const isShown = (access: RunAccess) => openRun(stored, access, true) !== null
  return isShown('all') && isShown('none') ? null : 'invalid'
}

/**
 * Returns a stored run as its viewer may see it; null when its record cannot be read.
 *
 * @param knowsOwnAccount whether the access was decided knowing that the run used its requester's account
 */
export function openRun(stored: string, access: RunAccess, knowsOwnAccount: boolean): Trace | null {
  const parsed = parseRecord(stored)
  if (!parsed.ok) return null
  // A record that is read while its run goes on can be newer than what the access was decided by.
  const isOutdated = !knowsOwnAccount && parsed.log.usesOwnAccount === true
  try {
    const shown = redactRunLog(parsed.log, isOutdated ? 'none' : access)
    return { ...toWaterfall(shown), plan: foldPlan(shown), events: toRuntimeEvents(shown) }
  } catch {
    return null
  }
}

/**
 * Returns a record as JSON that the hub can store. When it is too large, its longest texts are truncated
 * to one common length, as long as possible; numbers and names stay.
 *
 * @param bytesMax of the JSON in UTF-8
 */
export function serializeRecord(
  record: RunRecord,
  bytesMax: number = limits.recordBytesMax,
): string {
  const whole = JSON.stringify(pack(record))
  if (!isLongerThan(whole, bytesMax)) return whole
  const truncated: RunRecord = { ...record, isTruncated: true }
  return truncateEvenly(truncated, bytesMax) ?? omitSteps(truncated, bytesMax)
}

/**
 * Returns the record with the longest texts that fit, found by bisection; null when even the shortest do
 * not fit.
 */
function truncateEvenly(record: RunRecord, bytesMax: number): string | null {
  let low = textCharsMin
  let best = stringify(record, low)
  if (isLongerThan(best, bytesMax)) return null
  let high = findLongestText(record)
  while (high - low > 64) {
    const middle = (low + high) >> 1
    const text = stringify(record, middle)
    if (isLongerThan(text, bytesMax)) high = middle
    else {
      low = middle
      best = text
    }
  }
  return best
}

/** Returns the record without steps in the middle. */
function omitSteps(record: RunRecord, bytesMax: number): string {
  const { events } = record
  // an event each, in the same places
  const seen = toRunLog(events, null).events
  const starts = seen.flatMap(({ type }, index) => (type === 'model_answered' ? [index] : []))
  const steps = starts.length
  for (let kept = steps >> 1; ; kept >>= 1) {
    const from = starts[kept] ?? events.length
    const to = kept === 0 ? events.length : (starts[steps - kept] ?? events.length)
    const charge = sumCharges(seen.slice(from, to))
    const shorter: RunRecord = {
      ...record,
      events: [...events.slice(0, from), ...events.slice(to)],
      omitted: { index: from, steps: steps - 2 * kept, charge },
    }
    const json = stringify(from < to ? shorter : record, textCharsMin)
    if (kept === 0 || !isLongerThan(json, bytesMax)) return json
  }
}

const pack = (record: RunRecord) => ({ ...record, events: record.events.map(packEvent) })

const stringify = (record: RunRecord, chars: number): string =>
  JSON.stringify(pack(record), (key, value: unknown) => {
    // a part of it would be refused by the provider
    if (key === 'providerParts') return undefined
    return typeof value === 'string' && value.length > chars
      ? `${cutText(value, chars)} [...]`
      : value
  })

function findLongestText(record: RunRecord): number {
  let longest = textCharsMin
  JSON.stringify(record, (_key, value: unknown) => {
    if (typeof value === 'string') longest = Math.max(longest, value.length)
    return value
  })
  return longest
}

/** A value of an event that mostly says what the rest of it says, and where it is: a path and a key. */
type Copy = [path: string[], key: string, value: unknown]

/** Returns the values of an event that need not be stored while they are these. */
function listCopies(event: LoopEvent): Copy[] {
  switch (event.type) {
    case 'loaded':
      return [
        [['facts', 'answer'], 'requesters', event.facts.requesters?.map(({ name }) => name)],
        // as a record has them
        [['facts', 'session'], 'task', ''],
        [['facts', 'session'], 'gist', ''],
      ]
    case 'model_answered': {
      const { inputTokens, cachedTokens, outputTokens, reasoningTokens, model } = event.charge
      const { calls = [] } = event.answer
      return [
        [['answer'], 'usage', { inputTokens, cachedTokens, outputTokens, reasoningTokens }],
        [['answer'], 'reasoning', ''],
        [['answer'], 'calls', []],
        [['request'], 'model', model],
        [[], 'calls', calls.map(({ callId }) => ({ callId, isSequential: false }))],
      ]
    }
    case 'tool_returned': {
      const { callId, name, durationMs, resultBytes } = event
      return Object.entries({ callId, tool: name, durationMs, resultBytes }).map(
        ([key, value]): Copy => [['audit'], key, value],
      )
    }
    default:
      return []
  }
}

type Values = Record<string, unknown>

/** Returns the object at a path; null when there is none. */
function find(values: Values, path: string[]): Values | null {
  let found: unknown = values
  for (const name of path) found = (found as Values | null | undefined)?.[name]
  return typeof found === 'object' ? (found as Values | null) : null
}

/** Returns an event as it is stored: each fact once. */
function packEvent(event: LoopEvent): unknown {
  const packed: Values = { ...event }
  for (const [path, key, value] of listCopies(event)) {
    const found = find(packed, path)
    if (!found || JSON.stringify(found[key]) !== JSON.stringify(value)) continue
    // what is copied is changed, and no event
    let into = packed
    for (const name of path) {
      const copied = { ...(into[name] as Values) }
      into[name] = copied
      into = copied
    }
    delete into[key]
  }
  return packed
}

/** Completes an event that was parsed from a record, and returns it. One that was stored whole stays as it is. */
function unpackEvent(event: LoopEvent): LoopEvent {
  for (const [path, key, value] of listCopies(event)) {
    const into = find(event as unknown as Values, path)
    if (into && value !== undefined && !(key in into)) into[key] = value
  }
  return event
}

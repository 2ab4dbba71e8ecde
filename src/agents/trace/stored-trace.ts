import { limits } from '../../shared/config'
import type { Trace } from '../contract/agents'
import type { LoopEvent } from '../loop/event'
import type { Ending } from '../loop/state'
import { buildTrace } from './build-trace'
import { serializeTrace } from './serialize-trace'

/** A journal as the hub stores it; the trace is built when it is read. */
interface StoredJournal {
  version: 2
  ending: Ending | null
  finishedAt: number | null
  events: LoopEvent[]
}

/** An activation whose trace is to be stored. */
export interface TraceSource {
  /** The events, each as JSON as stored in the journal. */
  texts: readonly string[]
  events: LoopEvent[]
  ending: Ending | null
  finishedAt: number | null
}

/**
 * Returns an activation as JSON for the hub to store: its journal, since most traces are never
 * read; for a long journal the trace with excerpts.
 */
export function toStoredTrace({ texts, events, ending, finishedAt }: TraceSource): string {
  const chars = texts.reduce((sum, text) => sum + text.length, 0)
  if (chars > limits.storedJournalCharsMax) {
    return serializeTrace(buildTrace(events, ending, finishedAt))
  }
  return `{"version":2,"ending":${JSON.stringify(ending)},"finishedAt":${finishedAt},"events":[${texts.join()}]}`
}

/**
 * Returns the trace from what `storeTrace` returned, also in an earlier version.
 *
 * @throws SyntaxError when `stored` is not JSON
 */
export function parseStoredTrace(stored: string): Trace {
  const kept = JSON.parse(stored) as Trace | StoredJournal
  return kept.version === 2 ? buildTrace(kept.events, kept.ending, kept.finishedAt) : kept
}

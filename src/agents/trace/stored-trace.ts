import { limits } from '../../config'
import type { Trace } from '../contract'
import type { LoopEvent } from '../loop/event'
import type { Ending } from '../loop/state'
import { buildTrace } from './build-trace'
import { writeTrace } from './write-trace'

/** A journal as the hub keeps it; what people see of it is made when somebody looks. */
interface StoredJournal {
  version: 2
  ending: Ending | null
  finishedAt: number | null
  events: LoopEvent[]
}

/** What is known of an activation, to be kept. */
export interface Finished {
  /** The events, each as JSON: they are written already. */
  texts: readonly string[]
  events: LoopEvent[]
  ending: Ending | null
  finishedAt: number | null
}

/**
 * An activation as JSON that the hub can store (L43): its journal as it stands, since most are never
 * looked at; a long one as the trace with its excerpts.
 */
export function storeTrace({ texts, events, ending, finishedAt }: Finished): string {
  const chars = texts.reduce((sum, text) => sum + text.length, 0)
  if (chars > limits.storedJournalCharsMax) {
    return writeTrace(buildTrace(events, ending, finishedAt))
  }
  return `{"version":2,"ending":${JSON.stringify(ending)},"finishedAt":${finishedAt},"events":[${texts.join()}]}`
}

/**
 * The trace from what `storeTrace` gave, now or in an earlier version.
 *
 * @throws SyntaxError for what is no JSON
 */
export function openTrace(stored: string): Trace {
  const kept = JSON.parse(stored) as Trace | StoredJournal
  return kept.version === 2 ? buildTrace(kept.events, kept.ending, kept.finishedAt) : kept
}

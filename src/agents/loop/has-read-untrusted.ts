import type { LoadedFacts, LoopEvent } from './event'

/**
 * Whether a run has read untrusted text: by a guest, from outside, or by a run that had read such text.
 * What it writes then is untrusted text itself. A run whose record does not say it counts as one that has, and so
 * does that of a program, which reads what no record shows.
 */
export const hasReadUntrusted = (facts: LoadedFacts | null, events: LoopEvent[]): boolean =>
  facts?.hasUntrusted !== false ||
  facts.program !== undefined ||
  events.some(
    (event) =>
      (event.type === 'tool_returned' && event.isUntrusted === true) ||
      (event.type === 'steered' && event.items.some(({ isUntrusted }) => isUntrusted)),
  )

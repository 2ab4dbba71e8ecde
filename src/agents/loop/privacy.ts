import type { Privacy } from '../../hub/contract/hub'
import type { LoadedFacts, LoopEvent } from './event'

/** Whether a run has used the account that its requester connected, so that it can quote what that returned. */
export const hasUsedOwnAccount = (events: LoopEvent[]): boolean =>
  events.some(
    (event) =>
      (event.type === 'tool_returned' || event.type === 'program_call_returned') &&
      event.isOwnAccount === true,
  )

/**
 * Returns the privacy of what a run does next. Once it has used the account that its requester connected, what
 * it saves is for its requester, also in a thread that everybody reads.
 */
export const findPrivacy = (
  { privacy }: Pick<LoadedFacts, 'privacy'>,
  events: LoopEvent[],
): Privacy | undefined =>
  privacy?.privateTo === null && hasUsedOwnAccount(events)
    ? { ...privacy, privateTo: privacy.reader }
    : privacy

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

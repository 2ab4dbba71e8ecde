import type { Privacy } from '../../hub/contract/privacy'
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

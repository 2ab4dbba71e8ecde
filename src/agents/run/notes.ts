import type { Charge } from '../loop/event'
import { truncate } from '../text/truncate'
import type { RunEvent, RunEventOf } from './run-event'

/** Returns a note for an event that people should know about; null for others. */
export function formatNote(event: RunEvent): string | null {
  switch (event.type) {
    case 'load_waited':
      return `Waited to start: ${event.reason.replaceAll('_', ' ')}.`
    case 'load_failed':
      return `Could not load the task from the hub: ${event.message}`
    case 'model_failed':
      return `The model call failed (${event.code}): ${event.message}${formatCharge(event.charge)}`
    case 'model_refused':
      return `No further model call: ${event.reason.replaceAll('_', ' ')}.`
    case 'model_waited':
      return 'Waited: the remaining budget was reserved by running agents.'
    case 'steered':
      return event.items.map(describeSteering).join(' ') || null
    case 'interrupted':
      return `The server stopped. The run was resumed from the journal.${formatCharge(event.charge)}`
    case 'time_ran_out':
      return `The run timed out.${formatCharge(event.charge)}`
    case 'cancel_requested':
      return `The agent was asked to stop.${formatCharge(event.charge)}`
    case 'model_answered':
      return (
        [event.warning, event.charge.doubt, formatOverrun(event.charge)]
          .filter(Boolean)
          .join(' ') || null
      )
    case 'tool_returned':
      return event.allowedBy === undefined ? null : `${event.name}: ${event.allowedBy}`
    case 'compacted':
      return [event.charge?.doubt, formatOverrun(event.charge)].filter(Boolean).join(' ') || null
    case 'program_placed':
      return placeNotes[event.place]
    case 'program_reported':
      return event.notes.join(' ') || null
    case 'program_lost':
      return `The runner was lost.${event.reason === '' ? '' : ` ${event.reason}`}`
    case 'program_closed':
      return event.charge === null
        ? null
        : `${formatUncounted(event.requests)}${formatCharge(event.charge)}`
    case 'nobody_notified':
      return 'The requester was notified that no suitable runner is connected.'
    case 'park_failed':
      return 'The calls that require approval did not reach the hub and were sent again.'
    case 'commit_failed':
      return 'The result did not reach the hub and was sent again.'
    case 'omitted':
      return `${event.steps} steps in the middle are not shown.`
    default:
      return null
  }
}

const placeNotes: Record<RunEventOf<'program_placed'>['place'], string | null> = {
  asked: null,
  started: null,
  busy: 'Waited: all suitable runners are busy.',
  nobody: 'Waited: no suitable runner is connected.',
  unreachable: 'The runners could not be asked, and were asked again.',
}

const formatUncounted = (requests: number): string =>
  requests === 1
    ? 'The usage of a model request is unknown.'
    : `The usage of ${requests} model requests is unknown.`

/** Returns a sentence on a comment that joined the run, with its beginning unless the viewer may not see it. */
function describeSteering(item: RunEventOf<'steered'>['items'][number]): string {
  const { author, isModeration, text } = item
  const who = isModeration ? `moderator @${author}` : `@${author}`
  return `A comment by ${who} joined the run${text === '' ? '.' : `: ${truncate(text, 200)}`}`
}

/**
 * Returns the provider's message for a failed call, empty for a viewer who may not see it; null for
 * other events.
 */
export const getProviderQuote = (event: RunEvent): string | null =>
  event.type === 'model_failed' ? event.detail : null

/** Returns a sentence on what a call took beyond its reservation; null for none. */
function formatOverrun(charge: Charge | null): string | null {
  const overrun = charge?.overrun
  if (!overrun) return null
  const money = overrun.microusd > 0 ? ` and $${(overrun.microusd / 1_000_000).toFixed(6)}` : ''
  return `The provider counted ${overrun.tokens} tokens${money} more than were reserved. Further calls reserve more.`
}

/**
 * Returns a sentence on the charge of a call without an answer, which is in no step; empty for
 * none.
 */
function formatCharge(charge: Charge | null): string {
  if (!charge) return ''
  const { inputTokens, outputTokens, microusd, isPriced } = charge
  const money = isPriced ? `$${(microusd / 1_000_000).toFixed(6)}` : 'without a price'
  return ` A call without an answer was charged ${inputTokens} tokens in and ${outputTokens} out, ${money}.`
}

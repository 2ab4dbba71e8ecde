import type { ActivationCounters } from '../../hub/contract'
import type { LoopEvent } from '../loop/event'

/** What one activation adds to the hub's counters (L44), from its journal. */
export function countEvents(events: LoopEvent[], exportFailures = 0): ActivationCounters {
  const count = (matches: (event: LoopEvent) => boolean) => events.filter(matches).length
  const lostCalls = count(isLostModelCall)
  const answers = count(({ type }) => type === 'model_answered')
  const failures = count(({ type }) => type === 'model_failed')
  const compactions = events.filter((event) => event.type === 'compacted')
  const summaries = compactions.filter(({ charge }) => charge !== null)
  const tools = countTools(events)
  return {
    modelRequests: answers + failures + lostCalls + summaries.length,
    modelFailures:
      failures + lostCalls + summaries.filter(({ problem }) => problem !== null).length,
    toolExecutions: tools.executions,
    toolFailures: tools.failures,
    permissionDenials: countDenials(events),
    compactions: compactions.length,
    retries: countRetries(events),
    parks: count((event) => event.type === 'parked' && event.kind === 'parked'),
    exportFailures,
  }
}

/** Sent, and cut off or lost with its machine before it answered. */
const isLostModelCall = (event: LoopEvent): boolean =>
  (event.type === 'interrupted' ||
    event.type === 'time_ran_out' ||
    event.type === 'cancel_requested') &&
  event.charge !== null

/** A failed call that was followed by another one. */
function countRetries(events: LoopEvent[]): number {
  const calls = events.filter(({ type }) => type === 'model_answered' || type === 'model_failed')
  return calls.slice(0, -1).filter(({ type }) => type === 'model_failed').length
}

/** Calls that the gateway let through; what the machine's death left open may have run. */
function countTools(events: LoopEvent[]): { executions: number; failures: number } {
  const ran = events.filter(
    (event) => event.type === 'tool_returned' && event.audit?.decision === 'allowed',
  )
  const unknown = events
    .flatMap((event) => (event.type === 'interrupted' ? event.unknownCallIds : []))
    .filter(
      (callId) => !ran.some((event) => event.type === 'tool_returned' && event.callId === callId),
    )
  const failed = ran.filter((event) => event.type === 'tool_returned' && event.isError)
  return { executions: ran.length + unknown.length, failures: failed.length + unknown.length }
}

const denials = new Set<unknown>(['denied', 'rate_limited'])

/** Calls that a grant, a policy, a limit, a hook or a person did not let through (L31). */
function countDenials(events: LoopEvent[]): number {
  const callIds = events.flatMap((event) => {
    if (event.type === 'resumed') {
      return event.decisions
        .filter(({ decision }) => decision !== 'approved')
        .map(({ callId }) => callId)
    }
    if (event.type !== 'tool_returned') return []
    const isDenied =
      denials.has(event.audit?.decision) ||
      (event.audit === null && event.hooks?.some(({ outcome }) => outcome === 'denied'))
    return isDenied ? [event.callId] : []
  })
  return new Set(callIds).size
}

import type { ToolCount } from '../contract/agents'
import type { RunEvent } from './run-event'

/** A call for the totals of its tool; a call that did not run is an error of 0 ms. */
interface CountedCall {
  name: string
  isError: boolean
  durationMs: number
}

/**
 * Counts the calls of each tool that a run requested: those that ran, and those that were refused, denied
 * or invalid, or whose outcome is unknown. Calls that the run did not get to are not counted.
 */
export function countTools(events: RunEvent[]): ToolCount[] {
  const counts = new Map<string, ToolCount>()
  for (const { name, isError, durationMs } of events.flatMap(listCalls)) {
    if (name === '') continue
    const count = counts.get(name) ?? { name, calls: 0, errors: 0, totalMs: 0 }
    count.calls++
    count.errors += Number(isError)
    count.totalMs += durationMs
    counts.set(name, count)
  }
  return [...counts.values()]
}

function listCalls(event: RunEvent): CountedCall[] {
  switch (event.type) {
    case 'tool_returned':
      return [event]
    case 'model_answered':
      return event.calls.filter(({ refusal }) => refusal !== null).map(toError)
    case 'interrupted':
      return event.closed.map(toError)
    case 'resumed':
      return event.closed.filter(({ callId }) => isRefused(event.decisions, callId)).map(toError)
    case 'time_ran_out':
    case 'cancel_requested':
      return event.closed.filter(({ startedAt }) => startedAt !== null).map(toError)
    default:
      return []
  }
}

const toError = ({ name }: { name: string }): CountedCall => ({
  name,
  isError: true,
  durationMs: 0,
})

const isRefused = (decisions: { callId: string; decision: string }[], callId: string): boolean =>
  decisions.some((each) => each.callId === callId && each.decision !== 'approved')

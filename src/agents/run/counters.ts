import { type ActivationCounters, noCounters } from '../../hub/contract/activations'
import type { ToolCount } from '../contract/agents'
import type { ClosedCall, RunEvent, RunEventOf } from './run-event'

/** Counts what one run adds to the counters of the hub. */
export function countEvents(events: RunEvent[], exportFailures = 0): ActivationCounters {
  const counters = { ...noCounters, exportFailures }
  for (const event of events) addEvent(counters, event)
  counters.retries = countRetries(events)
  counters.permissionDenials = countDenials(events)
  return counters
}

function addEvent(counters: ActivationCounters, event: RunEvent): void {
  switch (event.type) {
    case 'model_answered':
      counters.modelRequests++
      counters.toolRefusals += event.calls.filter(({ refusal }) => refusal !== null).length
      break
    case 'model_failed':
      addFailedCall(counters)
      break
    case 'compacted':
      addSummary(counters, event)
      break
    case 'parked':
      counters.parks += event.isLost ? 0 : 1
      break
    case 'tool_returned':
      addToolCall(counters, event)
      break
    case 'interrupted':
      addLostCalls(counters, event.closed)
      if (event.charge !== null) addFailedCall(counters)
      break
    case 'time_ran_out':
    case 'cancel_requested':
      // calls that ran may have done their work
      addLostCalls(
        counters,
        event.closed.filter(({ startedAt }) => startedAt !== null),
      )
      if (event.charge !== null) addFailedCall(counters)
  }
}

/** Counts a model call that failed, or that was stopped or lost before it answered. */
function addFailedCall(counters: ActivationCounters): void {
  counters.modelRequests++
  counters.modelFailures++
}

/** Counts a compaction; a summary by the model is also a model call. */
function addSummary(
  counters: ActivationCounters,
  { charge, problem }: RunEventOf<'compacted'>,
): void {
  counters.compactions++
  if (charge === null) return
  counters.modelRequests++
  if (problem !== null) counters.modelFailures++
}

/** Counts a tool call that the gateway allowed, or refused before it decided; denials are counted apart. */
function addToolCall(
  counters: ActivationCounters,
  { decision, isError }: RunEventOf<'tool_returned'>,
): void {
  if (decision === 'invalid' || decision === 'unknown_tool') counters.toolRefusals++
  if (decision !== 'allowed') return
  counters.toolExecutions++
  if (isError) counters.toolFailures++
}

/** Counts tool calls without a known outcome. */
function addLostCalls(counters: ActivationCounters, calls: ClosedCall[]): void {
  counters.toolExecutions += calls.length
  counters.toolFailures += calls.length
}

/** Counts failed model calls that were followed by another one. */
function countRetries(events: RunEvent[]): number {
  let retries = 0
  let hasFailed = false
  for (const { type } of events) {
    if (type !== 'model_answered' && type !== 'model_failed') continue
    if (hasFailed) retries++
    hasFailed = type === 'model_failed'
  }
  return retries
}

/** Counts calls that a grant, a policy, a limit, a hook or a person denied. */
function countDenials(events: RunEvent[]): number {
  const callIds = new Set<string>()
  for (const event of events) {
    if (event.type === 'tool_returned' && isDenied(event)) callIds.add(event.callId)
    if (event.type !== 'resumed') continue
    for (const { callId, decision } of event.decisions) {
      if (decision !== 'approved') callIds.add(callId)
    }
  }
  return callIds.size
}

const isDenied = ({ decision, hooks }: RunEventOf<'tool_returned'>): boolean =>
  decision === null
    ? hooks.some(({ outcome }) => outcome === 'denied')
    : decision === 'denied' || decision === 'rate_limited'

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

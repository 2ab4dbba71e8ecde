import { type ActivationCounters, noCounters } from '../../hub/contract/activation-counters'
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

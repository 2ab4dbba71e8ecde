import type { ActivationCounters } from '../../hub/contract/hub'
import type { LoopEvent, LoopEventOf } from '../loop/event'
import { findStoppedEffects, isStopEvent } from '../run/stopped-effects'

/** Counts what one activation adds to the counters of the hub, from its journal. */
export function countEvents(events: LoopEvent[], exportFailures = 0): ActivationCounters {
  const counters = { ...emptyCounters, exportFailures }
  for (const [index, event] of events.entries()) {
    addEvent(counters, event, events)
    if (isStopEvent(event)) addStoppedCalls(counters, events, index)
  }
  counters.retries = countRetries(events)
  counters.permissionDenials = countDenials(events)
  return counters
}

const emptyCounters: ActivationCounters = {
  modelRequests: 0,
  modelFailures: 0,
  toolExecutions: 0,
  toolFailures: 0,
  permissionDenials: 0,
  compactions: 0,
  retries: 0,
  parks: 0,
  exportFailures: 0,
}

function addEvent(counters: ActivationCounters, event: LoopEvent, events: LoopEvent[]): void {
  switch (event.type) {
    case 'model_answered':
      counters.modelRequests++
      break
    case 'model_failed':
      counters.modelRequests++
      counters.modelFailures++
      break
    case 'compacted':
      addSummary(counters, event)
      break
    case 'parked':
      counters.parks += event.kind === 'parked' ? 1 : 0
      break
    case 'tool_returned':
      addToolCall(counters, event)
      break
    case 'interrupted':
      addUnknownCalls(counters, event, events)
      addLostModelCall(counters, event)
      break
    case 'time_ran_out':
    case 'cancel_requested':
      addLostModelCall(counters, event)
  }
}

/** Counts a compaction; a summary by the model is also a model call. */
function addSummary(
  counters: ActivationCounters,
  { charge, problem }: LoopEventOf<'compacted'>,
): void {
  counters.compactions++
  if (charge === null) return
  counters.modelRequests++
  if (problem !== null) counters.modelFailures++
}

/** Counts a model call that was stopped or lost before it answered. */
function addLostModelCall(
  counters: ActivationCounters,
  { charge }: LoopEventOf<'interrupted' | 'time_ran_out' | 'cancel_requested'>,
): void {
  if (charge === null) return
  counters.modelRequests++
  counters.modelFailures++
}

/** Counts a tool call, when the gateway allowed it. */
function addToolCall(
  counters: ActivationCounters,
  { audit, isError }: LoopEventOf<'tool_returned'>,
): void {
  if (audit?.decision !== 'allowed') return
  counters.toolExecutions++
  if (isError) counters.toolFailures++
}

/** Counts tool calls with an unknown outcome, unless they ran again and returned. */
function addUnknownCalls(
  counters: ActivationCounters,
  { unknownCallIds }: LoopEventOf<'interrupted'>,
  events: LoopEvent[],
): void {
  const unknown = unknownCallIds.filter((callId) => !events.some((event) => hasRun(event, callId)))
  counters.toolExecutions += unknown.length
  counters.toolFailures += unknown.length
}

/** Counts tool calls that a person or the time limit stopped: they may have done their work. */
function addStoppedCalls(counters: ActivationCounters, events: LoopEvent[], index: number): void {
  const { pending } = findStoppedEffects(events, index)
  const running = pending.filter(({ type }) => type === 'call_tool').length
  counters.toolExecutions += running
  counters.toolFailures += running
}

const hasRun = (event: LoopEvent, callId: string): boolean =>
  event.type === 'tool_returned' && event.callId === callId && event.audit?.decision === 'allowed'

/** Counts failed model calls that were followed by another one. */
function countRetries(events: LoopEvent[]): number {
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
function countDenials(events: LoopEvent[]): number {
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

const isDenied = ({ audit, hooks }: LoopEventOf<'tool_returned'>): boolean =>
  audit === null
    ? hooks?.some(({ outcome }) => outcome === 'denied') === true
    : audit.decision === 'denied' || audit.decision === 'rate_limited'

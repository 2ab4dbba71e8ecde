import type { ActivationCounters } from '../../hub/contract'
import type { LoopEvent, LoopEventOf } from '../loop/event'
import { findCutOff, isCutOff } from './cut-off'

/** What one activation adds to the hub's counters (L44), from its journal. */
export function countEvents(events: LoopEvent[], exportFailures = 0): ActivationCounters {
  const counted = { ...nothing, exportFailures }
  for (const [index, event] of events.entries()) {
    count(counted, event, events)
    if (isCutOff(event)) countCut(counted, events, index)
  }
  counted.retries = countRetries(events)
  counted.permissionDenials = countDenials(events)
  return counted
}

const nothing: ActivationCounters = {
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

function count(counted: ActivationCounters, event: LoopEvent, events: LoopEvent[]): void {
  switch (event.type) {
    case 'model_answered':
      counted.modelRequests++
      break
    case 'model_failed':
      counted.modelRequests++
      counted.modelFailures++
      break
    case 'compacted':
      countSummary(counted, event)
      break
    case 'parked':
      counted.parks += event.kind === 'parked' ? 1 : 0
      break
    case 'tool_returned':
      countCall(counted, event)
      break
    case 'interrupted':
      countUnknown(counted, event, events)
      countLost(counted, event)
      break
    case 'time_ran_out':
    case 'cancel_requested':
      countLost(counted, event)
  }
}

/** A summary that a model was asked for is one of its calls. */
function countSummary(
  counted: ActivationCounters,
  { charge, problem }: LoopEventOf<'compacted'>,
): void {
  counted.compactions++
  if (charge === null) return
  counted.modelRequests++
  if (problem !== null) counted.modelFailures++
}

/** A model call that was sent, and cut off or lost with its machine before it answered. */
function countLost(
  counted: ActivationCounters,
  { charge }: LoopEventOf<'interrupted' | 'time_ran_out' | 'cancel_requested'>,
): void {
  if (charge === null) return
  counted.modelRequests++
  counted.modelFailures++
}

/** Only what the gateway let through has run. */
function countCall(
  counted: ActivationCounters,
  { audit, isError }: LoopEventOf<'tool_returned'>,
): void {
  if (audit?.decision !== 'allowed') return
  counted.toolExecutions++
  if (isError) counted.toolFailures++
}

/** What the machine's death left open may have run, unless it ran again and returned. */
function countUnknown(
  counted: ActivationCounters,
  { unknownCallIds }: LoopEventOf<'interrupted'>,
  events: LoopEvent[],
): void {
  const unknown = unknownCallIds.filter((callId) => !events.some((event) => isRun(event, callId)))
  counted.toolExecutions += unknown.length
  counted.toolFailures += unknown.length
}

/** What was running when a person or the clock ended it has no outcome, and may have done its work. */
function countCut(counted: ActivationCounters, events: LoopEvent[], index: number): void {
  const { pending } = findCutOff(events, index)
  const running = pending.filter(({ type }) => type === 'call_tool').length
  counted.toolExecutions += running
  counted.toolFailures += running
}

const isRun = (event: LoopEvent, callId: string): boolean =>
  event.type === 'tool_returned' && event.callId === callId && event.audit?.decision === 'allowed'

/** A failed call that was followed by another one. */
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

/** Calls that a grant, a policy, a limit, a hook or a person did not let through (L31). */
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

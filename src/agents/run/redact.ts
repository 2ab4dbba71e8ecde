import type { RunAccess } from '../contract/agents'
import type { ClosedCall, RunEvent, RunEventOf, RunLog } from './run-event'

/**
 * Returns the log as a viewer may see it: the same events, with private content empty. Private are
 * the prompt, the session, goal and steps of the agent's plan, the model's text and reasoning,
 * arguments and results of tools, what a program wrote, notes of people on approvals, and the provider's messages.
 * With `answer` the final text stays. Every view of a run is made from the result of this function.
 */
export function redactRunLog(log: RunLog, access: RunAccess): RunLog {
  if (access === 'all') return log
  const answer = access === 'answer' ? findFinalAnswer(log.events) : undefined
  return {
    ...log,
    events: log.events.map((event) => {
      const redacted = redactEvent(event)
      return event === answer ? { ...redacted, text: answer.text } : redacted
    }),
  }
}

/** Returns the last answer when it calls no tool. */
function findFinalAnswer(events: RunEvent[]): RunEventOf<'model_answered'> | undefined {
  const last = events.findLast((event) => event.type === 'model_answered')
  return last?.type === 'model_answered' && last.calls.length === 0 ? last : undefined
}

function redactEvent<Event extends RunEvent>(event: Event): RunEvent
function redactEvent(event: RunEvent): RunEvent {
  switch (event.type) {
    case 'loaded':
      // The sender of a direct message is private.
      return {
        ...event,
        requesters: event.task === 'dm' ? [] : event.requesters,
        session: null,
        goal: hide(event.goal),
        prompt: [],
      }
    case 'model_answered':
      return redactAnswer(event)
    case 'model_failed':
      return { ...event, detail: hide(event.detail) }
    case 'tool_returned':
      return redactResult(event)
    case 'steered':
      return { ...event, items: event.items.map((item) => ({ ...item, text: '' })) }
    case 'tool_parked':
      return { ...event, approval: { ...event.approval, arguments: '', argumentsHash: '' } }
    case 'resumed': {
      const decisions = event.decisions.map((decision) => ({ ...decision, note: '' }))
      return { ...event, decisions, closed: event.closed.map(redactClosed) }
    }
    case 'compacted':
      return { ...event, summary: '' }
    case 'program_called':
      return { ...event, arguments: '' }
    case 'program_reported':
      return redactReports(event)
    case 'program_lost':
      return { ...event, reason: '' }
    case 'time_ran_out':
    case 'cancel_requested':
    case 'interrupted':
    case 'ended':
      return { ...event, closed: event.closed.map(redactClosed) }
    // Nothing of these is private. A new event is decided on here, or this does not compile.
    case 'woken':
    case 'load_waited':
    case 'load_failed':
    case 'load_found_nothing':
    case 'model_refused':
    case 'model_waited':
    case 'parked':
    case 'park_failed':
    case 'slept':
    case 'commit_failed':
    case 'committed':
    case 'program_placed':
    case 'request_admitted':
    case 'tools_listed':
    case 'program_call_decided':
    case 'approval_overdue':
    case 'program_closed':
    case 'nobody_notified':
    case 'omitted':
      return event
  }
}

/** Returns an empty text in place of a text, and null in place of none. */
const hide = (text: string | null): '' | null => (text === null ? null : '')

function redactAnswer(event: RunEventOf<'model_answered'>): RunEvent {
  const calls = event.calls.map((call) => ({
    ...call,
    arguments: '',
    refusal: hide(call.refusal),
  }))
  return { ...event, text: '', reasoning: '', calls }
}

function redactResult({ plan, ...event }: RunEventOf<'tool_returned'>): RunEvent {
  const steps = plan?.steps.map((step) => ({ ...step, title: '' }))
  return {
    ...event,
    arguments: '',
    text: '',
    ...(plan && steps && { plan: { goal: hide(plan.goal), steps } }),
  }
}

function redactReports({ plan, changes: _, ...event }: RunEventOf<'program_reported'>): RunEvent {
  const steps = plan?.steps.map((step) => ({ ...step, title: '' }))
  return {
    ...event,
    text: '',
    reasoning: '',
    notes: [],
    ...(plan && steps && { plan: { goal: hide(plan.goal), steps } }),
  }
}

const redactClosed = (call: ClosedCall): ClosedCall => ({ ...call, text: '' })

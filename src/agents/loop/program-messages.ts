import { fence } from '../text/fence'
import type { LoopEvent, LoopEventOf } from './event'
import type { Message } from './message'
import { describeRefusal, unknownOutcome } from './refusal-text'

/** A call that was decided while its run was parked, and what came of it. */
interface DecidedCall {
  text: string
  isError: boolean
  decision: string
  isUntrusted?: true
  isPrivate?: true
  isOwnAccount?: true
}

/** Returns the calls of programs that were decided while the run was parked, by their ids. */
export function listDecidedCalls(events: LoopEvent[]): Map<string, DecidedCall> {
  const waited = new Set(
    events.flatMap((event) => (event.type === 'program_call_waits' ? [event.approval.callId] : [])),
  )
  return new Map(events.flatMap(readDecided).filter(([callId]) => waited.has(callId)))
}

/** Returns the calls that an event ends while no program works. */
function readDecided(event: LoopEvent): [callId: string, DecidedCall][] {
  switch (event.type) {
    case 'tool_returned': {
      const decision = event.audit?.decision ?? 'denied'
      return [[event.callId, { ...toMarks(event), decision }]]
    }
    case 'interrupted':
      return event.unknownCallIds.map((callId) => [callId, unknown])
    case 'resumed':
      return event.decisions.flatMap((each): [string, DecidedCall][] => {
        const text = describeRefusal(each)
        return text === null ? [] : [[each.callId, { text, isError: true, decision: 'denied' }]]
      })
    default:
      return []
  }
}

const unknown: DecidedCall = { text: unknownOutcome, isError: true, decision: 'allowed' }

const toMarks = (event: LoopEventOf<'tool_returned'>): Omit<DecidedCall, 'decision'> => ({
  text: event.text,
  isError: event.isError,
  ...(event.isUntrusted && { isUntrusted: true }),
  ...(event.isPrivate && { isPrivate: true }),
  ...(event.isOwnAccount && { isOwnAccount: true }),
})

/** Returns what a program answered at the end of its turn. */
export const toProgramMessages = ({ reports }: LoopEventOf<'program_reported'>): Message[] =>
  reports.flatMap((report) =>
    report.kind === 'ended' && report.answer.trim() !== ''
      ? [{ role: 'assistant' as const, text: report.answer, calls: [] }]
      : [],
  )

const decidedNote =
  '[note] Calls of yours required approval, and you were ended while they waited. They are decided, and what is below came of them. Do not repeat them: go on with the task.'

/** Returns the calls that were decided while the run was parked as one message, with their results fenced. */
export function toDecidedMessages(events: LoopEvent[]): Message[] {
  const decided = listDecidedCalls(events)
  const texts = events.flatMap((event) => {
    const result = event.type === 'program_called' ? decided.get(event.callId) : undefined
    if (event.type !== 'program_called' || !result) return []
    return [
      fence('tool_call', { tool: event.name }, event.arguments),
      fence('tool_result', { tool: event.name, error: result.isError }, result.text),
    ]
  })
  return texts.length === 0 ? [] : [{ role: 'user', text: [decidedNote, ...texts].join('\n') }]
}

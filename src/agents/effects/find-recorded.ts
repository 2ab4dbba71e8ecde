import type { ProgramCall } from '../../mcp-servers/contract/program-calls'
import type { LoopEvent, LoopEventOf } from '../loop/event'
import { listDecidedCalls } from '../loop/program-messages'

/** What a call returned in an earlier attempt. */
export type RecordedResult = Pick<
  LoopEventOf<'program_call_returned'>,
  'text' | 'isError' | 'resultBytes' | 'grant' | 'decision'
> &
  Pick<LoopEventOf<'program_call_returned'>, 'isUntrusted' | 'isPrivate' | 'isOwnAccount'>

/**
 * Returns the result of the same call in an earlier attempt, for a program that makes it again after a loss or after
 * a wait for approval; null when there is none. That is the result of a write, or of a call that was decided while
 * the run was parked. Each result stands for one call of an attempt.
 */
export function findRecorded(
  events: LoopEvent[],
  attempt: number,
  { tool, arguments: args }: Pick<ProgramCall, 'tool' | 'arguments'>,
): RecordedResult | null {
  const isSame = (event: LoopEvent): event is LoopEventOf<'program_called'> =>
    event.type === 'program_called' && event.name === tool && event.arguments === args
  const same = events.filter(isSame)
  const decided = listDecidedCalls(events)
  const results = same
    .filter((call) => call.attempt < attempt)
    .flatMap((call): RecordedResult[] => {
      const late = decided.get(call.callId)
      if (late) return [{ ...late, resultBytes: late.text.length, grant: null }]
      const returned = call.isWrite ? findReturned(events, call.callId) : null
      return returned ? [returned] : []
    })
  const used = same.filter((call) => call.attempt === attempt).length
  return results[used] ?? null
}

/** Returns what a call returned that ran while its program waited for it; null when it was not allowed to. */
function findReturned(
  events: LoopEvent[],
  callId: string,
): LoopEventOf<'program_call_returned'> | null {
  const found = events.find(
    (event) => event.type === 'program_call_returned' && event.callId === callId,
  )
  return found?.type === 'program_call_returned' && found.decision === 'allowed' ? found : null
}

import type { ProgramCall } from '../../mcp-servers/contract/program-calls'
import type { LoopEvent, LoopEventOf } from '../loop/event'

/**
 * Returns the result of the same write by an earlier attempt, for a program that makes it again after a loss; null
 * when there is none. Each result stands for one call of an attempt.
 */
export function findRecorded(
  events: LoopEvent[],
  attempt: number,
  { tool, arguments: args }: ProgramCall,
): LoopEventOf<'program_call_returned'> | null {
  const isSame = (event: LoopEvent): event is LoopEventOf<'program_called'> =>
    event.type === 'program_called' && event.name === tool && event.arguments === args
  const same = events.filter(isSame)
  const earlier = same.filter((call) => call.attempt < attempt && call.isWrite)
  const used = same.filter((call) => call.attempt === attempt).length
  const call = earlier[used]
  const returned = events.find(
    (event) => event.type === 'program_call_returned' && event.callId === call?.callId,
  )
  const hasRun = returned?.type === 'program_call_returned' && returned.decision === 'allowed'
  return call && hasRun ? returned : null
}

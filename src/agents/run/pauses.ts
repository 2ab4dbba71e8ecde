import type { TraceCompaction, TracePark } from '../contract/agents'
import { truncate } from '../text/truncate'
import { excerptChars } from './excerpt'
import type { RunEvent } from './run-event'

/** Returns every compaction of the history. */
export const collectCompactions = (events: RunEvent[]): TraceCompaction[] =>
  events.flatMap((event) =>
    event.type === 'compacted'
      ? [
          {
            at: event.at,
            durationMs: event.at - event.startedAt,
            replaced: event.replaced,
            tokensBefore: event.tokensBefore,
            tokens: event.tokens,
            costMicrousd: event.charge?.microusd ?? 0,
            problem: event.problem,
          },
        ]
      : [],
  )

/** Returns every wait for approval, with the decisions. */
export function collectParks(events: RunEvent[]): TracePark[] {
  const parks: TracePark[] = []
  /** Names of the calls that wait, by id: the decision about some comes in time. */
  const waiting = new Map<string, string>()
  for (const event of events) {
    if (event.type === 'tool_parked') waiting.set(event.callId, event.name)
    if (event.type === 'tool_returned') waiting.delete(event.callId)
    if (event.type === 'parked' && !event.isLost) {
      const tools = [...waiting.values()]
      parks.push({ at: event.at, resumedAt: null, tools, decisions: [] })
      waiting.clear()
    }
    const last = parks.at(-1)
    if (event.type !== 'resumed' || !last) continue
    last.resumedAt = event.at
    last.decisions = event.decisions.map(({ callId, decision, by, note }) => ({
      callId,
      decision,
      by,
      note: truncate(note, excerptChars.prompt),
    }))
  }
  return parks
}

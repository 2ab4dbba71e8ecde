import { countTotalChars } from '../loop/estimate'
import type { Message } from '../loop/message'
import type { PromptMemory } from '../memory/memory-types'
import { fence } from '../text/fence'

/**
 * Returns the session's history: the summary of compacted messages, then the later turns. The loop
 * compacts a long history before its next model call. Messages beyond `charsMax` are dropped, the
 * oldest first, and a call always together with its result.
 *
 * @param hasTools without tools only text is shown, because providers refuse calls of tools that the
 *   request does not list
 */
export function buildHistoryLayer(
  { summary, history: turns }: Pick<PromptMemory, 'summary' | 'history'>,
  charsMax: number,
  hasTools: boolean,
): Message[] {
  const messages = turns
    .flatMap((turn, index) => renameCalls(turn, index))
    .filter(isShown(hasTools))
  const kept = dropOldest(hasTools ? messages : messages.map(withoutCalls), charsMax)
  if (summary === '') return kept
  return [{ role: 'user', text: formatSummary(summary) }, ...kept]
}

const formatSummary = (summary: string): string =>
  `Summary of the earlier conversation:\n\n${fence('summary', {}, summary)}`

const isShown = (hasTools: boolean) => (message: Message) =>
  hasTools || (message.role !== 'tool' && !(message.role === 'assistant' && message.text === ''))

const withoutCalls = (message: Message): Message =>
  message.role === 'assistant' ? { ...message, calls: [] } : message

/** Makes call ids unique across turns; they are unique within one activation only. */
function renameCalls(turn: Message[], index: number): Message[] {
  const rename = <Named extends { callId: string }>(named: Named): Named => ({
    ...named,
    callId: `past${index}_${named.callId}`.slice(-64),
  })
  return turn.map((message) => {
    if (message.role === 'assistant') return { ...message, calls: message.calls.map(rename) }
    if (message.role === 'tool') return { ...message, results: message.results.map(rename) }
    return message
  })
}

/** Drops the oldest messages, so that the rest starts with a user message like any conversation. */
function dropOldest(messages: Message[], charsMax: number): Message[] {
  const fits = (from: number) => countTotalChars(messages.slice(from)) <= charsMax
  for (let from = 0; from < messages.length; from++) {
    const role = messages[from]?.role
    if ((role === 'user' || from === 0) && fits(from)) return messages.slice(from)
  }
  return []
}

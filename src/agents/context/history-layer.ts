import { countAllChars } from '../loop/estimate'
import type { Message } from '../loop/message'
import type { Memories } from '../storage/memory-store'
import { fence } from './fence'

/**
 * The session so far: the summary of what was compacted, then its turns (L11). A long history is
 * compacted by the loop before its next model call; only what is too long even for that is left out,
 * the oldest first, never a call without its result.
 *
 * @param hasTools without tools only what was said is shown: providers refuse calls of tools they do
 *   not know
 */
export function historyLayer(
  { summary, turns }: Pick<Memories, 'summary' | 'turns'>,
  charsMax: number,
  hasTools: boolean,
): Message[] {
  const messages = turns.flatMap((turn, index) => renameCalls(turn, index)).filter(isSaid(hasTools))
  const kept = dropOldest(hasTools ? messages : messages.map(withoutCalls), charsMax)
  if (summary === '') return kept
  return [{ role: 'user', text: showSummary(summary) }, ...kept]
}

const showSummary = (summary: string): string =>
  `Earlier in this conversation, in short:\n\n${fence('summary', {}, summary)}`

const isSaid = (hasTools: boolean) => (message: Message) =>
  hasTools || (message.role !== 'tool' && !(message.role === 'assistant' && message.text === ''))

const withoutCalls = (message: Message): Message =>
  message.role === 'assistant' ? { ...message, calls: [] } : message

/** Ids of calls are unique within an activation only, and here several meet. */
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

/** Cuts before a message that somebody said, so that what is left begins like a conversation. */
function dropOldest(messages: Message[], charsMax: number): Message[] {
  const fits = (from: number) => countAllChars(messages.slice(from)) <= charsMax
  for (let from = 0; from < messages.length; from++) {
    const role = messages[from]?.role
    if ((role === 'user' || from === 0) && fits(from)) return messages.slice(from)
  }
  return []
}

import { memoryLimits } from '../../shared/config'
import { countTotalChars, type Message } from '../loop/message'
import type { PromptMemory } from '../memory/memory-store'
import { fence } from '../text/fence'

/**
 * Returns the agent's memory: facts, recent activity, unfinished tasks. It is derived from untrusted
 * text, so it is fenced as untrusted. Null when the memory is empty.
 */
export function buildMemoryLayer(memories: PromptMemory, charsMax: number): string | null {
  const { facts, recentElsewhere: lately, tasks } = memories
  const factLines = keepNewest(facts.map(describeFact), charsMax / 2)
  const hidden = facts.length - factLines.length
  const blocks = [
    toBlock('facts', [...(hidden > 0 ? [`(${hidden} more are not shown.)`] : []), ...factLines]),
    toBlock(
      'lately',
      keepNewest(
        lately.map(({ at, gist }) => `${formatDay(at)}: ${gist}`),
        charsMax / 4,
      ),
    ),
    toBlock('tasks', keepNewest(tasks.map(describeTask), charsMax / 4)),
  ].filter((each) => each !== null)
  if (blocks.length === 0) return null
  const isPrivate = [...facts, ...tasks].some((each) => each.isPrivate)
  return [
    `What you remember from earlier tasks. It may be out of date.${isPrivate ? privateNote : ''}`,
    ...blocks,
  ].join('\n\n')
}

const privateNote =
  ' What is marked private is for the requester only: do not repeat it in a thread.'

function describeFact(fact: PromptMemory['facts'][number]): string {
  const marks = [
    `noted ${formatDay(fact.createdAt)}`,
    ...(fact.source === '' ? [] : [`from ${fact.source}`]),
    ...(fact.isUntrusted ? ['from outside or a guest'] : []),
    ...(fact.isPrivate ? ['private'] : []),
  ]
  return `${fact.id}. ${fact.text} (${marks.join('; ')})`
}

const describeTask = ({ id, text, createdAt, isPrivate }: PromptMemory['tasks'][number]): string =>
  `${id}. ${text} (since ${formatDay(createdAt)}${isPrivate ? '; private' : ''})`

const toBlock = (kind: string, lines: string[]): string | null =>
  lines.length === 0 ? null : fence('memory', { kind }, lines.map(oneLine).join('\n'))

const formatDay = (at: number): string => new Date(at).toISOString().slice(0, 10)

/** Puts a note on one line, so that it cannot look like several. */
const oneLine = (text: string): string =>
  text.replace(/\s+/g, (space) => (space.includes('\n') ? ' ' : space))

/** Keeps the last lines that fit: they are the newest, or the best matches. */
function keepNewest(lines: string[], charsMax: number): string[] {
  let left = charsMax
  const from = lines.findLastIndex((line) => {
    left -= Math.min(line.length, memoryLimits.factCharsMax * 2)
    return left < 0
  })
  return lines.slice(from + 1)
}

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

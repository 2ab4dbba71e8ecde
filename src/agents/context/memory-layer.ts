import { memoryLimits } from '../../shared/config'
import type { PromptMemory } from '../memory/memory-types'
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

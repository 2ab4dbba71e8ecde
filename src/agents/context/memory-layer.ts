import { memoryLimits } from '../../config'
import type { Memories } from '../storage/memory-store'
import { fence } from './fence'

/**
 * What the agent remembers: facts, what it did lately, tasks it has not finished (L11). It was noted
 * from strangers' words, so it is fenced like theirs (L16). Null when there is nothing.
 */
export function memoryLayer(memories: Memories, charsMax: number): string | null {
  const { facts, lately, tasks } = memories
  const factLines = keepNewest(
    facts.map(({ id, text, source, createdAt }) => {
      const from = source === '' ? '' : `; from ${source}`
      return `${id}. ${text} (noted ${day(createdAt)}${from})`
    }),
    charsMax / 2,
  )
  const hidden = facts.length - factLines.length
  const blocks = [
    block('facts', [...(hidden > 0 ? [`(${hidden} more are not shown.)`] : []), ...factLines]),
    block(
      'lately',
      keepNewest(
        lately.map(({ at, gist }) => `${day(at)}: ${gist}`),
        charsMax / 4,
      ),
    ),
    block('tasks', keepNewest(tasks.map(describeTask), charsMax / 4)),
  ].filter((each) => each !== null)
  if (blocks.length === 0) return null
  return ['What you remember from earlier tasks. It may be out of date.', ...blocks].join('\n\n')
}

const describeTask = ({ id, text, createdAt }: Memories['tasks'][number]): string =>
  `${id}. ${text} (since ${day(createdAt)})`

const block = (kind: string, lines: string[]): string | null =>
  lines.length === 0 ? null : fence('memory', { kind }, lines.map(oneLine).join('\n'))

const day = (at: number): string => new Date(at).toISOString().slice(0, 10)

/** A note cannot look like several. */
const oneLine = (text: string): string => text.replace(/\s*\n\s*/g, ' ')

/** The last ones matter most: the newest, or the best match. */
function keepNewest(lines: string[], charsMax: number): string[] {
  let room = charsMax
  const from = lines.findLastIndex((line) => {
    room -= Math.min(line.length, memoryLimits.factCharsMax * 2)
    return room < 0
  })
  return lines.slice(from + 1)
}

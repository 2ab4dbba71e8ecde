import type { ServerInstructions } from '../../mcp-servers/contract/tools'
import { fence } from '../text/fence'

/**
 * Returns what the remote servers of the agent's tools say about their use, as an admin accepted it; null when none says
 * anything. It is text of others. Servers whose text does not fit are named.
 */
export function buildToolServersLayer(
  instructions: readonly ServerInstructions[],
  charsMax: number,
): string | null {
  if (instructions.length === 0) return null
  let left = charsMax
  const fits = ({ text }: ServerInstructions) => {
    const isShort = text.length <= left
    if (isShort) left -= text.length
    return isShort
  }
  const { shown = [], omitted = [] } = Object.groupBy(instructions, (each) =>
    fits(each) ? 'shown' : 'omitted',
  )
  return [
    'The servers of some of your tools describe how to use these tools:',
    ...shown.map(({ server, text }) => fence('tool_server', { name: server }, text)),
    ...(omitted.length > 0
      ? [`Omitted, as they are too long: ${omitted.map(({ server }) => server).join(', ')}.`]
      : []),
  ].join('\n\n')
}

import type { Message } from './message'

const lineCharsMax = 240
const itemCharsMax = 2_000

/**
 * The words of a conversation for whoever condenses it. Long ones are cut in the middle of nothing
 * that matters: results are the longest, and their beginnings say what they are.
 */
export function writeRecord(messages: Message[], former: string | null, charsMax: number): string {
  const items = messages.flatMap((message) => describe(message, itemCharsMax))
  const before = former === null ? [] : [`Summary so far: ${former}`]
  return keepEnds([...before, ...items], charsMax).join('\n\n')
}

/** A summary without a model: the beginning of everything that was said and found (L20). */
export function extractSummary(
  messages: Message[],
  former: string | null,
  charsMax: number,
): string {
  const lines = messages.flatMap((message) => describe(message, lineCharsMax)).map(toLine)
  const before = former === null ? [] : [former.slice(0, charsMax / 2).toWellFormed()]
  return keepEnds([...before, ...lines], charsMax).join('\n')
}

const toLine = (text: string): string => `- ${text.replace(/\s+/g, ' ')}`

function describe(message: Message, charsMax: number): string[] {
  if (message.role === 'tool') {
    return message.results.map(({ name, text }) => `${name} returned: ${cut(text, charsMax)}`)
  }
  if (message.role !== 'assistant') return [`Told: ${cut(message.text, charsMax)}`]
  const said = message.text.trim() === '' ? [] : [`I said: ${cut(message.text, charsMax)}`]
  const calls = message.calls.map(
    (call) => `I called ${call.name} ${cut(call.arguments, charsMax)}`,
  )
  return [...said, ...calls]
}

/** The first items and the newest: what it began with and what it came to. */
function keepEnds(items: string[], charsMax: number): string[] {
  const sizeOf = (item: string) => item.length + 2
  let left = charsMax - 40
  const first = items.slice(0, 1).map((item) => cut(item, Math.floor(charsMax / 2)))
  left -= first.reduce((sum, item) => sum + sizeOf(item), 0)
  let from = items.length
  while (from > 1 && left >= sizeOf(items[from - 1] ?? '')) {
    from--
    left -= sizeOf(items[from] ?? '')
  }
  const missing = from - first.length
  const gap = missing > 0 ? [`[${missing} more are left out]`] : []
  return [...first, ...gap, ...items.slice(from)]
}

function cut(text: string, charsMax: number): string {
  const clean = text.trim()
  return clean.length <= charsMax
    ? clean
    : `${clean.slice(0, Math.max(0, charsMax)).toWellFormed()} [...]`
}

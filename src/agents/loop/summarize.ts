import { cutText } from '../../shared/cut-text'
import type { Message } from './message'

const lineCharsMax = 240
const itemCharsMax = 2_000

/**
 * Returns a conversation as text for the model that summarizes it. Long items are truncated at
 * their end: the longest are tool results, and their beginnings say what they are.
 */
export function formatRecord(messages: Message[], former: string | null, charsMax: number): string {
  const items = messages.flatMap((message) => describe(message, itemCharsMax))
  const before = former === null ? [] : [`Summary so far: ${former}`]
  return keepEnds([...before, ...items], charsMax).join('\n\n')
}

/** Returns a summary made without a model: the beginning of every message and result. */
export function extractSummary(
  messages: Message[],
  former: string | null,
  charsMax: number,
): string {
  const lines = messages.flatMap((message) => describe(message, lineCharsMax)).map(toLine)
  const before = former === null ? [] : [cutText(former, charsMax / 2)]
  return keepEnds([...before, ...lines], charsMax).join('\n')
}

const toLine = (text: string): string => `- ${text.replace(/\s+/g, ' ')}`

function describe(message: Message, charsMax: number): string[] {
  if (message.role === 'tool') {
    return message.results.map(({ name, text }) => `${name} returned: ${truncate(text, charsMax)}`)
  }
  if (message.role !== 'assistant') return [`Received: ${truncate(message.text, charsMax)}`]
  const texts = message.text.trim() === '' ? [] : [`I said: ${truncate(message.text, charsMax)}`]
  const calls = message.calls.map(
    (call) => `I called ${call.name} ${truncate(call.arguments, charsMax)}`,
  )
  return [...texts, ...calls]
}

/**
 * Keeps the first item and as many of the newest as fit, with a line that counts the omitted ones.
 */
function keepEnds(items: string[], charsMax: number): string[] {
  const sizeOf = (item: string) => item.length + 2
  let left = charsMax - 40
  const first = items.slice(0, 1).map((item) => truncate(item, Math.floor(charsMax / 2)))
  left -= first.reduce((sum, item) => sum + sizeOf(item), 0)
  let from = items.length
  while (from > 1 && left >= sizeOf(items[from - 1] ?? '')) {
    from--
    left -= sizeOf(items[from] ?? '')
  }
  const missing = from - first.length
  const gap = missing > 0 ? [`[${missing} more omitted]`] : []
  return [...first, ...gap, ...items.slice(from)]
}

function truncate(text: string, charsMax: number): string {
  const clean = text.trim()
  return clean.length <= charsMax ? clean : `${cutText(clean, Math.max(0, charsMax))} [...]`
}

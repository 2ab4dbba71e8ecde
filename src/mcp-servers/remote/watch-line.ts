/**
 * Reads one line of a stream of server-sent events as it arrives, and reports progress at once. The SDK
 * parses the whole stream afterwards.
 *
 * @returns whether this line is the response, after which reading can stop
 */
export function watchLine(line: string, progress?: (text: string) => void): boolean {
  if (!line.startsWith('data:')) return false
  const message = parse(line.slice('data:'.length))
  if (message === null) return false
  if (message.method === 'notifications/progress') {
    const words = describe(message.params)
    if (words !== '') progress?.(words)
  }
  return 'id' in message && ('result' in message || 'error' in message)
}

function parse(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

const wordsMax = 200

function describe(params: unknown): string {
  const { progress, total, message } = (params ?? {}) as Record<string, unknown>
  const share = typeof total === 'number' ? `${progress} of ${total}` : String(progress ?? '')
  return (typeof message === 'string' ? message : share).slice(0, wordsMax)
}

import { limits } from '../../shared/config'
import type { Trace } from '../contract/agents'

/** The shortest length that a text of a trace is truncated to: a shorter one is not useful. */
const textCharsMin = 120

/**
 * Returns a trace as JSON that the hub can store. When it is too large, its longest texts are
 * truncated to one common length, as long as possible; numbers and names stay.
 *
 * @param bytesMax of the JSON in UTF-8
 */
export function serializeTrace(trace: Trace, bytesMax: number = limits.traceBytesMax): string {
  const whole = JSON.stringify(trace)
  if (fits(whole, bytesMax)) return whole
  const even = truncateEvenly(trace, bytesMax)
  if (even) return even
  // so many steps that their numbers alone are too large: drop the events, which repeat them, then
  // the middle steps
  const bare = truncateEvenly({ ...trace, events: [] }, bytesMax)
  return bare ?? dropSteps({ ...trace, events: [] }, bytesMax)
}

/**
 * Returns the trace with the longest texts that fit, found by bisection; null when even the
 * shortest do not fit.
 */
function truncateEvenly(trace: Trace, bytesMax: number): string | null {
  let low = textCharsMin
  let best = stringify(trace, low)
  if (!fits(best, bytesMax)) return null
  let high = longestText(trace)
  while (high - low > 64) {
    const middle = (low + high) >> 1
    const text = stringify(trace, middle)
    if (fits(text, bytesMax)) {
      low = middle
      best = text
    } else high = middle
  }
  return best
}

/** Returns the trace without steps in the middle, with a note that counts them. */
function dropSteps(trace: Trace, bytesMax: number): string {
  const { steps } = trace
  for (let kept = steps.length >> 1; ; kept >>= 1) {
    const shown = [...steps.slice(0, kept), ...steps.slice(steps.length - kept)]
    const text = `${steps.length - shown.length} steps in the middle are not shown.`
    const notes = [...trace.notes, { at: trace.finishedAt ?? trace.startedAt, text }]
    const json = stringify({ ...trace, steps: shown, notes }, textCharsMin)
    if (kept === 0 || fits(json, bytesMax)) return json
  }
}

const stringify = (trace: Trace, chars: number): string =>
  JSON.stringify(trace, (_key, value: unknown) =>
    typeof value === 'string' && value.length > chars
      ? `${value.slice(0, chars).toWellFormed()} [...]`
      : value,
  )

function longestText(trace: Trace): number {
  let longest = textCharsMin
  JSON.stringify(trace, (_key, value: unknown) => {
    if (typeof value === 'string') longest = Math.max(longest, value.length)
    return value
  })
  return longest
}

/**
 * Returns whether a text fits. A UTF-16 unit takes at most three bytes, so most texts need no
 * encoding.
 */
const fits = (text: string, bytesMax: number): boolean =>
  text.length * 3 <= bytesMax ||
  (text.length <= bytesMax && new TextEncoder().encode(text).length <= bytesMax)

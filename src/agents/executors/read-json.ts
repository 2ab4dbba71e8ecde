/** A JSON object with unknown fields. */
export type Json = Record<string, unknown>

export const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the objects of a stream of JSON lines; other lines, such as warnings, are skipped. */
export const readJsonLines = (output: string): Json[] =>
  output.split('\n').flatMap((line) => {
    const value = parse(line)
    return isJson(value) ? [value] : []
  })

/** Returns the JSON object at the end of a program's output; null when there is none. */
export function readJsonObject(output: string): Json | null {
  const whole = parse(output)
  if (isJson(whole)) return whole
  const start = output.search(/^\{/m)
  const found = start < 0 ? undefined : parse(output.slice(start))
  return isJson(found) ? found : null
}

export const asText = (value: unknown): string | null => (typeof value === 'string' ? value : null)

export const asCount = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null

export const toMicrousd = (dollars: unknown): number | null => {
  const amount = asCount(dollars)
  return amount === null ? null : Math.round(amount * 1_000_000)
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

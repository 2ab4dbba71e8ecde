/** Null: it holds a % that encodes nothing. */
export function decodePercent(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** How tools write what the hub answers: times in ISO 8601, long texts cut, links as paths. */

const encoder = new TextEncoder()

export const toTime = (at: number): string => new Date(at).toISOString()

export const toUrl = (postId: string): string => `/p/${postId}`

/** The beginning of a text, at most `charsMax` characters; `…` marks a cut. */
export function excerpt(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  const cut = text.slice(0, charsMax)
  // Do not leave half of a surrogate pair behind.
  return `${/[\uD800-\uDBFF]$/.test(cut) ? cut.slice(0, -1) : cut}…`
}

/** The bytes a text takes as a JSON string: escapes and UTF-8 included. */
export const jsonBytes = (text: string): number => encoder.encode(JSON.stringify(text)).length

/** The beginning of a text that takes at most `bytesMax` bytes as a JSON string. */
export function excerptToBytes(text: string, bytesMax: number): string {
  let cut = excerpt(text, bytesMax)
  for (let bytes = jsonBytes(cut); bytes > bytesMax; bytes = jsonBytes(cut)) {
    cut = excerpt(text, Math.floor(((cut.length - 2) * bytesMax) / bytes))
  }
  return cut
}

/** Micro-dollars as dollars, for a reader. */
export const toUsd = (microusd: number): number => microusd / 1_000_000

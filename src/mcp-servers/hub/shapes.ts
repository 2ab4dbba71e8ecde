import { cutText } from '../../shared/cut-text'

const encoder = new TextEncoder()

/** Converts a time in milliseconds to ISO 8601. */
export const toTime = (at: number): string => new Date(at).toISOString()

/** Returns the path of a post's page. */
export const toUrl = (postId: string): string => `/p/${postId}`

/** Returns the beginning of a text, at most `charsMax` characters; `…` shows that it was truncated. */
export function excerpt(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text
  return `${cutText(text, charsMax)}…`
}

/** Returns the size of a text as a JSON string in UTF-8, in bytes. */
export const jsonBytes = (text: string): number => encoder.encode(JSON.stringify(text)).length

/** Returns the beginning of a text, at most `bytesMax` bytes as a JSON string. */
export function excerptToBytes(text: string, bytesMax: number): string {
  let short = excerpt(text, bytesMax)
  for (let bytes = jsonBytes(short); bytes > bytesMax; bytes = jsonBytes(short)) {
    short = excerpt(text, Math.floor(((short.length - 2) * bytesMax) / bytes))
  }
  return short
}

/** Converts micro-dollars to dollars. */
export const toUsd = (microusd: number): number => microusd / 1_000_000

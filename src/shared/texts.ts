import * as z from 'zod'

/**
 * Returns a text as every store and answer keeps it: halves of surrogate pairs, which UTF-8 cannot have, and U+0000,
 * at which C ends a text, become U+FFFD.
 */
export const toStorable = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd')

/** Applies `toStorable` to every text in a value that was parsed from JSON, names of fields included. */
export function toStorableJson(value: unknown): unknown {
  if (typeof value === 'string') return toStorable(value)
  if (Array.isArray(value)) return value.map(toStorableJson)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [toStorable(name), toStorableJson(each)]),
  )
}

/** Escapes of JSON for U+0000 and for halves of surrogate pairs: without any there is nothing to replace. */
export const mayNeedReplacing = (json: string): boolean => /\\u(0000|d[89a-f])/i.test(json)

// https://www.unicode.org/reports/tr9/#Directional_Formatting_Characters
const directional = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/**
 * Returns a text without the characters that turn around in which direction the text beside them reads: for where no
 * style sheet keeps them within the text that they stand in, such as mail.
 */
export const withoutDirection = (text: string): string => text.replace(directional, '')

/**
 * Whether a text shows anything: more than spaces, controls and characters without a shape, such as U+200B, the
 * fillers of Hangul, and the empty pattern of Braille.
 */
export const showsText = (text: string): boolean =>
  /[^\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cc}\u2800\ufff9-\ufffb\u{1d159}]/u.test(text)

/** A text that people read, as it is stored. */
export const storableText = z.string().overwrite(toStorable)

/** A text that people read and that shows something, without spaces around it. */
export const shownText = storableText.trim().min(1).refine(showsText, 'Must not be empty')

/** The name of an account beside the one it is mentioned by; empty: none. */
export const optionalName = storableText
  .trim()
  .max(60)
  .refine((text) => text === '' || showsText(text), 'Must not be empty')

import { remoteServers } from '../../shared/config'
import { cutText } from '../../shared/cut-text'
import { hashArguments } from '../../shared/exact-json'
import { formatCount } from '../../shared/format'
import type { Pin } from '../schema'

export interface OfferedTool extends Pin {
  name: string
}

/** Returns the SHA-256 of the canonical JSON: a different order of keys is not a change. */
export const hashOffer = ({ name, description, inputSchema, annotations }: OfferedTool) =>
  hashArguments('', { name, description, inputSchema, annotations })

/** Invisible characters; variation selectors are among the ignorable code points. */
const unseen = /[^\P{C}\n\t]|\p{Default_Ignorable_Code_Point}/gu

/** Removes invisible characters, which can hide instructions from the admin who accepts a tool. */
export const removeInvisible = (text: string): string => text.replace(unseen, '')

const charsMax = remoteServers.descriptionCharsMax

/** Returns what a model is not shown of a description, for both; null: it is shown all of it. */
export function findCut(text: string): string | null {
  const { length } = removeInvisible(text)
  return length <= charsMax
    ? null
    : `Models are shown the first ${formatCount(charsMax)} of ${formatCount(length)} characters of this description.`
}

/** Converts a description to the text for models: truncated and without invisible characters. */
export function toPlain(text: string): string {
  const shown = cutText(removeInvisible(text), charsMax).toWellFormed().trim()
  const cut = findCut(text)
  return cut === null ? shown : `${shown}\n[${cut}]`
}

/** Converts the instructions of a server to the text that admins and models read; null: there are none. */
export function toInstructions(text: string | undefined): string | null {
  const whole = removeInvisible((text ?? '').replace(/\r\n?/g, '\n')).trim()
  const { instructionsCharsMax: max } = remoteServers
  if (whole === '') return null
  if (whole.length <= max) return whole.toWellFormed()
  const note = `[Truncated: ${formatCount(max)} of ${formatCount(whole.length)} characters.]`
  return `${cutText(whole, max).trim()}\n${note}`
}

/** Converts a text for people: invisible characters are shown as their code points. */
export const showInvisible = (text: string): string =>
  text.replace(
    unseen,
    (char) => `⟨U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`,
  )

import { remoteServers } from '../../shared/config'
import { hashArguments } from '../gateway/hash-arguments'

/** A remote server's description of a tool, as an admin accepted it. */
export interface Pin {
  description: string
  inputSchema: Record<string, unknown>
  annotations: Record<string, unknown> | null
}

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

/** Converts a description to the text for models: truncated and without invisible characters. */
export const toPlain = (text: string): string =>
  removeInvisible(text).slice(0, remoteServers.descriptionCharsMax).trim()

/** Converts a text for people: invisible characters are shown as their code points. */
export const showInvisible = (text: string): string =>
  text.replace(
    unseen,
    (char) => `⟨U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`,
  )

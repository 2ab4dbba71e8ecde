import { remoteServers } from '../../config'
import { hashArguments } from '../gateway/hash-arguments'

/** What a server of others says of one of its tools; an admin accepts it as it stands. */
export interface Pin {
  description: string
  inputSchema: Record<string, unknown>
  annotations: Record<string, unknown> | null
}

export interface OfferedTool extends Pin {
  name: string
}

/** SHA-256 of the canonical JSON: another order of keys is no change, anything else is one. */
export const hashOffer = ({ name, description, inputSchema, annotations }: OfferedTool) =>
  hashArguments('', { name, description, inputSchema, annotations })

/** Characters that people do not see; selectors of variants are among the ignorable ones. */
const unseen = /[^\P{C}\n\t]|\p{Default_Ignorable_Code_Point}/gu

/** A text without characters that people do not see, which hide orders from who accepts them. */
export const dropUnseen = (text: string): string => text.replace(unseen, '')

/** A description as a model reads it: nothing of it unseen, and bounded. */
export const toPlain = (text: string): string =>
  dropUnseen(text).slice(0, remoteServers.descriptionCharsMax).trim()

/** The same for people: what cannot be seen is written out. */
export const toVisible = (text: string): string =>
  text.replace(
    unseen,
    (char) => `⟨U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`,
  )

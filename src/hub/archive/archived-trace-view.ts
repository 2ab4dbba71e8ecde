import type { ArchiveStore } from '../contract/archive'
import { decompress, type Place, unseal } from './encode'

/** Begins the text of a trace that was moved; a stored log is a JSON object. */
export const archivedMark = 'archived:'

/** What stays in the database of an archived trace: where it lies, its key, and what people are found by. */
export interface TraceStub extends Place {
  key: string
  secret: string
  /** Names of accounts in the trace, as the deletion of an account looks for them. */
  names: string
}

export const formatStub = (stub: TraceStub): string => archivedMark + JSON.stringify(stub)

/** The line of a trace in its file. */
export interface TraceLine {
  activation_id: string
  /** The trace, encrypted with the key in the database. */
  sealed: string
}

/**
 * Returns a stored trace, from the archive if it was moved; null when none is stored, or its file cannot be
 * read.
 */
export async function openStoredTrace(
  archive: ArchiveStore,
  stored: string | null,
): Promise<string | null> {
  if (!stored?.startsWith(archivedMark)) return stored
  const { key, offset, length, secret }: TraceStub = JSON.parse(stored.slice(archivedMark.length))
  const bytes = await archive.get(key, { offset, length })
  if (!bytes) return null
  const { sealed }: TraceLine = JSON.parse(await decompress(bytes))
  return unseal(sealed, secret)
}

/**
 * Returns words of a trace that can be names of accounts. What follows a name without a space can be the end of
 * a sentence, as in `@mira.`, so each beginning of a word that ends there is one, too.
 */
export const findNames = (trace: string): string[] => [
  ...new Set(
    [...trace.matchAll(/@([\w.-]+)|"([\w.-]+)\\/g)].flatMap(([, at, quoted]) =>
      at === undefined ? (quoted ?? '') : listBeginnings(at),
    ),
  ),
]

/** Returns a word, and its beginnings before each `.`, `-` and `_`. */
const listBeginnings = (word: string): string[] => [
  word,
  ...[...word.matchAll(/[._-]/g)].map(({ index }) => word.slice(0, index)),
]

/** Formats names as a search for them in a trace finds them. */
export const formatNames = (names: readonly string[]): string =>
  names.map((name) => `@${name} "${name}\\`).join(' ')

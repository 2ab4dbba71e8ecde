import type { ArchiveStore } from '../contract/hub'
import type { ArchiveKind } from '../schema/audit'
import { decompress, type Place, unseal } from './archive-format'
import { archivedMark, dayMs, type ListedFile } from './archive-queries'

/** The name of a file in addresses, such as `2026-10-01/<id>`. */
export const archiveName = /^\d{4}-\d{2}-\d{2}\/[\w-]{1,64}$/

const toKey = (kind: ArchiveKind, name: string): string => `archive/${kind}/${name}.jsonl.gz`

/** A file as pages list it. */
export interface ArchiveView {
  name: string
  /** Such as `2026-10-01`. */
  day: string
}

export const toArchiveView = (kind: ArchiveKind, { key, day }: ListedFile): ArchiveView => ({
  name: key.slice(`archive/${kind}/`.length, -'.jsonl.gz'.length),
  day: new Date(day * dayMs).toISOString().slice(0, 10),
})

/** Records of a file, as a JSON list for a statement; empty when there is no such file. */
export interface ArchivedRecords {
  key: string
  json: string
}

export async function readRecords(
  archive: ArchiveStore,
  kind: ArchiveKind,
  name: string,
): Promise<ArchivedRecords> {
  const key = toKey(kind, name)
  const bytes = await archive.get(key)
  const lines = bytes ? (await decompress(bytes)).trimEnd().split('\n') : []
  return { key, json: `[${lines.join(',')}]` }
}

/** What stays in the database of a trace in object storage: where it lies, its key, and what people are found by. */
interface TraceStub extends Place {
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

const readStub = (stored: string | null): TraceStub | null =>
  stored?.startsWith(archivedMark) ? JSON.parse(stored.slice(archivedMark.length)) : null

/** Returns the file that holds a stored trace; null when the database holds it. */
export const findKey = (stored: string | null): string | null => readStub(stored)?.key ?? null

/**
 * Returns a stored trace, from object storage if it is there; null when none is stored, or its file cannot be
 * read.
 */
export async function openStoredTrace(
  archive: ArchiveStore,
  stored: string | null,
): Promise<string | null> {
  const stub = readStub(stored)
  if (!stub) return stored
  const { key, offset, length, secret } = stub
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

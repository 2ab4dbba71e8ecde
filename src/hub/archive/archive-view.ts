import type { ArchiveStore } from '../contract/archive'
import type { ArchiveKind } from '../schema/archive'
import { decompress } from './encode'
import { dayMs, type ListedFile } from './queries'

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

import { importLimits } from '../../shared/config'

interface ImportCounts {
  posts: number
  comments: number
  accounts: number
  communities: number
}

/** What an import left out or changed, as admins read it. */
export interface ReportEntry {
  /** Position in the archive. */
  index: number
  /** Of the post or comment at its source; null when it has none. */
  id: string | null
  reason: string
}

const idCharsMax = 100
const reasonCharsMax = 500

/** Collects what an import does. */
export class ImportReport {
  readonly imported: ImportCounts = { posts: 0, comments: 0, accounts: 0, communities: 0 }
  readonly skipped: ReportEntry[] = []
  readonly changed: ReportEntry[] = []
  /** Entries for which the lists have no room. */
  notListed = 0
  /** Records that already existed completely. */
  unchanged = 0

  /** Returns the part of the report of one record. */
  of(index: number): RecordReport {
    const addTo = (list: ReportEntry[]) => (id: SourceId, reason: string) => {
      if (list.length === importLimits.reportEntriesMax) this.notListed++
      else list.push({ index, id: showId(id), reason: reason.slice(0, reasonCharsMax) })
    }
    return { skip: addTo(this.skipped), change: addTo(this.changed) }
  }
}

export type SourceId = string | number | null | undefined

/** Notes what an import leaves out or changes of one record, with the id of the post or comment. */
export interface RecordReport {
  skip(id: SourceId, reason: string): void
  change(id: SourceId, reason: string): void
}

const showId = (id: SourceId): string | null =>
  id == null ? null : String(id).slice(0, idCharsMax)

/** Quotes a value of an archive, shortened. */
export const quote = (value: unknown): string => `“${String(value).slice(0, 80)}”`

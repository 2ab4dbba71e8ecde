import type { SkippedRecord } from './read-record'

export interface ImportCounts {
  posts: number
  comments: number
  accounts: number
  communities: number
}

export interface ImportReport {
  imported: ImportCounts
  skipped: SkippedRecord[]
  /** Number of records that already existed completely. */
  unchanged: number
}

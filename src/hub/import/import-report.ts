import type { Skipped } from './read-record'

export interface Imported {
  posts: number
  comments: number
  accounts: number
  communities: number
}

export interface ImportReport {
  imported: Imported
  skipped: Skipped[]
  /** Number of records that already existed completely. */
  unchanged: number
}

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
  /** Records of which everything was here already. */
  unchanged: number
}

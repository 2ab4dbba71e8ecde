/** Limits of an import of an archive. */
export const importLimits = {
  recordsMax: 100_000,
  /** Comments of all records of a request. */
  commentsMax: 200_000,
  /** Of a post or comment: as UTF-8 with its HTML it stays below the size of a stored row. */
  textCharsMax: 262_144,
  /** Posts and comments, and characters of their texts, that one batch writes: its parameters stay below D1's 2 MB. */
  rowsPerGroup: 500,
  charsPerGroup: 400_000,
  /** Entries of each list of the report; those beyond are counted. */
  reportEntriesMax: 1_000,
} as const

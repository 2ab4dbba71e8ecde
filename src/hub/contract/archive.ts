/** Object storage for old records. Part of the hub's contract. */
export interface ArchiveStore {
  put(key: string, bytes: Uint8Array): Promise<void>
  /**
   * Returns an object, or a part of it; null when there is none.
   *
   * @param range in bytes
   */
  get(key: string, range?: { offset: number; length: number }): Promise<Uint8Array | null>
}

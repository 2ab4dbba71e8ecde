/**
 * A failure of the database that is not the statement's: it was reset, overloaded or not reachable. Whether
 * the statements ran is not known.
 */
export class DatabaseFault extends Error {
  override readonly name = 'DatabaseFault'
  /** Whether the platform recommends to send the statements again at once. */
  readonly isShort: boolean

  constructor(cause: unknown, isShort: boolean) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.isShort = isShort
  }
}

/**
 * Messages of https://developers.cloudflare.com/d1/observability/debug-d1/#error-list with the recommendation
 * to send the statements again.
 */
const shortFaults = [
  'Network connection lost',
  'reset because its code was updated',
  'Internal error while starting up D1 DB storage caused object to be reset',
  'Internal error in D1 DB storage caused object to be reset',
  'Cannot resolve D1 DB due to transient issue on remote node',
  'Replica disconnected from primary',
  "Can't read from request stream because client disconnected",
]

/** Messages of the same list, of faults that last longer. */
const longFaults = [
  'storage operation exceeded timeout which caused object to be reset',
  'D1 DB is overloaded',
  'exceeded its memory limit and was reset',
  'exceeded its CPU time limit and was reset',
]

/** Returns the fault that an error of the binding stands for; null for an error of the statement itself. */
export function toDatabaseFault(error: unknown): DatabaseFault | null {
  const text = String(error)
  const isAmong = (messages: string[]) => messages.some((message) => text.includes(message))
  if (isAmong(shortFaults)) return new DatabaseFault(error, true)
  return isAmong(longFaults) ? new DatabaseFault(error, false) : null
}

/** The database has no room for a write, which was refused as a whole. */
export class StorageFull extends Error {
  override readonly name = 'StorageFull'
}

/**
 * SQLite's message, of a full disk or of an object, and that of D1 at its limit
 * (https://developers.cloudflare.com/d1/platform/limits/).
 */
const fullMessages = ['SQLITE_FULL', 'Exceeded maximum DB size']

/** For how long a refused write means that the storage of this hub is full. */
const fullMs = 60_000
let fullAt = Number.NEGATIVE_INFINITY

/** Returns the fault of a write that found no room; null for any other error. */
export function toStorageFull(error: unknown, now: number): StorageFull | null {
  const text = String(error)
  if (!fullMessages.some((message) => text.includes(message))) return null
  fullAt = now
  return new StorageFull('The storage is full.', { cause: error })
}

/** Notes that a write found no room whose error did not say so. */
export const noteStorageFull = (now: number): void => {
  fullAt = now
}

/** Whether this isolate saw a write find no room within the last minute. */
export const wasStorageFull = (now: number): boolean => Math.abs(now - fullAt) < fullMs

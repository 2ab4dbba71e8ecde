/** Limits of live updates of threads over WebSockets. */
export const liveLimits = {
  /**
   * Number of Durable Objects that all topics share. One takes about 1,000 small calls a second and
   * 32,768 sockets; starting one costs more than many calls, so a few for the whole hub are cheaper
   * than one per thread. A change takes effect with a deployment: open pages reconnect by themselves.
   */
  objects: 8,
  /** Watchers of one topic; more indicate an attack or a bug. */
  watchersPerTopicMax: 1_000,
  watchersPerObjectMax: 20_000,
  /** Open sockets of an account, on threads and runs together; of an address, for those without an account. */
  socketsPerAccountMax: 100,
  socketsPerAddressMax: 200,
  /** How long an account or address with that many is refused before its sockets are counted again. */
  recountMs: 5_000,
  /** Time for which no socket can be opened whose like were closed: longer than an upgrade. */
  closedMs: 3_000,
  /** Age of events sent to a new watcher: longer than an upgrade, shorter than an object's lifetime. */
  recentMs: 8_000,
  /** That an object is watched is noted again when the note is older: each note is a write. */
  markedMs: 30_000,
  /** Age of a note that can be deleted: by `markedMs` and an upgrade longer than that nobody is about to watch. */
  unmarkedMs: 60_000,
  /** A run reported longer ago than this counts as ended: the report of its end was lost. */
  workingMsMax: 600_000,
  /** Events that one object holds in memory. */
  recentEventsMax: 2_000,
} as const

/** Limits of watching one activation. */
export const streamLimits = {
  /** Text deltas within this time are sent together. */
  coalesceMs: 100,
  /** Text, and reasoning, of one model call that watchers receive. */
  textCharsMax: 12_000,
  /** Excerpt of a text, arguments or a result in an event. */
  excerptChars: 400,
  /** Characters in all events of one activation; later events have empty texts. */
  eventCharsMax: 64_000,
  watchersPerActivationMax: 300,
} as const

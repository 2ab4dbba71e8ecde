import type { LiveEvent, LiveSnapshot } from '../contract/live-event'

/** Limits of `RecentEvents`; times are in milliseconds. */
export interface RecentLimits {
  recentEventsMax: number
  recentMs: number
  workingMsMax: number
}

interface RecentEntry {
  topic: string
  event: LiveEvent
  /** Milliseconds since the Unix epoch, of the same clock as `now` in `since`. */
  at: number
}

/**
 * Keeps the last events of many topics in bounded memory: the newest of each activation, and the newest
 * comment of each topic. The current time is an argument.
 */
export class RecentEvents {
  readonly #limits: RecentLimits
  /** In the order of arrival. */
  readonly #entries = new Map<string, RecentEntry>()

  constructor(limits: RecentLimits) {
    this.#limits = limits
  }

  /** Adds an event, and evicts old events. */
  add(topic: string, event: LiveEvent, now: number): void {
    const key = `${topic} ${event.type === 'working' ? event.activation_id : event.type}`
    this.#entries.delete(key)
    this.#entries.set(key, { topic, event, at: now })
    for (const [oldest, { at }] of this.#entries) {
      const isFull = this.#entries.size > this.#limits.recentEventsMax
      if (!isFull && now - at <= this.#limits.workingMsMax) break
      this.#entries.delete(oldest)
    }
  }

  /**
   * Returns the events of a topic that a watcher with this snapshot needs, oldest first: those of the last
   * `recentMs`, which may be newer than the snapshot, and the current actions of running activations.
   */
  since(topic: string, snapshot: LiveSnapshot, now: number): LiveEvent[] {
    const running = new Set(snapshot.working.map((each) => each.activation_id))
    return [...this.#entries.values()]
      .filter((each) => each.topic === topic)
      .filter(({ event, at }) => {
        if (now - at <= this.#limits.recentMs) return true
        return event.type === 'working' && running.has(event.activation_id)
      })
      .map(({ event }) => event)
  }
}

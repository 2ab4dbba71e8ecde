import type { Known, LiveEvent } from './live-event'

export interface RecentLimits {
  recentEventsMax: number
  recentMs: number
  workingMsMax: number
}

interface Noted {
  topic: string
  event: LiveEvent
  /** Milliseconds since the Unix epoch, of the clock that asks later. */
  at: number
}

/**
 * The last events of many topics, bounded, in memory only: of each activation the newest, of each
 * topic the newest comment. The clock is an argument.
 */
export class RecentEvents {
  readonly #limits: RecentLimits
  /** In the order they were heard. */
  readonly #noted = new Map<string, Noted>()

  constructor(limits: RecentLimits) {
    this.#limits = limits
  }

  note(topic: string, event: LiveEvent, now: number): void {
    const key = `${topic} ${event.type === 'working' ? event.activation_id : event.type}`
    this.#noted.delete(key)
    this.#noted.set(key, { topic, event, at: now })
    for (const [oldest, { at }] of this.#noted) {
      const isOver = this.#noted.size > this.#limits.recentEventsMax
      if (!isOver && now - at <= this.#limits.workingMsMax) break
      this.#noted.delete(oldest)
    }
  }

  /**
   * What somebody who knows `known` has to hear about a topic, oldest first: what came a moment ago,
   * perhaps after `known` was read, and what those who work are doing.
   */
  since(topic: string, known: Known, now: number): LiveEvent[] {
    const atWork = new Set(known.working.map((each) => each.activation_id))
    return [...this.#noted.values()]
      .filter((each) => each.topic === topic)
      .filter(({ event, at }) => {
        if (now - at <= this.#limits.recentMs) return true
        return event.type === 'working' && atWork.has(event.activation_id)
      })
      .map(({ event }) => event)
  }
}

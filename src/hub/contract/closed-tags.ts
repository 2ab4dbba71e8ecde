/**
 * Tags whose sockets were closed a moment ago. A request that was allowed before a change of access can
 * arrive after the sockets were closed, so none of these tags is accepted for `ms`. The current time is an
 * argument.
 */
export class ClosedTags {
  readonly #ms: number
  readonly #closedAt = new Map<string, number>()

  /** @param ms longer than an upgrade request takes */
  constructor(ms: number) {
    this.#ms = ms
  }

  add(tags: readonly string[], now: number): void {
    for (const [tag, at] of this.#closedAt) {
      if (now - at > this.#ms) this.#closedAt.delete(tag)
    }
    for (const tag of tags) this.#closedAt.set(tag, now)
  }

  /** Whether sockets with any of the tags were closed just now. */
  has(tags: readonly string[], now: number): boolean {
    return tags.some((tag) => now - (this.#closedAt.get(tag) ?? -Infinity) <= this.#ms)
  }
}

/**
 * Queue of all agents' tasks, oldest first. One activation answers all tasks of its agent so far, and
 * an agent runs once at a time, so a flood of mentions of one agent takes one slot.
 */
export class Inbox {
  /** Arrival times of waiting tasks, by agent. */
  readonly #tasks = new Map<number, number[]>()
  /** Agents with tasks, oldest task first; running agents are in `#held` instead. */
  #order: number[] = []
  #at = 0
  readonly #held = new Set<number>()

  get hasWaiting(): boolean {
    return this.#at < this.#order.length
  }

  add(agent: number, now: number, isRunning: boolean): void {
    const tasks = this.#tasks.get(agent)
    if (tasks) {
      tasks.push(now)
      return
    }
    this.#tasks.set(agent, [now])
    if (isRunning) this.#held.add(agent)
    else this.#order.push(agent)
  }

  /** Removes and returns the idle agent whose task waits longest, with its tasks' arrival times. */
  take(isRunning: (agent: number) => boolean): { agent: number; since: number[] } | null {
    while (this.hasWaiting) {
      const agent = this.#order[this.#at] ?? -1
      this.#at++
      this.#compact()
      if (isRunning(agent)) {
        this.#held.add(agent)
        continue
      }
      const since = this.#tasks.get(agent) ?? []
      this.#tasks.delete(agent)
      return { agent, since }
    }
    return null
  }

  /** Queues the tasks that arrived while the agent ran. */
  release(agent: number): void {
    if (this.#held.delete(agent)) this.#order.push(agent)
  }

  /** Returns the age of each waiting task. */
  listAges(now: number): number[] {
    return [...this.#tasks.values()].flat().map((since) => now - since)
  }

  #compact(): void {
    if (this.#at < 10_000) return
    this.#order = this.#order.slice(this.#at)
    this.#at = 0
  }
}

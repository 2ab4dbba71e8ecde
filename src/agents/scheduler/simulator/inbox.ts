/**
 * Tasks of all agents, the oldest unread first (S1). One activation answers all that its agent was
 * asked up to then, and an agent runs once at a time, so a flood of one agent is one task (S3).
 */
export class Inbox {
  /** When each waiting task came, by agent. */
  readonly #tasks = new Map<number, number[]>()
  /** Agents with a task, by its age; one that runs is put aside until it is done. */
  #order: number[] = []
  #at = 0
  readonly #aside = new Set<number>()

  get waits(): boolean {
    return this.#at < this.#order.length
  }

  add(agent: number, now: number, isRunning: boolean): void {
    const tasks = this.#tasks.get(agent)
    if (tasks) {
      tasks.push(now)
      return
    }
    this.#tasks.set(agent, [now])
    if (isRunning) this.#aside.add(agent)
    else this.#order.push(agent)
  }

  /** The agent whose task waits longest and that does not run, and when its tasks came. */
  take(isRunning: (agent: number) => boolean): { agent: number; since: number[] } | null {
    while (this.waits) {
      const agent = this.#order[this.#at] ?? -1
      this.#at++
      this.#compact()
      if (isRunning(agent)) {
        this.#aside.add(agent)
        continue
      }
      const since = this.#tasks.get(agent) ?? []
      this.#tasks.delete(agent)
      return { agent, since }
    }
    return null
  }

  /** What came while the agent ran waits from now on. */
  release(agent: number): void {
    if (this.#aside.delete(agent)) this.#order.push(agent)
  }

  /** How long each task waits that is still there. */
  listAges(now: number): number[] {
    return [...this.#tasks.values()].flat().map((since) => now - since)
  }

  #compact(): void {
    if (this.#at < 10_000) return
    this.#order = this.#order.slice(this.#at)
    this.#at = 0
  }
}

/** The running effects of one agent, by id. Effects share one abort signal, so all abort together. */
export class RunningTasks {
  readonly #ids = new Set<number>()
  /** Created with the first effect, because it takes memory in each of many agents. */
  #abort: AbortController | null = null
  /** Created by the first caller that waits. */
  #idle: PromiseWithResolvers<void> | null = null

  has(id: number): boolean {
    return this.#ids.has(id)
  }

  /** Adds an effect. The returned signal aborts when the effect is dropped. */
  begin(id: number): AbortSignal {
    this.#ids.add(id)
    this.#abort ??= new AbortController()
    return this.#abort.signal
  }

  end(id: number): void {
    this.#ids.delete(id)
  }

  /** Drops all effects that are not in `wanted`. If there are any, the shared signal aborts. */
  abortOthers(wanted: readonly { id: number }[]): void {
    let hasDropped = false
    for (const id of this.#ids) {
      if (wanted.some((each) => each.id === id)) continue
      this.#ids.delete(id)
      hasDropped = true
    }
    if (!hasDropped) return
    this.#abort?.abort()
    this.#abort = null
  }

  /** Resolves `untilQuiet` if no effect runs. Call it after an effect's event has been applied. */
  resolveIfIdle(): void {
    if (this.#ids.size > 0) return
    this.#abort = null
    this.#idle?.resolve()
    this.#idle = null
  }

  /** Reports that storage failed: a waiting alarm rejects, so that the platform retries it. */
  rejectWaiting(error: unknown): void {
    if (!this.#idle) throw error
    this.#idle.reject(error)
    this.#idle = null
  }

  /** Resolves when no effect runs. Dropped effects that have not ended are not waited for. */
  async waitUntilIdle(): Promise<void> {
    if (this.#ids.size === 0) return
    this.#idle ??= Promise.withResolvers()
    await this.#idle.promise
  }

  /** Resolves when no effect runs after `before`, or after a time. */
  async waitUntilIdleOr(ms: number, before: Promise<void> | null = null): Promise<void> {
    const timer = new AbortController()
    const wait = scheduler.wait(ms, { signal: timer.signal })
    const isIdle = before ? before.then(() => this.waitUntilIdle()) : this.waitUntilIdle()
    await Promise.race([isIdle, wait.catch(() => undefined)])
    // A remaining timer would keep the object in memory.
    timer.abort()
  }
}

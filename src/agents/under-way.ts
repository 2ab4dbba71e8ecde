/** The effects of one agent that are under way, by their ids. What is dropped is dropped together. */
export class UnderWay {
  readonly #ids = new Set<number>()
  /** Made when work begins: it takes memory, for each of many agents. */
  #abort: AbortController | null = null
  /** Made when somebody waits for it. */
  #quiet: PromiseWithResolvers<void> | null = null

  has(id: number): boolean {
    return this.#ids.has(id)
  }

  /** The signal tells that it was dropped. */
  begin(id: number): AbortSignal {
    this.#ids.add(id)
    this.#abort ??= new AbortController()
    return this.#abort.signal
  }

  end(id: number): void {
    this.#ids.delete(id)
  }

  /** Stops what is not wanted any more. Effects share one signal, so what began together is dropped together. */
  keepOnly(wanted: readonly { id: number }[]): void {
    let isDropped = false
    for (const id of this.#ids) {
      if (wanted.some((each) => each.id === id)) continue
      this.#ids.delete(id)
      isDropped = true
    }
    if (!isDropped) return
    this.#abort?.abort()
    this.#abort = null
  }

  /** After an end and all that followed from it: whether there is more is known only now. */
  settle(): void {
    if (this.#ids.size > 0) return
    this.#abort = null
    this.#quiet?.resolve()
    this.#quiet = null
  }

  /** Nothing can be written any more: an alarm that waits fails, so the platform repeats it. */
  break(error: unknown): void {
    if (!this.#quiet) throw error
    this.#quiet.reject(error)
    this.#quiet = null
  }

  /** Resolves when nothing is; what was dropped and does not end is not waited for. */
  async untilQuiet(): Promise<void> {
    if (this.#ids.size === 0) return
    this.#quiet ??= Promise.withResolvers()
    await this.#quiet.promise
  }
}

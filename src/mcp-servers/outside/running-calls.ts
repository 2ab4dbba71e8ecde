/**
 * Calls that run in this isolate, so that a later request of the same caller can stop them. A client
 * that gets another isolate stops its call by closing the connection, which works everywhere.
 */
export interface RunningCalls {
  /** Runs `work` with a signal that `cancel` with the same key aborts. */
  run<Result>(key: string, work: (signal: AbortSignal) => Promise<Result>): Promise<Result>
  cancel(key: string): void
}

export function createRunningCalls(): RunningCalls {
  const running = new Map<string, () => void>()
  return {
    async run(key, work) {
      const stop = new AbortController()
      // Another request may only resolve a promise of this one: what follows runs here.
      const cancelled = Promise.withResolvers<void>()
      void cancelled.promise.then(() => stop.abort())
      running.set(key, cancelled.resolve)
      try {
        return await work(stop.signal)
      } finally {
        if (running.get(key) === cancelled.resolve) running.delete(key)
      }
    },
    cancel: (key) => running.get(key)?.(),
  }
}

/** Ids of requests repeat from session to session, and `1` is not `"1"`. */
export const toCallKey = (accountId: string, session: string | null, id: unknown): string =>
  JSON.stringify([accountId, session, id])

import { mcp } from '../../config'

/**
 * Calls that run in this isolate, so that a later request of the same caller can stop them. A client
 * that gets another isolate stops its call by closing the connection, which ends the stream of its answer.
 */
export interface RunningCalls {
  /** Runs `work` with a signal that `cancel` with the same key aborts. */
  run<Result>(key: string, work: (signal: AbortSignal) => Promise<Result>): Promise<Result>
  cancel(key: string): void
}

export function createRunningCalls(): RunningCalls {
  const running = new Map<string, { isCancelled: boolean }>()
  return {
    async run(key, work) {
      const stop = new AbortController()
      const state = { isCancelled: false }
      running.set(key, state)
      // Another request may not touch what this one waits for, so this one has a look by itself.
      const looking = setInterval(() => {
        if (state.isCancelled) stop.abort()
      }, mcp.cancelCheckMs)
      try {
        return await work(stop.signal)
      } finally {
        clearInterval(looking)
        if (running.get(key) === state) running.delete(key)
      }
    },
    cancel(key) {
      const state = running.get(key)
      if (state) state.isCancelled = true
    },
  }
}

/** Ids of requests repeat from session to session, and `1` is not `"1"`. */
export const toCallKey = (accountId: string, session: string | null, id: unknown): string =>
  JSON.stringify([accountId, session, id])

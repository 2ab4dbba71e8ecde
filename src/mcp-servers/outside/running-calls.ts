import { mcp } from '../../shared/config'

/**
 * The running calls of this isolate, so that a later request of the same caller can cancel them. A client
 * whose request reaches another isolate cancels its call by closing the connection.
 */
export interface RunningCalls {
  /** Runs `work` with a signal that aborts when `cancel` is called with the same key. */
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
      // A request cannot settle a promise of another request in Workers, so this one polls the state.
      const polling = setInterval(() => {
        if (state.isCancelled) stop.abort()
      }, mcp.cancelCheckMs)
      try {
        return await work(stop.signal)
      } finally {
        clearInterval(polling)
        if (running.get(key) === state) running.delete(key)
      }
    },
    cancel(key) {
      const state = running.get(key)
      if (state) state.isCancelled = true
    },
  }
}

/** Returns the key of a call. Request ids repeat across sessions, and `1` differs from `"1"`. */
export const toCallKey = (accountId: string, session: string | null, id: unknown): string =>
  JSON.stringify([accountId, session, id])

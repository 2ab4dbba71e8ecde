/**
 * Reads until there is something or the time is over, less often the longer it takes: once a second at
 * first, then every two.
 *
 * @param isClosed whether the client has gone
 */
export async function readUntil<Value>(
  read: () => Promise<Value>,
  isFound: (value: Value) => boolean,
  { timeoutMs, isClosed }: { timeoutMs: number; isClosed(): boolean },
): Promise<Value> {
  let waitedMs = 0
  for (;;) {
    const value = await read()
    if (isFound(value) || waitedMs >= timeoutMs || isClosed()) return value
    const pauseMs = Math.min(timeoutMs - waitedMs, waitedMs < 5_000 ? 1_000 : 2_000)
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
    waitedMs += pauseMs
  }
}

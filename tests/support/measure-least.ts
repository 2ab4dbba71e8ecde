/**
 * Returns how long work takes, in milliseconds: the least of some tries, because a busy machine interrupts the work and
 * does not make it less. What takes less than `enoughMs` is tried once.
 */
export function measureLeastMs(work: () => void, enoughMs: number): number {
  let least = Number.POSITIVE_INFINITY
  for (let tries = 0; tries < 5 && least >= enoughMs; tries++) {
    const startedAt = performance.now()
    work()
    least = Math.min(least, performance.now() - startedAt)
  }
  return least
}

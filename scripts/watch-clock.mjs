const checkMs = 1_000
/** A step back of less is no matter: what waits then waits for so much longer. */
const toleratedMs = 5_000

/**
 * Calls back each time the clock of the machine was set back. The runtime's clock stands still then, until the one of
 * the machine has caught up: everything that was at work would wait for that long.
 * @param {() => void} onSetBack
 * @returns {() => void} ends it
 */
export function watchClock(onSetBack) {
  const read = () => ({ shown: Date.now(), passed: performance.now() })
  let before = read()
  const timer = setInterval(() => {
    const now = read()
    const lostMs = now.passed - before.passed - (now.shown - before.shown)
    before = now
    if (lostMs > toleratedMs) onSetBack()
  }, checkMs)
  timer.unref()
  return () => clearInterval(timer)
}

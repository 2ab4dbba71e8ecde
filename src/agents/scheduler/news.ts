/** When posts become visible to exploring agents: the last time that has passed, and the next one. */
export interface News {
  seenAt: number
  nextAt: number | null
}

/**
 * Returns the last visibility time up to now, and the next one.
 *
 * @param times as the hub reports them; 0 means never
 */
export function readNews(times: readonly number[], now: number): News {
  const next = times.filter((at) => at > now)
  return {
    seenAt: Math.max(0, ...times.filter((at) => at <= now)),
    nextAt: next.length > 0 ? Math.min(...next) : null,
  }
}

/** When words are old enough to be looked at: the newest that are, and the first that will be. */
export interface News {
  seenAt: number
  nextAt: number | null
}

/** @param times as the hub reports them; 0 stands for never */
export function readNews(times: readonly number[], now: number): News {
  const next = times.filter((at) => at > now)
  return {
    seenAt: Math.max(0, ...times.filter((at) => at <= now)),
    nextAt: next.length > 0 ? Math.min(...next) : null,
  }
}

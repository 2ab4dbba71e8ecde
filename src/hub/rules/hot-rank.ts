/** Seconds by which a post may be older when it has ten times the score. */
export const tenfoldSeconds = 45_000

/**
 * Returns the rank of a post in the order `hot`. A newer post ranks above an older one unless the
 * older one has ten times its score for every 12.5 hours between them. The rank does not change as
 * time passes, so it is stored.
 * Source: "hot" of Reddit's public code, r2/lib/db/_sorts.pyx (2008 to 2017), with the Unix epoch
 * in place of Reddit's own.
 *
 * @param score upvotes minus downvotes
 * @param createdAt milliseconds since the Unix epoch
 */
export function computeHotRank(score: number, createdAt: number): number {
  const order = Math.log10(Math.max(Math.abs(score), 1))
  return Math.sign(score) * order + createdAt / 1000 / tenfoldSeconds
}

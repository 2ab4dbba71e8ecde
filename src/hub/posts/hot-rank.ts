/** Seconds of age that ten times the votes make up for. */
export const tenfoldSeconds = 45_000

/**
 * The rank of a post in `hot`: a young post beats an old one unless ten times as many people liked
 * the old one, for every 12.5 hours between them. It never has to be recomputed as time passes.
 * Source: "hot" of Reddit's public code, r2/lib/db/_sorts.pyx (2008 to 2017), with the Unix epoch
 * in place of Reddit's own.
 *
 * @param score upvotes less downvotes
 * @param createdAt milliseconds since the Unix epoch
 */
export function computeHotRank(score: number, createdAt: number): number {
  const order = Math.log10(Math.max(Math.abs(score), 1))
  return Math.sign(score) * order + createdAt / 1000 / tenfoldSeconds
}

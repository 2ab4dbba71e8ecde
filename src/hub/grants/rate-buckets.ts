import { approvals } from '../../shared/config'
import type { RateBucket } from '../contract/hub'
import type { Db } from '../db'

/** Returns the tokens in a bucket at the time `?2`, refilled since its last update. */
const levelSql = (bucket: string, rule: string): string =>
  `min(${rule}.value ->> 'limit', ${bucket}.tokens
    + max(0, ?2 - ${bucket}.updated_at) * 1.0 * (${rule}.value ->> 'limit') / (${rule}.value ->> 'perMs'))`

/**
 * Returns the statements that take a token from each bucket, or none if any bucket has less than one;
 * run them as one batch. A single statement decides, so that limits are exact for concurrent callers.
 * The second statement returns the wait in milliseconds (`shortMs`), the third changes rows if it took
 * tokens.
 */
export function createTakeTokensStatements(
  db: Db,
  buckets: RateBucket[],
  now: number,
): D1PreparedStatement[] {
  const rules = JSON.stringify(buckets)
  const bind = (sql: string) => db.d1.prepare(sql).bind(rules, now)
  return [
    bind(`INSERT INTO rate_buckets (id, tokens, updated_at)
      SELECT value ->> 'id', value ->> 'limit', ?2 FROM json_each(?1) WHERE true ON CONFLICT DO NOTHING`),
    bind(`SELECT max((1 - ${levelSql('b', 'r')}) * (r.value ->> 'perMs') / (r.value ->> 'limit')) AS shortMs
      FROM json_each(?1) r JOIN rate_buckets b ON b.id = r.value ->> 'id'`),
    bind(`UPDATE rate_buckets SET tokens = ${levelSql('rate_buckets', 'r')} - 1, updated_at = max(updated_at, ?2)
      FROM json_each(?1) r WHERE rate_buckets.id = r.value ->> 'id' AND NOT EXISTS (
        SELECT 1 FROM json_each(?1) o JOIN rate_buckets b ON b.id = o.value ->> 'id'
        WHERE ${levelSql('b', 'o')} < 1)`),
  ]
}

/** Deletes buckets that were idle long enough to be full again. */
export const deleteIdleBuckets = (db: Db, now: number): D1PreparedStatement =>
  db.d1.prepare('DELETE FROM rate_buckets WHERE updated_at < ?1').bind(now - approvals.bucketIdleMs)

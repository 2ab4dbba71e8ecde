import { approvals } from '../../config'
import type { RateBucket } from '../contract'
import type { Db } from '../db'

/** What is in a bucket `b` at the time `?2`, which has filled up since it was looked at. */
const levelSql = (bucket: string, rule: string): string =>
  `min(${rule}.value ->> 'limit', ${bucket}.tokens
    + max(0, ?2 - ${bucket}.updated_at) * 1.0 * (${rule}.value ->> 'limit') / (${rule}.value ->> 'perMs'))`

/**
 * Takes one call from each bucket, or none when one of them holds less: one statement decides, so the
 * numbers are exact whoever calls from where (M8). Run as one batch: the second says how long it is short, the third changed rows when it took.
 */
export function takeStatements(db: Db, buckets: RateBucket[], now: number): D1PreparedStatement[] {
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

/** A bucket that nobody took from for long is full, and a full one need not be kept. */
export const forgetBuckets = (db: Db, now: number): D1PreparedStatement =>
  db.d1.prepare('DELETE FROM rate_buckets WHERE updated_at < ?1').bind(now - approvals.bucketIdleMs)

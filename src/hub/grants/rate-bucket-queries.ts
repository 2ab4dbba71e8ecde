import { lt, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { approvals } from '../../shared/config'
import { number } from '../../shared/db/fields'
import {
  mapStatement,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { RateBucket } from '../contract/hub'
import { rateBuckets } from '../schema/grants'

/** `rules` is a JSON list of buckets. */
type Values = Params<{ rules: string; now: number }>

type Bucket = Record<'tokens' | 'updatedAt', SQLWrapper>

const b = alias(rateBuckets, 'b')

/** A member of an entry of `rules`. */
const member = (rule: SQL, name: keyof RateBucket): SQL =>
  sql`(${rule}.value ->> ${sql.raw(`'${name}'`)})`

/** Returns the tokens in a bucket at the time `now`, refilled since its last update. */
const levelSql = (bucket: Bucket, rule: SQL, now: Values['now']): SQL =>
  sql`min(${member(rule, 'limit')}, ${bucket.tokens}
    + max(0, ${now} - ${bucket.updatedAt}) * 1.0 * ${member(rule, 'limit')} / ${member(rule, 'perMs')})`

const [r, o] = [sql`r`, sql`o`]

const insertMissing = prepare((v: Values) =>
  write(
    insertSelect(
      rateBuckets,
      { id: member(r, 'id'), tokens: member(r, 'limit'), updatedAt: v.now },
      sql`FROM json_each(${v.rules}) r WHERE true ON CONFLICT DO NOTHING`,
    ),
  ),
)

const selectShortfall = prepare((v: Values) => {
  const shortMs = sql`max((1 - ${levelSql(b, r, v.now)}) * ${member(r, 'perMs')} / ${member(r, 'limit')})`
  return oneSql(
    { shortMs: number(shortMs) },
    sql`FROM json_each(${v.rules}) r JOIN ${rateBuckets} ${b} ON ${b.id} = ${member(r, 'id')}`,
  )
})

const takeTokens = prepare((v: Values) =>
  writeChanges(
    updateSet(
      rateBuckets,
      {
        tokens: sql`${levelSql(rateBuckets, r, v.now)} - 1`,
        updatedAt: sql`max(${rateBuckets.updatedAt}, ${v.now})`,
      },
      sql`FROM json_each(${v.rules}) r WHERE ${rateBuckets.id} = ${member(r, 'id')} AND NOT EXISTS (
        SELECT 1 FROM json_each(${v.rules}) o JOIN ${rateBuckets} ${b} ON ${b.id} = ${member(o, 'id')}
        WHERE ${levelSql(b, o, v.now)} < 1)`,
    ),
  ),
)

/**
 * Returns the statements of a batch that takes a token from each bucket, or none if any bucket has less
 * than one. A single statement decides, so that limits are exact for concurrent callers.
 *
 * @returns `shortMs` answers how long to wait for a token, in milliseconds
 */
export function createTakeTokensStatements(
  buckets: RateBucket[],
  now: number,
): { missing: Statement<void>; shortMs: Statement<number>; isTaken: Statement<boolean> } {
  const values = { rules: JSON.stringify(buckets), now }
  return {
    missing: insertMissing(values),
    shortMs: mapStatement(selectShortfall(values), (row) => row?.shortMs ?? 0),
    isTaken: takeTokens(values),
  }
}

/** Deletes buckets that were idle long enough to be full again. */
export const deleteIdleBuckets = (now: number): Statement<void> =>
  write(orm.delete(rateBuckets).where(lt(rateBuckets.updatedAt, now - approvals.bucketIdleMs)))

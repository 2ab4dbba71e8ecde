import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { trialCases, trials } from '../schema/trials'

type Columns = Readonly<Record<'outcome' | 'problem' | 'trialId', SQLWrapper>>

/** Whether a saved change of an agent waits. */
export const isHeldSql = ({ outcome }: Pick<Columns, 'outcome'>): SQL => sql`${outcome} IS NULL`

type CaseColumns = Readonly<
  Record<'state' | 'checksVerdict' | 'judgeVerdict' | 'peopleVerdict', SQLWrapper>
>

/** Whether people have to compare the answers of a case of a trial: it has ended, and nobody has decided it. */
export const isForPeopleSql = (of: CaseColumns): SQL =>
  sql`(${of.state} = 'done' AND coalesce(${of.peopleVerdict}, ${of.judgeVerdict}, ${of.checksVerdict}) IS NULL)`

const t = alias(trials, 'wt')
const k = alias(trialCases, 'wk')

/**
 * Whether a saved change waits for a person: it has not passed its trial, could not be tried, or people have to compare
 * answers of it.
 */
export const isForPersonSql = (held: Columns): SQL =>
  sql`(${isHeldSql(held)} AND (${held.problem} IS NOT NULL
    OR EXISTS (SELECT 1 FROM ${trials} ${t} CROSS JOIN ${trialCases} ${k} ON ${k.trialId} = ${t.id}
      WHERE ${t.id} = ${held.trialId} AND ${t.finishedAt} IS NOT NULL AND ${isForPeopleSql(k)})))`

import { desc, eq, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { runnerLimits } from '../../shared/config'
import {
  manySql,
  oneSql,
  orm,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import { type PersonAnswer, personSql } from '../rules/people-sql'
import { accounts, runnerKeys } from '../schema/accounts'
import { activations } from '../schema/activations'
import { isAccountShutOutSql } from '../viewers/ban-sql'

const k = alias(runnerKeys, 'k')
const a = alias(accounts, 'a')
const x = alias(activations, 'x')

const keyFields = {
  id: k.id,
  label: k.label,
  accountId: k.accountId,
  createdBy: personSql(a),
  createdAt: k.createdAt,
  lastUsedAt: k.lastUsedAt,
}

/** A key without its secret. Times are milliseconds since the Unix epoch. */
export interface RunnerKeyRow {
  id: string
  label: string
  accountId: AccountId
  /** The admin who made it. */
  createdBy: PersonAnswer
  createdAt: number
  lastUsedAt: number | null
}

const fromKeysSql = sql`FROM ${runnerKeys} ${k} JOIN ${accounts} ${a} ON ${a.id} = ${k.accountId}`

/** A key works while the account that made it is an admin whom nobody has shut out. */
const isValidSql = (now: number): SQL =>
  sql`${a.role} = 'admin' AND ${a.deletedAt} IS NULL AND NOT ${isAccountShutOutSql(a, now)}`

/** Selects all keys, the newest first. */
export const selectRunnerKeys = (): Statement<RunnerKeyRow[]> =>
  manySql(
    keyFields,
    sql`${fromKeysSql} ORDER BY ${desc(k.createdAt)}, ${desc(k.id)} LIMIT ${runnerLimits.keysMax}`,
  )

/** Selects the agents that have a run in flight. */
export const selectRunningAgents = (): Statement<{ agent: PersonAnswer }[]> =>
  manySql(
    { agent: personSql(a) },
    sql`FROM ${activations} ${x} INDEXED BY activations_running JOIN ${accounts} ${a} ON ${a.id} = ${x.agentId}
      WHERE ${x.state} = 'running'`,
  )

/** Selects a valid key by its hash. */
export const selectRunnerKey = (hash: string, now: number): Statement<RunnerKeyRow | undefined> =>
  oneSql(keyFields, sql`${fromKeysSql} WHERE ${k.hash} = ${hash} AND ${isValidSql(now)}`)

/** Selects a valid key by its id. */
export const selectRunnerKeyById = (id: string, now: number): Statement<RunnerKeyRow | undefined> =>
  oneSql(keyFields, sql`${fromKeysSql} WHERE ${k.id} = ${id} AND ${isValidSql(now)}`)

/**
 * Inserts a key. When the hub has as many as it may have, the label is null: that fails the constraint
 * `runner_keys.label` and with it the whole batch.
 */
export const insertRunnerKey = ({
  label,
  ...row
}: Omit<typeof runnerKeys.$inferInsert, 'lastUsedAt'>): Statement<void> =>
  write(
    insertSelect(
      runnerKeys,
      {
        ...row,
        label: sql`iif((SELECT count(*) FROM ${runnerKeys} ${k}) < ${runnerLimits.keysMax}, ${label}, NULL)`,
      },
      sql`WHERE true`,
    ),
  )

/** Deletes a key; answers whether there was one. */
export const deleteRunnerKey = (id: string): Statement<boolean> =>
  writeChanges(orm.delete(runnerKeys).where(eq(runnerKeys.id, id)))

/** Stores when a key was last used. */
export const touchRunnerKey = (id: string, now: number): Statement<void> =>
  write(orm.update(runnerKeys).set({ lastUsedAt: now }).where(eq(runnerKeys.id, id)))

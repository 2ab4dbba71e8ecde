import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, type RowOf } from '../../shared/db/fields'
import { manySql, oneSql, orm, type Params, prepare, write } from '../../shared/db/statement'
import { updateSet } from '../../shared/db/write-sql'
import type { AccountId, TrialId } from '../../shared/ids'
import { personSql } from '../rules/people-sql'
import { accounts } from '../schema/accounts'
import { agentDefinitions, agents, heldDefinitions } from '../schema/definitions'
import { trials } from '../schema/trials'

const h = alias(heldDefinitions, 'h')
const a = alias(accounts, 'a')
const by = alias(accounts, 'by_account')
const t = alias(trials, 't')
const d = alias(agentDefinitions, 'd')
const g = alias(agents, 'g')

const heldFields = {
  agentId: h.agentId,
  name: a.name,
  /** Of the agent. */
  ownerId: a.ownerId,
  etag: h.etag,
  baseVersion: h.baseVersion,
  allowGrants: h.allowGrants,
  savedAt: h.savedAt,
  savedBy: personSql(by),
  /** Of who saved it. */
  role: by.role,
  gate: h.gate,
  trialId: h.trialId,
  problem: h.problem,
  /** Whether no version of the agent has the same files. */
  hasOwnFiles: flag(sql`NOT EXISTS (SELECT 1 FROM ${agentDefinitions} ${d}
    WHERE ${d.accountId} = ${h.agentId} AND ${d.etag} = ${h.etag})`),
}

/** A saved definition that waits for its trial. */
export type HeldDefinition = RowOf<typeof heldFields>

const fromHeld: SQL = sql`FROM ${heldDefinitions} ${h} CROSS JOIN ${accounts} ${a} ON ${a.id} = ${h.agentId}
  JOIN ${agents} ${g} ON ${g.accountId} = ${h.agentId} JOIN ${accounts} ${by} ON ${by.id} = ${h.savedBy}`

/** Selects what is held for an agent. */
export const selectHeld = prepare((v: Params<{ name: string }>) =>
  oneSql(heldFields, sql`${fromHeld} WHERE ${a.name} = ${v.name}`),
)

/** Selects held definitions whose trial has ended, or does not exist any more. */
export const selectHeldToSettle = prepare(() =>
  manySql(
    heldFields,
    sql`${fromHeld} WHERE ${h.problem} IS NULL AND NOT EXISTS (
      SELECT 1 FROM ${trials} ${t} WHERE ${t.id} = ${h.trialId} AND ${t.finishedAt} IS NULL)`,
  ),
)

type Held = typeof heldDefinitions.$inferInsert

/** Holds a definition in place of what was held for the agent before. */
export const putHeld = (held: Held) =>
  write(
    orm
      .insert(heldDefinitions)
      .values(held)
      .onConflictDoUpdate({ target: heldDefinitions.agentId, set: { problem: null, ...held } }),
  )

/** Says why a held definition is not applied, unless another one is held by then. */
export const setHeldProblem = (agentId: AccountId, etag: string, problem: string) =>
  write(
    updateSet(
      heldDefinitions,
      { problem },
      sql`WHERE ${heldDefinitions.agentId} = ${agentId} AND ${heldDefinitions.etag} = ${etag}`,
    ),
  )

/** Lets the trial of a held definition decide again, after people have compared answers of it. */
export const reopenHeld = (trialId: TrialId) =>
  write(
    updateSet(
      heldDefinitions,
      { problem: null },
      sql`WHERE ${heldDefinitions.trialId} = ${trialId}`,
    ),
  )

/** Deletes what is held for an agent, unless another one is held by then. */
export const deleteHeld = (agentId: AccountId, etag: string) =>
  write(
    sql`DELETE FROM ${heldDefinitions}
      WHERE ${heldDefinitions.agentId} = ${agentId} AND ${heldDefinitions.etag} = ${etag}`,
  )

/** Deletes what is held for an agent, and what an account has saved. */
export const deleteHeldOf = (id: AccountId) =>
  write(
    sql`DELETE FROM ${heldDefinitions}
      WHERE ${heldDefinitions.agentId} = ${id} OR ${heldDefinitions.savedBy} = ${id}`,
  )

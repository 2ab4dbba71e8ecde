import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, HeldId, TrialId } from '../../shared/ids'
import { isForPeopleSql, isForPersonSql, isHeldSql } from '../rules/held-sql'
import { optionalPersonSql, personSql } from '../rules/people-sql'
import { accessGuard, accounts } from '../schema/accounts'
import { agentDefinitions, agents, heldDefinitions } from '../schema/definitions'
import { trialCases, trials } from '../schema/trials'
import { prepareForViewer, viewer, viewerCte } from '../viewers/queries'

const h = alias(heldDefinitions, 'h')
const a = alias(accounts, 'a')
const by = alias(accounts, 'by_account')
const decider = alias(accounts, 'decider')
const t = alias(trials, 't')
const k = alias(trialCases, 'k')
const d = alias(agentDefinitions, 'd')
const g = alias(agents, 'g')

const heldFields = {
  id: h.id,
  agentId: h.agentId,
  name: a.name,
  /** Of the agent. */
  ownerId: a.ownerId,
  etag: h.etag,
  baseVersion: h.baseVersion,
  restoredFrom: h.restoredFrom,
  allowGrants: h.allowGrants,
  savedAt: h.savedAt,
  savedBy: personSql(by),
  /** Of who saved it. */
  role: by.role,
  gate: h.gate,
  trialId: h.trialId,
  problem: h.problem,
  /** Null while it waits. */
  outcome: h.outcome,
  /** Null: its trial decided. */
  decidedBy: optionalPersonSql(decider),
  decidedAt: h.decidedAt,
  /** The version that it became. */
  version: h.version,
}

/** A saved definition that waits for its trial, or has waited. */
export type HeldDefinition = RowOf<typeof heldFields>

const joinHeldSql: SQL = sql`CROSS JOIN ${accounts} ${a} ON ${a.id} = ${h.agentId}
  JOIN ${agents} ${g} ON ${g.accountId} = ${h.agentId} JOIN ${accounts} ${by} ON ${by.id} = ${h.savedBy}
  LEFT JOIN ${accounts} ${decider} ON ${decider.id} = ${h.decidedBy}`

const ofAgentSql = (name: Params<{ name: string }>['name']): SQL =>
  sql`${h.agentId} = (SELECT ${accounts.id} FROM ${accounts} WHERE ${accounts.name} = ${name})`

/** Selects the change of an agent that waits. */
export const selectHeld = prepare((v: Params<{ name: string }>) =>
  oneSql(
    heldFields,
    sql`FROM ${heldDefinitions} ${h} ${joinHeldSql} WHERE ${ofAgentSql(v.name)} AND ${isHeldSql(h)}`,
  ),
)

/** Selects the newest change of an agent with these files, also one that no longer waits. */
export const selectHeldWith = prepare((v: Params<{ name: string; etag: string }>) =>
  oneSql(
    heldFields,
    sql`FROM ${heldDefinitions} ${h} ${joinHeldSql} WHERE ${ofAgentSql(v.name)} AND ${h.etag} = ${v.etag}
      ORDER BY ${isHeldSql(h)} DESC, ${h.id} DESC LIMIT 1`,
  ),
)

const countCases = (condition: SQL): SQL<number> =>
  sql<number>`(SELECT count(*) FROM ${trialCases} ${k} WHERE ${k.trialId} = ${h.trialId} AND ${condition})`

const progressFields = {
  ...heldFields,
  /** Whether its trial is still there. */
  hasTrial: flag(sql`EXISTS (SELECT 1 FROM ${trials} ${t} WHERE ${t.id} = ${h.trialId})`),
  cases: countCases(sql`1`),
  /** Those that run, or have not begun. */
  openCases: countCases(sql`${k.state} IN ('queued', 'running', 'judging')`),
  /** Those that people have to compare. */
  peopleCases: countCases(isForPeopleSql(k)),
}

/** A change with how far its trial is. */
export type HeldProgress = RowOf<typeof progressFields>

const listed = sql.raw('10')

/** Selects the changes of an agent that had to pass a trial, newest first. */
export const selectHeldList = prepare((v: Params<{ name: string }>) =>
  manySql(
    progressFields,
    sql`FROM ${heldDefinitions} ${h} ${joinHeldSql} WHERE ${ofAgentSql(v.name)} ORDER BY ${h.id} DESC LIMIT ${listed}`,
  ),
)

/** Selects the changes that wait for the viewer, the oldest first: for an admin all, for others those of their agents. */
export const selectHeldForViewer = prepareForViewer((v) =>
  manySql(
    progressFields,
    sql`FROM ${heldDefinitions} ${h} INDEXED BY held_definitions_waiting ${joinHeldSql}
      WHERE ${isForPersonSql(h)} AND EXISTS (
        SELECT 1 FROM ${viewer} WHERE ${viewer.role} = 'admin' OR ${viewer.id} = ${a.ownerId}) ORDER BY ${h.id}`,
    viewerCte(v),
  ),
)

/** Selects held definitions whose trial has ended, or does not exist any more. */
export const selectHeldToSettle = prepare(() =>
  manySql(
    heldFields,
    sql`FROM ${heldDefinitions} ${h} INDEXED BY held_definitions_waiting ${joinHeldSql}
      WHERE ${isHeldSql(h)} AND ${h.problem} IS NULL AND NOT EXISTS (
        SELECT 1 FROM ${trials} ${t} WHERE ${t.id} = ${h.trialId} AND ${t.finishedAt} IS NULL)`,
  ),
)

type NewHeld = typeof heldDefinitions.$inferInsert

/** The constraint that fails when another change of the agent waits. */
export const otherHeldConstraint = 'held_definitions.agent_id'

/** Inserts a change that waits. */
export const insertHeld = (held: NewHeld): Statement<void> =>
  write(orm.insert(heldDefinitions).values(held))

const waits = (id: HeldId): SQL =>
  sql`WHERE ${heldDefinitions.id} = ${id} AND ${isHeldSql(heldDefinitions)}`

/** Lets more grants wait with a change, for whoever may allow them. Answers whether it still waits. */
export const addHeldGrants = (
  id: HeldId,
  { allowGrants, savedBy }: Required<Pick<NewHeld, 'allowGrants' | 'savedBy'>>,
): Statement<boolean> =>
  writeChanges(
    updateSet(
      heldDefinitions,
      { allowGrants: sql`${JSON.stringify(allowGrants)}`, savedBy },
      waits(id),
    ),
  )

/** Says why a change is not applied, if it still waits. */
export const setHeldProblem = (id: HeldId, problem: string): Statement<void> =>
  write(updateSet(heldDefinitions, { problem }, waits(id)))

interface Decision {
  /** Null: its trial. */
  by: AccountId | null
  now: number
}

/** Discards a change that waits. Answers whether it has: another request can have decided before. */
export const discardHeldRow = (id: HeldId, { by: decidedBy, now }: Decision): Statement<boolean> =>
  writeChanges(
    updateSet(heldDefinitions, { outcome: 'discarded', decidedBy, decidedAt: now }, waits(id)),
  )

/** Ends the wait of a change that another one takes the place of, unless its trial decides again by then. */
export const replaceHeld = (
  { id, problem }: Pick<HeldDefinition, 'id' | 'problem'>,
  { by: decidedBy, now }: Decision,
): Statement<void> =>
  write(
    updateSet(
      heldDefinitions,
      { outcome: 'replaced', decidedBy, decidedAt: now },
      sql`${waits(id)} AND ${heldDefinitions.problem} IS ${problem}`,
    ),
  )

/** The constraint that fails when a change that is to be applied no longer waits. */
export const decidedConstraint = 'access_held'

/**
 * Marks a change as applied, as the newest version of its agent; fails its batch with `access_held` when it no longer
 * waits. It stands behind the write of that version.
 */
export const applyHeldStatements = (
  { id, agentId }: Pick<HeldDefinition, 'id' | 'agentId'>,
  { by: decidedBy, now }: Decision,
): Statement<void>[] => [
  write(
    insertSelect(
      accessGuard,
      { name: sql`'access_held'` },
      sql`WHERE NOT EXISTS (SELECT 1 FROM ${heldDefinitions} ${waits(id)})`,
    ),
  ),
  write(
    updateSet(
      heldDefinitions,
      {
        outcome: 'applied',
        problem: null,
        decidedBy,
        decidedAt: now,
        version: sql`(SELECT max(${d.version}) FROM ${agentDefinitions} ${d} WHERE ${d.accountId} = ${agentId})`,
      },
      waits(id),
    ),
  ),
]

/** Lets the trial of a change decide again, after people have compared answers of it. Answers whether a change waits for it. */
export const reopenHeld = (trialId: TrialId): Statement<boolean> =>
  writeChanges(
    updateSet(
      heldDefinitions,
      { problem: null },
      sql`WHERE ${heldDefinitions.agentId} = (SELECT ${t.agentId} FROM ${trials} ${t} WHERE ${t.id} = ${trialId})
        AND ${isHeldSql(heldDefinitions)} AND ${heldDefinitions.trialId} = ${trialId}`,
    ),
  )

/** Selects whether a version of an agent, or what waits, has these files. */
export const selectHasFiles = (agentId: AccountId, etag: string) =>
  oneSql(
    {
      isUsed:
        flag(sql`EXISTS (SELECT 1 FROM ${agentDefinitions} ${d} WHERE ${d.accountId} = ${agentId} AND ${d.etag} = ${etag})
        OR EXISTS (SELECT 1 FROM ${heldDefinitions} ${h} WHERE ${h.agentId} = ${agentId} AND ${h.etag} = ${etag} AND ${isHeldSql(h)})`),
    },
    sql``,
  )

/** Deletes the changes of an agent, and those that an account has saved. */
export const deleteHeldOf = (id: AccountId): Statement<void> =>
  write(
    sql`DELETE FROM ${heldDefinitions}
      WHERE ${heldDefinitions.agentId} = ${id} OR ${heldDefinitions.savedBy} = ${id}`,
  )

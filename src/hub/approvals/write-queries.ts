import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { idAt, newIdSql } from '../../shared/db/new-id'
import {
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { bare, insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, ActivationId } from '../../shared/ids'
import { activations } from '../schema/activations'
import { approvals } from '../schema/approvals'
import { inboxItems } from '../schema/inbox'

/** Drops the exact arguments of an approval that is no longer pending. */
const keepMasked = { arguments: bare(approvals.maskedArguments) }

/** A decision to store; `now` is in milliseconds since the Unix epoch. */
export interface ApprovalUpdate {
  id: string
  status: 'approved' | 'denied'
  scope: 'once' | 'activation'
  by: AccountId
  note: string
  now: number
}

/**
 * Stores the decision of an approval that is pending and not expired, and answers whether it did. Approving
 * for the activation also approves its other pending calls of the same tool and grant; an external call
 * can be approved once only.
 */
export const decideApproval = prepare((v: Params<ApprovalUpdate>) => {
  const own = alias(approvals, 'own')
  const { activationId, expiresAt, grant, id, status, tool } = approvals
  return writeChanges(
    updateSet(
      approvals,
      {
        status: v.status,
        scope: v.scope,
        decidedBy: v.by,
        note: v.note,
        decidedAt: v.now,
        ...keepMasked,
      },
      sql`FROM (SELECT ${id}, ${activationId}, ${tool}, ${grant} FROM ${approvals}
          WHERE ${id} = ${v.id} AND ${status} = 'pending' AND ${expiresAt} > ${v.now}
            AND (${v.scope} = 'once' OR ${activationId} IS NOT NULL)) AS ${own}
        WHERE ${status} = 'pending' AND (${id} = ${own.id} OR (${v.scope} = 'activation'
          AND ${activationId} = ${own.activationId} AND ${tool} = ${own.tool} AND ${grant} = ${own.grant}))`,
    ),
  )
})

/** Expires overdue approvals; an expired approval counts as denied. */
export const expireApprovals = (now: number): Statement<void> => expireOverdue({ now })

const expireOverdue = prepare(({ now }: Params<{ now: number }>) =>
  write(
    updateSet(
      approvals,
      { status: 'expired', decidedAt: now, ...keepMasked },
      sql`WHERE ${approvals.status} = 'pending' AND ${approvals.expiresAt} <= ${now}`,
    ),
  ),
)

const p = alias(approvals, 'p')
const x = alias(activations, 'x')

interface Times {
  now: number
  /** An id with the time for new ids. */
  timeId: string
}

/**
 * Inserts the inbox item that resumes a parked activation once none of its approvals is pending. It belongs
 * to the batch of the decision, so that neither exists without the other. `where` selects the approvals `p`
 * that were just decided.
 */
function insertResumeItems(v: Params<Times>, where: SQL): Statement<void> {
  const o = alias(approvals, 'o')
  const i = alias(inboxItems, 'i')
  return write(
    insertSelect(
      inboxItems,
      {
        id: newIdSql(v.timeId),
        accountId: x.agentId,
        type: 'approval_decision',
        fromAccountId: sql`max(${p.decidedBy})`,
        content: sql`CASE WHEN count(*) > 1 THEN count(*) || ' calls are decided.'
          ELSE max(${p.tool}) || ': ' || max(${p.status}) || '.' END`,
        createdAt: v.now,
        isTask: true,
        activationId: x.id,
      },
      sql`FROM ${approvals} ${p} JOIN ${activations} ${x} ON ${x.id} = ${p.activationId} AND ${x.state} = 'parked'
        WHERE ${where}
          AND NOT EXISTS (SELECT 1 FROM ${approvals} ${o}
            WHERE ${o.activationId} = ${x.id} AND ${o.status} = 'pending')
          AND NOT EXISTS (SELECT 1 FROM ${inboxItems} ${i} WHERE ${i.activationId} = ${x.id}
            AND ${i.type} = 'approval_decision' AND ${i.claimedBy} IS NULL AND ${i.readAt} IS NULL)
        GROUP BY ${x.id}`,
    ),
  )
}

/** Notifies an external caller, which has no parked activation to resume. */
function notifyCallers(v: Params<Times>, where: SQL): Statement<void> {
  const i = alias(inboxItems, 'i')
  return write(
    insertSelect(
      inboxItems,
      {
        id: newIdSql(v.timeId),
        accountId: p.accountId,
        type: 'approval_decision',
        fromAccountId: p.decidedBy,
        content: sql`${p.tool} || ': ' || ${p.status}
          || CASE WHEN ${p.note} = '' THEN '.' ELSE '. ' || ${p.note} END`,
        createdAt: v.now,
        approvalId: p.id,
      },
      sql`FROM ${approvals} ${p} WHERE ${p.activationId} IS NULL AND ${where}
        AND NOT EXISTS (SELECT 1 FROM ${inboxItems} ${i}
          WHERE ${i.approvalId} = ${p.id} AND ${i.type} = 'approval_decision')`,
    ),
  )
}

/** Marks the approvers' items of decided approvals as read. */
const clearRequests = (v: Params<Pick<Times, 'now'>>, where: SQL): Statement<void> =>
  write(
    updateSet(
      inboxItems,
      { readAt: v.now },
      sql`WHERE ${inboxItems.type} = 'approval_request' AND ${inboxItems.readAt} IS NULL
        AND ${inboxItems.approvalId} IN (SELECT ${p.id} FROM ${approvals} ${p} WHERE ${where})`,
    ),
  )

/** `ids` is a JSON list of approvals. */
type Decided = Params<Times & { ids: string }>

const isJustDecided = (v: Decided): SQL => sql`${p.status} IN ('approved', 'denied')
  AND ${p.decidedAt} = ${v.now} AND (${p.id} IN (SELECT value FROM json_each(${v.ids})) OR ${p.activationId} IN (
    SELECT ${approvals.activationId} FROM ${approvals}
    WHERE ${approvals.id} IN (SELECT value FROM json_each(${v.ids}))))`

const resumeDecided = prepare((v: Decided) => insertResumeItems(v, isJustDecided(v)))
const notifyDecided = prepare((v: Decided) => notifyCallers(v, isJustDecided(v)))
const clearDecided = prepare((v: Decided) => clearRequests(v, isJustDecided(v)))

/** Returns the statements that follow the decision of approvals and of those approved with them. */
export function decisionStatements(ids: string[], now: number): Statement<void>[] {
  const values = { ids: JSON.stringify(ids), now, timeId: idAt(now) }
  return [resumeDecided(values), notifyDecided(values), clearDecided(values)]
}

const resumeParked = prepare((v: Params<Times & { activationId: ActivationId }>) =>
  insertResumeItems(v, sql`${p.activationId} = ${v.activationId}`),
)

/** Returns the statement that resumes a run which has just parked when all its approvals are decided already. */
export const resumeIfDecided = (activationId: ActivationId, now: number): Statement<void> =>
  resumeParked({ activationId, now, timeId: idAt(now) })

const isJustExpired = (v: Params<Times>): SQL =>
  sql`${p.status} = 'expired' AND ${p.decidedAt} = ${v.now}`

const resumeExpired = prepare((v: Params<Times>) => insertResumeItems(v, isJustExpired(v)))
const notifyExpired = prepare((v: Params<Times>) => notifyCallers(v, isJustExpired(v)))
const clearExpired = prepare((v: Params<Times>) => clearRequests(v, isJustExpired(v)))

/** Returns the statements that follow the expiry of approvals at `now`. */
export function expiryStatements(now: number): Statement<void>[] {
  const values = { now, timeId: idAt(now) }
  return [resumeExpired(values), notifyExpired(values), clearExpired(values)]
}

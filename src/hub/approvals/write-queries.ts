import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { approvals as settings } from '../../shared/config'
import {
  orm,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { bare, idAt, insertSelect, newIdSql, updateSet } from '../../shared/db/write-sql'
import type { AccountId, ActivationId } from '../../shared/ids'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { approvals } from '../schema/approvals'
import { inboxItems } from '../schema/inbox'
import type { StoredRequest } from './arguments'

const p = alias(approvals, 'p')
const x = alias(activations, 'x')
const u = alias(accounts, 'u')

/** Accounts that can decide: the admins of this hub. */
const fromApprovers = sql`(SELECT ${accounts.id} FROM ${accounts}
  WHERE ${accounts.role} = 'admin' AND ${accounts.kind} = 'human' AND ${accounts.isImported} = 0) ${u}`

interface Parked {
  activationId: ActivationId
  agentId: AccountId
  /** JSON list of `StoredRequest`. */
  requests: string
  now: number
}

/** A member of an entry `r` of `requests`. */
const member = (name: keyof StoredRequest): SQL => sql`(r.value ->> ${sql.raw(`'${name}'`)})`

/** Returns the id of the approval of a call in a run. */
export const toApprovalId = (runId: ActivationId, callId: string): string => `${runId}:${callId}`

const parkedApprovalId = (activationId: SQLWrapper): SQL =>
  sql`${activationId} || ':' || ${member('callId')}`

const insertParked = prepare((v: Params<Parked>) => {
  const { argumentsHash, tool } = approvals
  const renewed = [
    approvals.arguments,
    approvals.maskedArguments,
    argumentsHash,
    approvals.grant,
    tool,
    approvals.tier,
    approvals.reasons,
    approvals.createdAt,
    approvals.expiresAt,
    approvals.activationId,
  ].map((column) => sql`${bare(column)} = excluded.${bare(column)}`)
  return write(
    insertSelect(
      approvals,
      {
        id: parkedApprovalId(v.activationId),
        accountId: v.agentId,
        activationId: v.activationId,
        callId: member('callId'),
        tool: member('tool'),
        grant: member('grant'),
        tier: member('tier'),
        arguments: member('arguments'),
        maskedArguments: member('maskedArguments'),
        argumentsHash: member('argumentsHash'),
        reasons: sql`coalesce(${member('reasons')}, '[]')`,
        createdAt: v.now,
        expiresAt: sql`${v.now} + ${settings.expiresMs}`,
      },
      sql`FROM json_each(${v.requests}) r WHERE EXISTS (SELECT 1 FROM ${activations}
          WHERE ${activations.id} = ${v.activationId} AND ${activations.state} = 'parked')
        ON CONFLICT (id) DO UPDATE SET status = 'pending', scope = 'once', decided_by = NULL,
          decided_at = NULL, note = '', used_by = NULL, ${sql.join(renewed, sql`, `)}
        WHERE ${approvals.usedBy} IS NOT NULL OR ${argumentsHash} <> excluded.${bare(argumentsHash)} OR ${tool} <> excluded.${bare(tool)}`,
    ),
  )
})

const notifyApprovers = prepare((v: Params<Parked & { timeId: string }>) =>
  write(
    insertSelect(
      inboxItems,
      {
        id: newIdSql(v.timeId),
        accountId: u.id,
        type: 'approval_request',
        postId: x.postId,
        fromAccountId: v.agentId,
        content: member('notice'),
        createdAt: v.now,
        activationId: v.activationId,
        approvalId: parkedApprovalId(v.activationId),
      },
      sql`FROM ${activations} ${x}, json_each(${v.requests}) r, ${fromApprovers}
        WHERE ${x.id} = ${v.activationId} AND ${x.state} = 'parked' AND NOT EXISTS (
          SELECT 1 FROM ${approvals} WHERE ${approvals.id} = ${parkedApprovalId(v.activationId)}
            AND ${approvals.usedBy} IS NULL AND ${approvals.argumentsHash} = ${member('argumentsHash')}
            AND ${approvals.tool} = ${member('tool')})`,
    ),
  ),
)

/**
 * Returns the statements that insert the approvers' inbox items and the approvals of a parked activation.
 * They belong to the batch that parks it, after its row has changed. A repeat inserts nothing.
 */
export function insertApprovals(parked: {
  activationId: ActivationId
  agentId: AccountId
  requests: StoredRequest[]
  now: number
}): Statement<void>[] {
  const values = { ...parked, requests: JSON.stringify(parked.requests) }
  return [notifyApprovers({ ...values, timeId: idAt(parked.now) }), insertParked(values)]
}

/**
 * Makes approvals that a program waited for those of its parked run: their decisions resume it, and its repeated
 * call does not consume them. It comes before `insertApprovals`, which then finds them.
 */
export const adoptApprovals = prepare((v: Params<Pick<Parked, 'activationId' | 'requests'>>) =>
  write(
    updateSet(
      approvals,
      { activationId: v.activationId },
      sql`WHERE ${approvals.id} IN (SELECT ${parkedApprovalId(v.activationId)} FROM json_each(${v.requests}) r)
        AND ${approvals.activationId} IS NULL AND ${approvals.usedBy} IS NULL
        AND EXISTS (SELECT 1 FROM ${activations}
          WHERE ${activations.id} = ${v.activationId} AND ${activations.state} = 'parked')`,
    ),
  ),
)

interface Ending {
  agentId: AccountId
  activationId: ActivationId
  now: number
}

/** What a running run asked for with its token. */
const isRequestedBy = (v: Params<Ending>): SQL =>
  sql`${approvals.accountId} = ${v.agentId} AND ${approvals.activationId} IS NULL
    AND ${approvals.runId} = ${v.activationId} AND EXISTS (SELECT 1 FROM ${activations}
      WHERE ${activations.id} = ${v.activationId} AND ${activations.state} = 'running')`

const clearRequested = prepare((v: Params<Ending>) =>
  write(
    updateSet(
      inboxItems,
      { readAt: v.now },
      sql`WHERE ${inboxItems.type} = 'approval_request' AND ${inboxItems.readAt} IS NULL
        AND ${inboxItems.approvalId} IN (SELECT ${approvals.id} FROM ${approvals} WHERE ${isRequestedBy(v)})`,
    ),
  ),
)

const cancelRequested = prepare((v: Params<Ending>) =>
  write(
    updateSet(
      approvals,
      { status: 'cancelled', decidedAt: v.now, arguments: bare(approvals.maskedArguments) },
      sql`WHERE ${approvals.status} = 'pending' AND ${isRequestedBy(v)}`,
    ),
  ),
)

/** Returns the statements that cancel what a run asked for with its token and nobody decided, when the run ends. */
export const requestsEndStatements = ({
  agentId,
  activationId,
  now,
}: Ending): Statement<void>[] => {
  const values = { agentId, activationId, now }
  return [clearRequested(values), cancelRequested(values)]
}

const notifyOfExternal = prepare((v: Params<{ id: string; timeId: string; notice: string }>) =>
  write(
    insertSelect(
      inboxItems,
      {
        id: newIdSql(v.timeId),
        accountId: u.id,
        type: 'approval_request',
        fromAccountId: p.accountId,
        content: v.notice,
        createdAt: p.createdAt,
        approvalId: p.id,
      },
      sql`FROM ${approvals} ${p}, ${fromApprovers} WHERE ${p.id} = ${v.id}`,
    ),
  ),
)

/**
 * Returns the statements that request approval for an external call, unless it is already requested. A call of a run
 * requests it again under the same id when another call with the same arguments has used its approval, or when it
 * expired.
 */
export function insertExternalApproval(pending: {
  id: string
  accountId: AccountId
  runId: ActivationId | null
  request: StoredRequest
  now: number
}): Statement<void>[] {
  const { id, accountId, runId, request, now } = pending
  const { callId, tool, grant, tier, argumentsHash } = request
  const asked = {
    arguments: request.arguments,
    maskedArguments: request.maskedArguments,
    reasons: request.reasons ?? [],
    createdAt: now,
    expiresAt: now + settings.expiresMs,
  }
  const undecided = { decidedBy: null, decidedAt: null, note: '', usedBy: null }
  return [
    write(
      orm
        .insert(approvals)
        .values({ id, accountId, runId, callId, tool, grant, tier, argumentsHash, ...asked })
        .onConflictDoUpdate({
          target: approvals.id,
          set: { ...asked, ...undecided, status: 'pending', scope: 'once' },
          setWhere: sql`${approvals.usedBy} IS NOT NULL OR ${approvals.status} = 'expired'`,
        })
        // Another call of the same outside caller has asked at the same time.
        .onConflictDoNothing(),
    ),
    notifyOfExternal({ id, timeId: idAt(now), notice: request.notice }),
  ]
}

/** Marks an approval of an external call as used by the audit entry `auditId`; answers whether it did. */
export const markApprovalUsed = prepare((v: Params<{ id: string; auditId: string }>) =>
  writeChanges(
    updateSet(
      approvals,
      { usedBy: v.auditId },
      sql`WHERE ${approvals.id} = ${v.id} AND ${approvals.status} = 'approved' AND ${approvals.usedBy} IS NULL`,
    ),
  ),
)

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
export const expireApprovals = prepare(({ now }: Params<{ now: number }>) =>
  write(
    updateSet(
      approvals,
      { status: 'expired', decidedAt: now, ...keepMasked },
      sql`WHERE ${approvals.status} = 'pending' AND ${approvals.expiresAt} <= ${now}`,
    ),
  ),
)

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

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { idAt, newIdSql } from '../../shared/db/new-id'
import { type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { bare, insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, ActivationId, PostId } from '../../shared/ids'
import { isListedSql } from '../following/follow-sql'
import { activations } from '../schema/activations'
import { approvals } from '../schema/approvals'
import { inboxItems } from '../schema/inbox'
import { outageWaits } from '../schema/outages'

const i = alias(inboxItems, 'i')
const p = alias(approvals, 'p')
const w = alias(outageWaits, 'w')
const x = alias(activations, 'x')

interface Times {
  now: number
  /** An id with the time for new ids. */
  timeId: string
}

/** Columns of an activation. */
type Run = Record<'id' | 'postId', SQLWrapper>

/** The statements that follow the cancellation of activations; `isMeant` chooses among those that are cancelled. */
const prepareEnding = <Of>(isMeant: (run: Run, v: Params<Of & Times>) => SQL) => {
  const cancelled = (v: Params<Of & Times>): SQL =>
    sql`(SELECT ${x.id} FROM ${activations} ${x} WHERE ${isMeant(x, v)} AND ${x.state} <> 'done'
      AND ${x.cancelRequestedAt} IS NOT NULL)`
  const cancelApprovals = prepare((v: Params<Of & Times>) =>
    write(
      updateSet(
        approvals,
        { status: 'cancelled', decidedAt: v.now, arguments: bare(approvals.maskedArguments) },
        sql`WHERE ${approvals.status} = 'pending' AND ${approvals.activationId} IN ${cancelled(v)}`,
      ),
    ),
  )
  const resume = prepare((v: Params<Of & Times>) =>
    write(
      insertSelect(
        inboxItems,
        {
          id: newIdSql(v.timeId),
          accountId: x.agentId,
          type: 'approval_decision',
          content: sql`'The run was cancelled.'`,
          createdAt: v.now,
          isTask: true,
          activationId: x.id,
        },
        sql`FROM ${activations} ${x} WHERE ${isMeant(x, v)} AND ${x.state} = 'parked'
          AND ${x.cancelRequestedAt} IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM ${inboxItems} ${i} WHERE ${i.activationId} = ${x.id}
            AND ${i.type} = 'approval_decision' AND ${i.claimedBy} IS NULL AND ${i.readAt} IS NULL)`,
      ),
    ),
  )
  const clearRequests = prepare((v: Params<Of & Times>) =>
    write(
      updateSet(
        inboxItems,
        { readAt: v.now },
        sql`WHERE ${inboxItems.type} = 'approval_request' AND ${inboxItems.readAt} IS NULL
          AND ${inboxItems.approvalId} IN (SELECT ${p.id} FROM ${approvals} ${p} WHERE ${p.activationId} IN ${cancelled(v)})`,
      ),
    ),
  )
  const endWaits = prepare((v: Params<Of & Times>) =>
    write(sql`DELETE FROM ${outageWaits} WHERE ${outageWaits.agentId} IN (
      SELECT ${w.agentId} FROM ${outageWaits} ${w} WHERE ${w.activationId} IN ${cancelled(v)})`),
  )
  return (v: Of, now: number): Statement<void>[] => {
    const values = { ...v, now, timeId: idAt(now) }
    return [cancelApprovals(values), resume(values), clearRequests(values), endWaits(values)]
  }
}

const endOne = prepareEnding<{ activationId: ActivationId }>(
  (run, v) => sql`${run.id} = ${v.activationId}`,
)

/**
 * Returns the statements that follow the cancellation of an activation, before or after it parked: its
 * approvals are cancelled, and it resumes to end.
 */
export const cancellationStatements = (
  activationId: ActivationId,
  now: number,
): Statement<void>[] => endOne({ activationId }, now)

const endInThread = prepareEnding<{ postId: PostId }>((run, v) => sql`${run.postId} = ${v.postId}`)

/** Returns the same statements for all activations of a thread that are cancelled. */
export const threadCancellationStatements = (postId: PostId, now: number): Statement<void>[] =>
  endInThread({ postId }, now)

/** Who cancelled a run. */
interface Canceller {
  by: AccountId
  now: number
}

/**
 * Drops what the account that cancelled a run had added to it, and what others had added, unless the account is
 * a requester of the run: then their comments get a run of their own.
 *
 * @param isMeant condition on the cancelled runs `x`
 */
export const dropJoined = (v: Params<Canceller>, isMeant: SQL): Statement<void> =>
  write(
    updateSet(
      inboxItems,
      { readAt: v.now },
      sql`WHERE ${inboxItems.claimedBy} IN (SELECT ${x.id} FROM ${activations} ${x}
          WHERE ${isMeant} AND ${x.state} <> 'done' AND ${x.cancelRequestedAt} IS NOT NULL)
        AND ${inboxItems.joinedAt} IS NOT NULL AND ${inboxItems.readAt} IS NULL
        AND (${inboxItems.fromAccountId} = ${v.by} OR NOT EXISTS (SELECT 1 FROM ${activations} ${x}
          WHERE ${x.id} = ${inboxItems.claimedBy} AND ${isListedSql(v.by, x.requesters)}))`,
    ),
  )

/** Drops what joined a cancelled run, as far as the account that cancelled it decides about that. */
export const dropJoinedItems = prepare((v: Params<Canceller & { activationId: ActivationId }>) =>
  dropJoined(v, sql`${x.id} = ${v.activationId}`),
)

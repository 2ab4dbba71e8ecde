import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { approvals as settings } from '../../shared/config'
import { nullable, number, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  mapStatement,
  oneSql,
  type Params,
  prepare,
  type Statement,
} from '../../shared/db/statement'
import type { ActivationId } from '../../shared/ids'
import type {
  ApprovalDecision,
  ApprovalRecord,
  ApprovalStatus,
  AuthorizationQuery,
} from '../contract/hub'
import { isForPersonSql } from '../rules/held-sql'
import { optionalPersonSql } from '../rules/people-sql'
import { type PlaceAnswer, placeSql } from '../rules/places'
import { isPostReadableSql } from '../rules/readable-sql'
import { traceAccessColumns } from '../rules/traces-sql'
import { isRequestSql } from '../rules/waiting-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { approvals } from '../schema/approvals'
import { communities } from '../schema/communities'
import { heldDefinitions } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { posts } from '../schema/posts'
import { isStoppedSql } from '../viewers/ban-sql'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'
import { type Reader, requestReader } from '../viewers/reader'

const p = alias(approvals, 'p')
const held = alias(heldDefinitions, 'held')
/** The person who decided. */
const u = alias(accounts, 'u')

const withDecider = sql`FROM ${approvals} ${p} LEFT JOIN ${accounts} ${u} ON ${u.id} = ${p.decidedBy}`

const recordFields = {
  id: p.id,
  callId: p.callId,
  grant: p.grant,
  argumentsHash: p.argumentsHash,
  status: p.status,
  scope: p.scope,
  by: nullable(u.name),
  note: p.note,
  decidedAt: p.decidedAt,
}

const selectOfActivation = prepare((v: Params<{ activationId: ActivationId; tool: string }>) =>
  manySql(
    recordFields,
    sql`${withDecider} WHERE ${p.activationId} = ${v.activationId} AND ${p.tool} = ${v.tool}
      ORDER BY ${p.createdAt} DESC`,
  ),
)

const selectOfExternalCall = prepare(
  (v: Params<Pick<AuthorizationQuery, 'accountId' | 'runId' | 'tool' | 'argumentsHash'>>) =>
    manySql(
      recordFields,
      sql`${withDecider} WHERE ${p.activationId} IS NULL AND ${p.accountId} = ${v.accountId}
          AND ${p.runId} IS ${v.runId} AND ${p.tool} = ${v.tool} AND ${p.argumentsHash} = ${v.argumentsHash}
          AND ${p.usedBy} IS NULL
        ORDER BY ${p.createdAt} DESC, ${p.id} DESC LIMIT 1`,
    ),
)

/** Selects the approvals that apply to a call, newest first. */
export function selectApprovalsForCall(query: AuthorizationQuery): Statement<ApprovalRecord[]> {
  const { accountId, activationId, runId, tool, argumentsHash } = query
  if (activationId !== null) return selectOfActivation({ activationId, tool })
  return selectOfExternalCall({ accountId, runId, tool, argumentsHash })
}

/** Selects whether an approval is decided. */
export const selectStatus = prepare(({ id }: Params<{ id: string }>) =>
  oneSql({ status: p.status }, sql`FROM ${approvals} ${p} WHERE ${p.id} = ${id}`),
)

/** Selects the decisions on the activation that the LOAD request `requestId` resumed. */
export const selectDecisions = prepare(({ requestId }: Params<{ requestId: ActivationId }>) =>
  manySql(
    {
      callId: p.callId,
      decision: sql<ApprovalDecision['decision']>`${p.status}`,
      by: nullable(u.name),
      note: p.note,
    },
    sql`${withDecider} WHERE ${p.activationId} =
        (SELECT ${activations.id} FROM ${activations} WHERE ${activations.resumedBy} = ${requestId})
      AND ${p.status} IN ('approved', 'denied', 'expired') ORDER BY ${p.createdAt}, ${p.id}`,
  ),
)

const a = alias(accounts, 'a')
const x = alias(activations, 'x')
const t = alias(posts, 't')
const c = alias(communities, 'c')

const approvalFields = (reader: SQLWrapper) => ({
  id: p.id,
  row: number(sql`${p}.rowid`),
  agentId: a.id,
  agentName: a.name,
  agentKind: a.kind,
  agentDisplayName: a.displayName,
  activationId: p.activationId,
  runId: p.runId,
  callId: p.callId,
  tool: p.tool,
  grant: p.grant,
  tier: p.tier,
  arguments: p.arguments,
  maskedArguments: p.maskedArguments,
  status: p.status,
  scope: p.scope,
  decidedBy: optionalPersonSql(u),
  note: p.note,
  reasons: p.reasons,
  /** The community of the run, if it is the reason: a closed one, which the call leaves. */
  leaves: sql`iif(${p.reasons} LIKE '%"community"%', (SELECT ${placeSql(c)} FROM ${communities} ${c}
    WHERE ${c.id} = ${x.communityId}), NULL)`.mapWith(
    (json: string): PlaceAnswer => JSON.parse(json),
  ) as SQL<PlaceAnswer | null>,
  createdAt: p.createdAt,
  expiresAt: p.expiresAt,
  decidedAt: p.decidedAt,
  postId: nullable(t.id),
  postTitle: nullable(t.title),
  ...traceAccessColumns(reader),
})

/** An approval as the API and the page read it. */
export type ApprovalRow = RowOf<ReturnType<typeof approvalFields>>

/** The run in which an approval holds; null for a call with a key. */
const runOfApproval = sql`coalesce(${p.activationId}, ${p.runId})`

const fromApprovals = (
  reader: SQLWrapper,
) => sql`FROM ${approvals} ${p} JOIN ${accounts} ${a} ON ${a.id} = ${p.accountId}
  LEFT JOIN ${accounts} ${u} ON ${u.id} = ${p.decidedBy}
  LEFT JOIN ${activations} ${x} ON ${x.id} = ${runOfApproval}
  LEFT JOIN ${posts} ${t} ON ${t.id} = ${x.postId} AND ${isPostReadableSql(t, reader)}`

/** Whether the viewer can see an approval: admins see all, others those of their requests and their own calls. */
function isVisible(): SQL {
  const i = alias(inboxItems, 'i')
  return sql`EXISTS (SELECT 1 FROM ${viewer} WHERE ${viewer.role} = 'admin' OR ${viewer.id} = ${p.accountId}
    OR EXISTS (SELECT 1 FROM ${inboxItems} ${i} WHERE ${i.claimedBy} = ${runOfApproval}
      AND ${isRequestSql(i)} AND ${i.fromAccountId} = ${viewer.id}))`
}

/** Filter and page of approvals. */
interface ApprovalPageRequest {
  /** Null: any status. */
  status: ApprovalStatus | null
  /** Keyset: time and row of the last approval seen. */
  before: [number, string] | null
  limit: number
}

const farFuture = 9_000_000_000_000_000

interface PageValues extends ViewerValues {
  reader: Reader
  status: ApprovalStatus | null
  at: number
  row: number
  limit: number
}

const selectPage = prepare((v: Params<PageValues>) =>
  manySql(
    approvalFields(v.reader),
    sql`${fromApprovals(v.reader)}
      WHERE (${v.status} IS NULL OR ${p.status} = ${v.status})
        AND (${p.createdAt}, ${p}.rowid) < (${v.at}, ${v.row}) AND ${isVisible()}
      ORDER BY ${p.createdAt} DESC, ${p}.rowid DESC LIMIT ${v.limit}`,
    viewerCte(v),
  ),
)

/**
 * Selects a page of approvals that the viewer can see, newest first. The viewer is a subquery, so
 * authentication costs no extra round trip.
 */
export function selectApprovals(
  { credential, now }: { credential: Credential | null; now: number },
  { status, before, limit }: ApprovalPageRequest,
): Statement<ApprovalRow[]> {
  const [at, row] = before ?? [farFuture, '0']
  const reader = requestReader(credential, now)
  return selectPage({
    ...viewerValues(credential, now),
    reader,
    status,
    at,
    row: Number(row),
    limit,
  })
}

/** Selects one approval, with the thread if the reader reads it. */
export const selectApproval = prepare(({ id, reader }: Params<{ id: string; reader: Reader }>) =>
  oneSql(approvalFields(reader), sql`${fromApprovals(reader)} WHERE ${p.id} = ${id}`),
)

const selectByIds = prepare(({ ids, reader }: Params<{ ids: string; reader: Reader }>) =>
  manySql(
    approvalFields(reader),
    sql`${fromApprovals(reader)} WHERE ${p.id} IN (SELECT value FROM json_each(${ids}))`,
  ),
)

/** Selects approvals, in any order. */
export const selectApprovalsById = (ids: string[], reader: Reader): Statement<ApprovalRow[]> =>
  selectByIds({ ids: JSON.stringify(ids), reader })

const selectInThread = prepare((v: Params<ViewerValues & { reader: Reader; postId: string }>) =>
  manySql(
    approvalFields(v.reader),
    sql`${fromApprovals(v.reader)}
      WHERE ${p.activationId} IN (SELECT ${activations.id} FROM ${activations}
          WHERE ${activations.postId} = ${v.postId} AND ${activations.state} = 'parked')
        AND ${p.status} = 'pending' AND ${isVisible()}
      ORDER BY ${p.createdAt}, ${p}.rowid LIMIT ${sql.raw(String(settings.pageMax))}`,
    viewerCte(v),
  ),
)

/** Selects the pending approvals of a thread's runs that the viewer can see, in the order of the calls. */
export const selectThreadApprovals = (
  credential: Credential | null,
  now: number,
  postId: string,
): Statement<ApprovalRow[]> =>
  selectInThread({
    ...viewerValues(credential, now),
    reader: requestReader(credential, now),
    postId,
  })

const countForViewer = prepare((v: Params<ViewerValues>) =>
  oneSql(
    {
      count: number(sql`(SELECT count(*) FROM (SELECT 1 FROM ${approvals} ${p}
        WHERE ${p.status} = 'pending' AND ${p.expiresAt} > ${v.now} LIMIT ${sql.raw(String(settings.countMax))}))
        + (SELECT count(*) FROM ${heldDefinitions} ${held} INDEXED BY held_definitions_waiting WHERE ${isForPersonSql(held)})`),
    },
    sql`FROM ${viewer} WHERE ${viewer.role} = 'admin'`,
    viewerCte(v),
  ),
)

/** Counts the approvals, and the saved changes of agents, that wait for the viewer; null for an account that cannot decide. */
export const countPendingApprovals = (
  credential: Credential | null,
  now: number,
): Statement<number | null> =>
  mapStatement(countForViewer(viewerValues(credential, now)), (row) => row?.count ?? null)

const decider = (
  now: Params<{ now: number }>['now'],
) => sql`${u.role} = 'admin' AND ${u.kind} = 'human'
  AND ${u.isImported} = 0 AND NOT ${isStoppedSql(u.id, now)}`
const shown = sql.raw(String(settings.decidersShown + 1))

/** Selects the people who can decide approvals: the admins, by name; one more than are shown. */
export const selectDeciders = prepare(({ now }: Params<{ now: number }>) =>
  manySql(
    { name: u.name },
    sql`FROM ${accounts} ${u} WHERE ${decider(now)} ORDER BY ${u.name} LIMIT ${shown}`,
  ),
)

/** The same for a thread in which a run waits; none otherwise. */
export const selectThreadDeciders = prepare(
  ({ now, postId }: Params<{ now: number; postId: string }>) =>
    manySql(
      { name: u.name },
      // CROSS JOIN: without a run that waits, no account is read.
      sql`FROM (SELECT 1 FROM ${activations} ${x} WHERE ${x.postId} = ${postId} AND ${x.state} = 'parked' LIMIT 1)
      CROSS JOIN ${accounts} ${u} ON ${decider(now)} ORDER BY ${u.name} LIMIT ${shown}`,
    ),
)

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { standingRules as limits, approvals as settings } from '../../shared/config'
import { flag, nullable, number, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  mapStatement,
  oneSql,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, ActivationId } from '../../shared/ids'
import type {
  ApprovalDecision,
  ApprovalRecord,
  ApprovalStatus,
  AuthorizationQuery,
  StandingRule,
} from '../contract/hub'
import { toolsVersionSql } from '../grants/queries'
import { isForPersonSql } from '../rules/held-sql'
import { optionalPersonSql, type PersonAnswer, personJsonSql, personSql } from '../rules/people-sql'
import { optionalPlaceSql, type PlaceAnswer, placeSql } from '../rules/places'
import { isPostReadableSql } from '../rules/readable-sql'
import { isClosedSql, traceAccessColumns } from '../rules/traces-sql'
import { isRequestSql } from '../rules/waiting-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { approvals, standingRules } from '../schema/approvals'
import { auditLog } from '../schema/audit'
import { communities } from '../schema/communities'
import { heldDefinitions } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { posts } from '../schema/posts'
import { isStoppedSql } from '../viewers/ban-sql'
import {
  type Credential,
  guardLimit,
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
const a = alias(accounts, 'a')
const x = alias(activations, 'x')
const t = alias(posts, 't')
const c = alias(communities, 'c')
const s = alias(standingRules, 's')
const q = alias(accounts, 'q')
const l = alias(auditLog, 'l')

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

/** Whether whoever made a rule `s` can still approve: the account `u`. */
const canStillApproveSql = (now: SQLWrapper | number): SQL =>
  sql`${u.role} = 'admin' AND NOT ${isStoppedSql(u.id, now)}`

interface CallValues {
  accountId: AccountId
  runId: ActivationId | null
  tool: string
  now: number
}

const selectForCall = prepare((v: Params<CallValues>) =>
  manySql(
    {
      id: s.id,
      tool: s.tool,
      grant: s.grant,
      tier: s.tier,
      arguments: s.arguments,
      toolHash: s.toolHash,
      community: nullable(c.name),
      by: u.name,
      endsAt: s.endsAt,
    },
    sql`FROM ${standingRules} ${s} JOIN ${accounts} ${u} ON ${u.id} = ${s.createdBy}
        LEFT JOIN ${communities} ${c} ON ${c.id} = ${s.communityId}
        LEFT JOIN ${activations} ${x} ON ${x.id} = coalesce(
          (SELECT ${activations.id} FROM ${activations} WHERE ${activations.resumedBy} = ${v.runId}), ${v.runId})
      WHERE ${s.agentId} = ${v.accountId} AND ${s.tool} = ${v.tool} AND ${s.ended} IS NULL
        AND ${s.endsAt} > ${v.now} AND ${canStillApproveSql(v.now)}
        AND (${s.isAnywhere} = 1 OR ${s.communityId} IS ${x.communityId})
        AND (${s.requesterId} IS NULL
          OR json_array(${s.requesterId}) = iif(${v.runId} IS NULL, json_array(${v.accountId}), ${x.requesters}))
      ORDER BY ${s.createdAt}, ${s.id} LIMIT ${sql.raw(String(limits.perAgentMax))}`,
  ),
)

/** Selects the rules that hold for calls of a tool by an account, in its run and for its requesters. */
export const selectRulesForCall = (
  { accountId, runId, tool }: Pick<AuthorizationQuery, 'accountId' | 'runId' | 'tool'>,
  now: number,
): Statement<StandingRule[]> => selectForCall({ accountId, runId, tool, now })

const rulesOfAgentSql = (agent: SQLWrapper): SQL =>
  sql`(SELECT count(*) FROM ${standingRules} ${s} WHERE ${s.agentId} = ${agent} AND ${s.ended} IS NULL)`

const scopeFields = {
  agentName: a.name,
  community: optionalPlaceSql(c),
  /** The accounts that the run acts for. */
  requesters: sql`(SELECT json_group_array(${personJsonSql(q)})
    FROM json_each(iif(${p.activationId} IS NULL AND ${p.runId} IS NULL,
      json_array(${p.accountId}), coalesce(${x.requesters}, '[]'))) n
    JOIN ${accounts} ${q} ON ${q.id} = n.value)`.mapWith((json: string): PersonAnswer[] =>
    JSON.parse(json),
  ),
  toolsVersion: toolsVersionSql,
  rulesOfAgent: number(rulesOfAgentSql(p.accountId)),
}

/** Where the call of an approval was made, and for whom. */
export type RuleScope = RowOf<typeof scopeFields>

/** Selects the scope of a rule that is made from an approval. */
export const selectRuleScope = prepare(({ approvalId }: Params<{ approvalId: string }>) =>
  oneSql(
    scopeFields,
    sql`FROM ${approvals} ${p} JOIN ${accounts} ${a} ON ${a.id} = ${p.accountId}
      LEFT JOIN ${activations} ${x} ON ${x.id} = coalesce(${p.activationId}, ${p.runId})
      LEFT JOIN ${communities} ${c} ON ${c.id} = ${x.communityId}
      WHERE ${p.id} = ${approvalId}`,
  ),
)

/** Fails its batch when the agent of an approval has as many rules as it can have. */
export const guardRuleCount = (approvalId: string): Statement<void> =>
  guardLimit(
    'rules',
    rulesOfAgentSql(
      sql`(SELECT ${p.accountId} FROM ${approvals} ${p} WHERE ${p.id} = ${approvalId})`,
    ),
    limits.perAgentMax,
  )

/** A rule whose agent and call are those of its approval. */
type NewRule = Pick<
  typeof standingRules.$inferSelect,
  | 'id'
  | 'arguments'
  | 'toolHash'
  | 'communityId'
  | 'isAnywhere'
  | 'requesterId'
  | 'createdBy'
  | 'createdAt'
  | 'endsAt'
>

/**
 * Inserts a rule if its maker has just approved the call that it is made from. It stands in the batch of
 * that decision.
 */
export const insertRule = (rule: NewRule, approvalId: string): Statement<void> =>
  write(
    insertSelect(
      standingRules,
      {
        id: rule.id,
        agentId: p.accountId,
        tool: p.tool,
        grant: p.grant,
        tier: p.tier,
        arguments: sql`${JSON.stringify(rule.arguments)}`,
        toolHash: rule.toolHash,
        communityId: rule.communityId,
        isAnywhere: rule.isAnywhere,
        requesterId: rule.requesterId,
        activationId: sql`coalesce(${p.activationId}, ${p.runId})`,
        createdBy: rule.createdBy,
        createdAt: rule.createdAt,
        endsAt: rule.endsAt,
      },
      sql`FROM ${approvals} ${p} JOIN ${accounts} ${u} ON ${u.id} = ${rule.createdBy}
        WHERE ${p.id} = ${approvalId} AND ${p.status} = 'approved' AND ${p.decidedBy} = ${rule.createdBy}
          AND ${p.decidedAt} = ${rule.createdAt} AND ${canStillApproveSql(rule.createdAt)}`,
    ),
  )

/** Revokes a rule that has not ended; answers whether it did. */
export const revokeRule = (id: string): Statement<boolean> =>
  writeChanges(
    updateSet(
      standingRules,
      { ended: 'revoked' },
      sql`WHERE ${standingRules.id} = ${id} AND ${standingRules.ended} IS NULL`,
    ),
  )

const listFields = (now: SQLWrapper, reader: SQLWrapper) => ({
  id: s.id,
  agent: personSql(a),
  tool: s.tool,
  grant: s.grant,
  tier: s.tier,
  arguments: s.arguments,
  toolHash: s.toolHash,
  /** Whether the reader may not see the values: the run whose call it was made from is private to others. */
  isHidden: flag(isClosedSql(reader)),
  community: optionalPlaceSql(c),
  isAnywhere: s.isAnywhere,
  requester: optionalPersonSql(q),
  createdBy: personSql(u),
  canStillApprove: sql<0 | 1>`(${canStillApproveSql(now)})`,
  createdAt: s.createdAt,
  endsAt: s.endsAt,
  ended: s.ended,
  uses: number(sql`(SELECT count(*) FROM ${auditLog} ${l} WHERE ${l.ruleId} = ${s.id})`),
  lastUsedAt: sql<number | null>`(SELECT max(${l.createdAt}) FROM ${auditLog} ${l}
    WHERE ${l.ruleId} = ${s.id})`,
  toolsVersion: toolsVersionSql,
})

/** A rule with how often it was used. */
export type RuleRow = RowOf<ReturnType<typeof listFields>>

const fromRules = sql`FROM ${standingRules} ${s} JOIN ${accounts} ${a} ON ${a.id} = ${s.agentId}
  JOIN ${accounts} ${u} ON ${u.id} = ${s.createdBy}
  LEFT JOIN ${accounts} ${q} ON ${q.id} = ${s.requesterId}
  LEFT JOIN ${communities} ${c} ON ${c.id} = ${s.communityId}
  LEFT JOIN ${activations} ${x} ON ${x.id} = ${s.activationId}`

const selectList = prepare((v: Params<ViewerValues & { reader: Reader }>) =>
  manySql(
    listFields(v.now, v.reader),
    sql`${fromRules} WHERE EXISTS (SELECT 1 FROM ${viewer} WHERE ${viewer.role} = 'admin')
      ORDER BY ${s.createdAt} DESC, ${s.id} DESC LIMIT ${sql.raw(String(limits.listMax))}`,
    viewerCte(v),
  ),
)

/** Selects the rules, newest first; none for anybody but an admin. */
export const selectRules = ({
  credential,
  now,
}: {
  credential: Credential | null
  now: number
}): Statement<RuleRow[]> =>
  selectList({ ...viewerValues(credential, now), reader: requestReader(credential, now) })

const selectById = prepare((v: Params<{ id: string; now: number; reader: Reader }>) =>
  oneSql(listFields(v.now, v.reader), sql`${fromRules} WHERE ${s.id} = ${v.id}`),
)

/** Selects one rule as an account sees it. */
export const selectRule: (of: {
  id: string
  now: number
  reader: Reader
}) => Statement<RuleRow | undefined> = selectById

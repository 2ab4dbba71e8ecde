import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { standingRules as limits } from '../../shared/config'
import { flag, nullable, number, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { AuthorizationQuery, StandingRule } from '../contract/hub'
import { toolsVersionSql } from '../grants/queries'
import { optionalPersonSql, type PersonAnswer, personJsonSql, personSql } from '../rules/people-sql'
import { optionalPlaceSql } from '../rules/places'
import { isClosedSql } from '../rules/traces-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { approvals, standingRules } from '../schema/approvals'
import { auditLog } from '../schema/audit'
import { communities } from '../schema/communities'
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

const s = alias(standingRules, 's')
const a = alias(accounts, 'a')
const q = alias(accounts, 'q')
const u = alias(accounts, 'u')
const c = alias(communities, 'c')
const x = alias(activations, 'x')
const p = alias(approvals, 'p')
const l = alias(auditLog, 'l')

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

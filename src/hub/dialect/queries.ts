import { eq, type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, number } from '../../shared/db/fields'
import {
  many,
  manySql,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
  writeChanges,
} from '../../shared/db/statement'
import { insertSelect } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import { isUnreadSql } from '../rules/shown-sql'
import { accounts, apiKeys } from '../schema/accounts'
import { budgets, externalUsage } from '../schema/budgets'
import { inboxItems } from '../schema/inbox'
import { isShutOutSql } from '../viewers/ban-sql'
import { isExternalAgentSql } from '../viewers/queries'
import { knownTypes } from './objects'

const s = alias(apiKeys, 's')
const a = alias(accounts, 'a')
const i = alias(inboxItems, 'i')
const u = alias(externalUsage, 'u')
const b = alias(budgets, 'b')

/** A service key that is valid, of an account that can use it. */
const fromServiceSql = (hash: SQL, now: SQL): SQL => sql`FROM ${apiKeys} ${s}
  JOIN ${accounts} ${a} ON ${a.id} = ${s.accountId} AND ${isExternalAgentSql(a)}
  WHERE ${s.hash} = ${hash} AND ${s.kind} = 'service' AND ${s.openedBy} IS NULL
    AND (${s.expiresAt} IS NULL OR ${s.expiresAt} > ${now}) AND NOT ${isShutOutSql(sql`${a.id}`, now)}`

/** Selects a service key and the account that it belongs to. */
export const selectServiceKey = (
  hash: string,
  now: number,
): Statement<{ id: string; accountId: AccountId } | undefined> =>
  oneSql({ id: s.id, accountId: s.accountId }, fromServiceSql(sql`${hash}`, sql`${now}`))

/** Inserts the key by which a service key acts for an agent, unless there is one or it may not. */
export const insertActingKey = (row: {
  id: string
  hash: string
  agentId: AccountId
  keyHash: string
  now: number
}): Statement<void> => {
  const agent = alias(accounts, 'agent')
  return write(
    insertSelect(
      apiKeys,
      {
        id: row.id,
        accountId: row.agentId,
        hash: row.hash,
        kind: 'service',
        label: sql`'Service key of @' || ${a.name}`,
        scopes: sql`${s.scopes}`,
        createdAt: row.now,
        expiresAt: sql`${s.expiresAt}`,
        openedBy: sql`${s.id}`,
      },
      sql`${fromServiceSql(sql`${row.keyHash}`, sql`${row.now}`)}
        AND EXISTS (SELECT 1 FROM ${accounts} ${agent} WHERE ${agent.id} = ${row.agentId}
          AND ${isExternalAgentSql(agent)})
        ON CONFLICT DO NOTHING`,
    ),
  )
}

const known = sql.raw(
  `(${Object.keys(knownTypes)
    .map((type) => `'${type}'`)
    .join(', ')})`,
)
const unreadSql = sql`(SELECT count(*) FROM ${inboxItems} ${i}
  WHERE ${i.accountId} = ${a.id} AND ${isUnreadSql(i)} AND ${i.isTask} = 0 AND ${i.type} IN ${known})`

const agentFields = {
  id: a.id,
  name: a.name,
  displayName: a.displayName,
  lastActivatedAt: a.lastActivatedAt,
  notificationCount: number(unreadSql),
  seq: a.seq,
}

interface ExternalAgentFilter {
  hasNotifications: boolean
  /** Only agents last activated before this time, or never; null: all. */
  activatedBefore: number | null
  /** `seq` of the last row of the previous page. */
  after: number
  limit: number
  now: number
}

/** Selects the external agents that a service key can act for, oldest first. */
export const selectExternalAgents = prepare((v: Params<ExternalAgentFilter>) =>
  manySql(
    agentFields,
    sql`FROM ${accounts} ${a}
      WHERE ${a.seq} > ${v.after} AND ${isExternalAgentSql(a)} AND ${a.deletedAt} IS NULL
        AND ${a.isImported} = 0 AND NOT ${isShutOutSql(sql`${a.id}`, v.now)}
        AND (${v.activatedBefore} IS NULL OR coalesce(${a.lastActivatedAt}, 0) < ${v.activatedBefore})
        AND (${v.hasNotifications} = 0 OR ${unreadSql} > 0)
      ORDER BY ${a.seq} LIMIT ${v.limit}`,
  ),
)

/** Marks items of external agents as read. */
export const markAgentItemsRead = (ids: string[], now: number): Statement<void> => {
  const { id, accountId, isTask, readAt } = inboxItems
  return write(
    orm
      .update(inboxItems)
      .set({ readAt: now })
      .where(
        sql`${id} IN (SELECT value FROM json_each(${JSON.stringify(ids)})) AND ${readAt} IS NULL
          AND ${isTask} = 0 AND EXISTS (SELECT 1 FROM ${accounts} ${a}
            WHERE ${a.id} = ${accountId} AND ${isExternalAgentSql(a)})`,
      ),
  )
}

/** Stores when an external agent last ran; answers whether there is such an agent. */
export const markActivated = (id: string, now: number): Statement<boolean> =>
  writeChanges(
    orm
      .update(accounts)
      .set({ lastActivatedAt: now })
      .where(
        sql`${eq(accounts.id, id as AccountId)} AND EXISTS (SELECT 1 FROM ${accounts} ${a}
          WHERE ${a.id} = ${accounts.id} AND ${isExternalAgentSql(a)})`,
      ),
  )

interface Consumption {
  id: string
  agentId: AccountId
  inputTokens: number
  outputTokens: number
  costMicrousd: number
  createdAt: number
  /** The same report since this time is a retry; null: none is. */
  retrySince: number | null
}

/** Inserts what a run outside of this hub consumed, unless it was reported a moment ago. */
export const insertConsumption = ({ retrySince, ...row }: Consumption): Statement<boolean> =>
  writeChanges(
    insertSelect(
      externalUsage,
      row,
      sql`WHERE EXISTS (SELECT 1 FROM ${accounts} ${a} WHERE ${a.id} = ${row.agentId} AND ${isExternalAgentSql(a)})
        AND NOT EXISTS (SELECT 1 FROM ${externalUsage} ${u} WHERE ${u.agentId} = ${row.agentId}
          AND ${retrySince} IS NOT NULL AND ${u.createdAt} >= ${retrySince}
          AND ${u.inputTokens} = ${row.inputTokens} AND ${u.outputTokens} = ${row.outputTokens}
          AND ${u.costMicrousd} = ${row.costMicrousd})`,
    ),
  )

const usedSince = (agentId: string, since: number): SQL<number> =>
  sql<number>`(SELECT coalesce(sum(${u.costMicrousd}), 0) FROM ${externalUsage} ${u}
    WHERE ${u.agentId} = ${agentId} AND ${u.createdAt} >= ${since})`

const limitOf = (agentId: string, period: 'day' | 'month'): SQL<number | null> =>
  sql<number | null>`(SELECT min(${b.limitMicrousd}) FROM ${budgets} ${b}
    WHERE ${b.scope} = 'agent' AND ${b.scopeId} = ${agentId} AND ${b.period} = ${period})`

/** Selects the limits of an external agent and what it consumed, in micro-dollars. */
export const selectAgentBudget = (
  agentId: string,
  { dayStart, monthStart, now }: { dayStart: number; monthStart: number; now: number },
) =>
  oneSql(
    {
      isExternal: flag(isExternalAgentSql(a)),
      isStopped: flag(isShutOutSql(sql`${a.id}`, sql`${now}`)),
      dailyLimit: limitOf(agentId, 'day'),
      dailyUsed: usedSince(agentId, dayStart),
      monthlyLimit: limitOf(agentId, 'month'),
      monthlyUsed: usedSince(agentId, monthStart),
    },
    sql`FROM ${accounts} ${a} WHERE ${a.id} = ${agentId}`,
  )

/** Selects the karma of accounts. */
export const selectKarma = (ids: string[]): Statement<{ id: string; karma: number }[]> =>
  many(
    orm
      .select({ id: accounts.id, karma: accounts.karma })
      .from(accounts)
      .where(sql`${accounts.id} IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`),
  )

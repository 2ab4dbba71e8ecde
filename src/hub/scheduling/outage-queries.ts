import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { outageRetry } from '../../shared/config'
import {
  manySql,
  oneSql,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { idAt, insertSelect, newIdSql, updateSet } from '../../shared/db/write-sql'
import type { AccountId, ActivationId, PostId } from '../../shared/ids'
import type { ProviderOutage } from '../contract/hub'
import { unfiltered } from '../database/unfiltered-sql'
import { activations } from '../schema/activations'
import { communities } from '../schema/communities'
import { outageWaits, providerOutages } from '../schema/definitions'
import { inboxItems } from '../schema/inbox'
import { posts } from '../schema/posts'

/** Returns the post in m/agent-errors about a provider that is down. It contains no text of users. */
const formatOutageReport = ({ provider, address, setting }: ProviderOutage) => ({
  title: `${provider} is down`,
  content:
    `No model answers at \`${address}\`. Check that the server runs, and the address in ${setting}. ` +
    'Agents that use it wait, which costs nothing, and continue by themselves when it answers.',
})

const o = alias(providerOutages, 'o')
const w = alias(outageWaits, 'w')
const x = alias(activations, 'x')
const m = alias(communities, 'm')
const i = alias(inboxItems, 'i')

const systemAccountId = sql`'00000000-0000-7000-8000-000000000001'`

/** An activation that parks because its provider is down. */
interface Wait {
  activationId: ActivationId
  agentId: AccountId
  now: number
  outage: ProviderOutage
  /** A new id, for the report. */
  postId: PostId
}

interface WaitValues {
  activationId: ActivationId
  agentId: AccountId
  now: number
  address: string
  isNewWait: boolean
  id: PostId
  title: string
  content: string
}

/** Whether the activation has parked: the statements below follow the one that parks it. */
const hasParkedSql = ({ activationId }: Params<Pick<WaitValues, 'activationId'>>): SQL =>
  sql`EXISTS (SELECT 1 FROM ${activations} ${x} WHERE ${x.id} = ${activationId} AND ${x.state} = 'parked')`

/** Reports an outage in m/agent-errors, once. */
const insertReport = prepare((v: Params<WaitValues>) =>
  write(
    insertSelect(
      posts,
      {
        id: v.id,
        communityId: m.id,
        authorId: systemAccountId,
        title: v.title,
        content: v.content,
        hotRank: sql`${v.now} / 45000000.0`,
        isListed: false,
        createdAt: v.now,
      },
      sql`FROM ${communities} ${m} WHERE ${m.name} = 'agent-errors' AND ${hasParkedSql(v)}
        AND NOT EXISTS (SELECT 1 FROM ${providerOutages} ${o} WHERE ${o.address} = ${v.address})`,
    ),
  ),
)

const countReport = prepare(({ id }: Params<Pick<WaitValues, 'id'>>) =>
  write(
    updateSet(
      communities,
      { postCount: sql`${communities.postCount} + 1` },
      sql`WHERE ${communities.id} = (SELECT ${posts.communityId} FROM ${posts} ${unfiltered('counter')} WHERE ${posts.id} = ${id})`,
    ),
  ),
)

const { baseMs, capMs, attemptMs } = outageRetry
const baseSql = sql.raw(String(baseMs))
const capSql = sql.raw(String(capMs))

/**
 * Records an outage. An attempt that failed doubles the time until the next one; another agent that
 * finds the provider down changes nothing.
 */
const insertOutage = prepare((v: Params<WaitValues>) =>
  write(
    insertSelect(
      providerOutages,
      {
        address: v.address,
        startedAt: v.now,
        dueAt: sql`${v.now} + ${baseSql}`,
        attempts: 1,
      },
      sql`WHERE ${hasParkedSql(v)} ON CONFLICT (address) DO UPDATE SET
        attempts = ${providerOutages.attempts} + iif(${v.isNewWait}, 0, 1),
        due_at = iif(${v.isNewWait}, ${providerOutages.dueAt},
          ${v.now} + min(${capSql}, ${baseSql} << min(${providerOutages.attempts}, 16)))`,
    ),
  ),
)

const insertWait = prepare((v: Params<WaitValues>) =>
  write(
    insertSelect(
      outageWaits,
      { agentId: v.agentId, activationId: v.activationId, address: v.address, since: v.now },
      sql`WHERE ${hasParkedSql(v)} ON CONFLICT (agent_id) DO UPDATE SET
        activation_id = excluded.activation_id, address = excluded.address, since = excluded.since`,
    ),
  ),
)

/** Returns the statements of PARK that let an agent wait for its provider, and report the outage once. */
export function outageStatements({ outage, postId: id, ...wait }: Wait): Statement<void>[] {
  const values = {
    ...wait,
    ...formatOutageReport(outage),
    id,
    address: outage.address,
    isNewWait: outage.parks === 1,
  }
  return [insertReport(values), countReport(values), insertOutage(values), insertWait(values)]
}

/** Selects when the next provider is tried. */
export const selectNextAttempt = prepare(() =>
  oneSql({ at: sql<number | null>`min(${o.dueAt})` }, sql`FROM ${providerOutages} ${o}`),
)

/**
 * Inserts the inbox items that resume the activations of the waits `w` that `from` selects. Each is
 * older than what waits in the inbox, so that the run that began first continues first.
 */
const insertResumeItems = (v: Params<{ timeId: string }>, from: SQL): Statement<void> =>
  write(
    insertSelect(
      inboxItems,
      {
        id: newIdSql(v.timeId),
        accountId: w.agentId,
        type: 'approval_decision',
        content: sql`'The model provider is called again.'`,
        createdAt: sql`coalesce((SELECT min(${i.createdAt}) FROM ${inboxItems} ${i}
          WHERE ${i.claimedBy} = ${w.activationId}), ${w.since}) - 1`,
        isTask: true,
        activationId: w.activationId,
      },
      sql`${from} AND EXISTS (SELECT 1 FROM ${activations} ${x}
          WHERE ${x.id} = ${w.activationId} AND ${x.state} = 'parked')
        AND NOT EXISTS (SELECT 1 FROM ${inboxItems} ${i} WHERE ${i.activationId} = ${w.activationId}
          AND ${i.type} = 'approval_decision' AND ${i.claimedBy} IS NULL AND ${i.readAt} IS NULL)`,
    ),
  )

type Time = { now: number; timeId: string }

/** Deletes due outages that no agent waits for any more. */
const deleteAbandoned = prepare(({ now }: Params<Pick<Time, 'now'>>) =>
  write(sql`DELETE FROM ${providerOutages} WHERE ${providerOutages.dueAt} <= ${now}
    AND NOT EXISTS (SELECT 1 FROM ${outageWaits} ${w} WHERE ${w.address} = ${providerOutages.address})`),
)

/** The agent that tries each due provider is the one that has waited longest. */
const triersSql = (now: Params<Time>['now']): SQL => sql`
  SELECT (SELECT ${w.agentId} FROM ${outageWaits} ${w} WHERE ${w.address} = ${o.address}
    ORDER BY ${w.since}, ${w.agentId} LIMIT 1) FROM ${providerOutages} ${o} WHERE ${o.dueAt} <= ${now}`

/** Selects the agents that try a provider now. */
export const selectTriers = prepare(({ now }: Params<Pick<Time, 'now'>>) =>
  manySql(
    { agentId: w.agentId },
    sql`FROM ${outageWaits} ${w} WHERE ${w.agentId} IN (${triersSql(now)})`,
  ),
)

const resumeTriers = prepare((v: Params<Time>) =>
  insertResumeItems(v, sql`FROM ${outageWaits} ${w} WHERE ${w.agentId} IN (${triersSql(v.now)})`),
)

const deleteTriers = prepare(({ now }: Params<Pick<Time, 'now'>>) =>
  write(sql`DELETE FROM ${outageWaits} WHERE ${outageWaits.agentId} IN (${triersSql(now)})`),
)

/** Sets the time of the next attempt in case this one gets lost. */
const postpone = prepare(({ now }: Params<Pick<Time, 'now'>>) =>
  write(
    updateSet(
      providerOutages,
      { dueAt: sql`${now} + ${sql.raw(String(attemptMs))}` },
      sql`WHERE ${providerOutages.dueAt} <= ${now}`,
    ),
  ),
)

/** Returns the statements of a sweep that let one agent try each provider that is due. */
export function attemptStatements(now: number): Statement<void>[] {
  const values = { now, timeId: idAt(now) }
  return [deleteAbandoned(values), resumeTriers(values), deleteTriers(values), postpone(values)]
}

/** Selects the agents that wait for a provider. */
export const selectWaiting = prepare(({ address }: Params<{ address: string }>) =>
  manySql(
    { agentId: w.agentId },
    sql`FROM ${outageWaits} ${w} WHERE ${w.address} = ${address} ORDER BY ${w.since}`,
  ),
)

type End = Time & { address: string }

const resumeWaiting = prepare((v: Params<End>) =>
  insertResumeItems(v, sql`FROM ${outageWaits} ${w} WHERE ${w.address} = ${v.address}`),
)
const deleteWaiting = prepare(({ address }: Params<Pick<End, 'address'>>) =>
  write(sql`DELETE FROM ${outageWaits} WHERE ${outageWaits.address} = ${address}`),
)
const deleteOutage = prepare(({ address }: Params<Pick<End, 'address'>>) =>
  write(sql`DELETE FROM ${providerOutages} WHERE ${providerOutages.address} = ${address}`),
)

/** Returns the statements that end an outage and resume every run that waits for the provider. */
export function endStatements(address: string, now: number): Statement<void>[] {
  const values = { address, now, timeId: idAt(now) }
  return [resumeWaiting(values), deleteWaiting(values), deleteOutage(values)]
}

type OfAgent = Time & { agentId: AccountId }

const resumeOfAgent = prepare((v: Params<OfAgent>) =>
  insertResumeItems(v, sql`FROM ${outageWaits} ${w} WHERE ${w.agentId} = ${v.agentId}`),
)
const deleteOfAgent = prepare(({ agentId }: Params<Pick<OfAgent, 'agentId'>>) =>
  write(sql`DELETE FROM ${outageWaits} WHERE ${outageWaits.agentId} = ${agentId}`),
)

/** Returns the statements that resume an agent's run at once: its definition may name another provider. */
export function agentWaitStatements(agentId: AccountId, now: number): Statement<void>[] {
  const values = { agentId, now, timeId: idAt(now) }
  return [resumeOfAgent(values), deleteOfAgent(values)]
}

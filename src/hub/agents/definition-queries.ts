import { and, eq, type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import type { DefinitionFacts } from '../../agents/contract/agents'
import { definitionLimits } from '../../shared/config'
import { flag, nullable, number, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  orm,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import { foldText } from '../../shared/fold-text'
import type { AccountId } from '../../shared/ids'
import { toolsVersionSql } from '../grants/queries'
import { optionalPersonSql } from '../rules/people-sql'
import { accounts, apiKeys } from '../schema/accounts'
import { agentDefinitions, agents } from '../schema/definitions'

const a = alias(accounts, 'a')
const g = alias(agents, 'g')
const d = alias(agentDefinitions, 'd')

/** Selects the account that has the name of a definition: whether it is hosted here, and its unexpired keys. */
export const selectNamedAccount = prepare((v: Params<{ name: string; now: number }>) => {
  const k = alias(apiKeys, 'k')
  const owner = alias(accounts, 'owner')
  return oneSql(
    {
      id: a.id,
      kind: a.kind,
      ownerId: a.ownerId,
      ownerName: nullable(owner.name),
      isImported: a.isImported,
      isHosted: flag(sql`EXISTS (SELECT 1 FROM ${agents} ${g} WHERE ${g.accountId} = ${a.id})`),
      hasKeys: flag(sql`EXISTS (SELECT 1 FROM ${apiKeys} ${k} WHERE ${k.accountId} = ${a.id}
        AND (${k.expiresAt} IS NULL OR ${k.expiresAt} > ${v.now}))`),
    },
    sql`FROM ${accounts} ${a} LEFT JOIN ${accounts} ${owner} ON ${owner.id} = ${a.ownerId}
      WHERE ${a.name} = ${v.name}`,
  )
})

/** Selects what a member has used of the limits that hold for all their agents. */
export const selectOwnUse = prepare((v: Params<{ id: AccountId; now: number }>) =>
  oneSql(
    { agents: number(countAgentsSql(v.id)), saves: number(countSavesSql(v.id, v.now)) },
    sql``,
  ),
)

const dayMs = 86_400_000

/** The versions that an account has saved within a day. */
const countSavesSql = (authorId: SQLWrapper, now: SQLWrapper): SQL =>
  sql`(SELECT count(*) FROM ${agentDefinitions} ${d} WHERE ${d.createdBy} = ${authorId}
    AND ${d.createdAt} > ${now} - ${dayMs})`

type NewDefinition = Pick<
  typeof agentDefinitions.$inferInsert,
  'accountId' | 'etag' | 'warnings' | 'createdBy' | 'createdAt'
>

/** The constraint that fails when an author has saved as many versions as they can within a day. */
export const tooManySavesConstraint = 'agent_definitions.created_at'

/**
 * Inserts a new version, unless the newest version has the same etag. With the version that the author
 * started from, it violates the primary key when another version exists by then.
 *
 * @param v.savesMax versions that the author can save within a day; null: any number
 */
export const insertDefinition = prepare(
  (
    v: Params<Required<NewDefinition> & { baseVersion: number | null; savesMax: number | null }>,
  ) => {
    const ofAgent = sql`FROM ${agentDefinitions} ${d} WHERE ${d.accountId} = ${v.accountId}`
    return write(
      insertSelect(
        agentDefinitions,
        {
          accountId: v.accountId,
          version: sql`coalesce(${v.baseVersion}, (SELECT max(${d.version}) ${ofAgent}), 0) + 1`,
          etag: v.etag,
          warnings: v.warnings,
          createdBy: v.createdBy,
          createdAt: sql`iif(${countSavesSql(v.createdBy, v.createdAt)} >= ${v.savesMax}, NULL, ${v.createdAt})`,
        },
        sql`WHERE coalesce((SELECT ${d.etag} ${ofAgent} ORDER BY ${d.version} DESC LIMIT 1), '') <> ${v.etag}`,
      ),
    )
  },
)

/** The columns of an agent that depend on the models of the hub. */
const toModelFields = (facts: DefinitionFacts) => ({
  model: facts.model,
  models: facts.models,
  readsProviders: facts.readsProviders,
  durationSecondsMax: facts.durationSecondsMax,
  callFloorMicrousd: facts.callFloor.microusd,
  callFloorTokens: facts.callFloor.tokens,
  callWantMicrousd: facts.callWant.microusd,
  callWantTokens: facts.callWant.tokens,
})

const activeFields = {
  agentId: g.accountId,
  name: a.name,
  version: g.definitionVersion,
  etag: g.definitionEtag,
}
export type ActiveDefinition = RowOf<typeof activeFields>

const fromAgents = sql`FROM ${agents} ${g} JOIN ${accounts} ${a} ON ${a.id} = ${g.accountId}`

/** Selects the active definition of every agent. */
export const selectActiveDefinitions = prepare(() => manySql(activeFields, fromAgents))

/** Selects the active definition of an agent. */
export const selectActiveDefinition = prepare((v: Params<{ agentId: AccountId }>) =>
  manySql(activeFields, sql`${fromAgents} WHERE ${g.accountId} = ${v.agentId}`),
)

/** Selects the active definitions that request a grant of a tool server, or that are warned about it. */
export const selectDefinitionsNaming = prepare((v: Params<{ server: string }>) =>
  manySql(
    activeFields,
    sql`${fromAgents}
      JOIN ${agentDefinitions} ${d} ON ${d.accountId} = ${g.accountId}
        AND ${d.version} = ${g.definitionVersion}
      WHERE instr(${g.grants}, '"' || ${v.server} || ':') > 0 OR instr(${d.warnings}, ${v.server}) > 0`,
  ),
)

/**
 * Sets what an agent's definition means with other models, unless another version is active by then, and what it is
 * warned of, unless the tools of the hub are others by then.
 */
export const updateAgentModels = (
  { agentId, version, etag }: { agentId: AccountId; version: number; etag: string },
  facts: DefinitionFacts,
  { now, toolsVersion }: { now: number; toolsVersion: number },
): Statement<void>[] => [
  write(
    orm
      .update(agents)
      .set({ ...toModelFields(facts), updatedAt: now })
      .where(and(eq(agents.accountId, agentId), eq(agents.definitionEtag, etag))),
  ),
  write(
    orm
      .update(agentDefinitions)
      .set({ warnings: facts.warnings })
      .where(
        and(
          eq(agentDefinitions.accountId, agentId),
          eq(agentDefinitions.version, version),
          sql`${toolsVersionSql} = ${toolsVersion}`,
        ),
      ),
  ),
]

/** The constraint that fails when a member would own more agents than they can have. */
export const tooManyConstraint = 'accounts.created_at'

/**
 * Fails the whole batch when an account that a member claimed would become an agent of this hub, and the member has
 * as many as they can have.
 */
export const guardAgentsOfOwner = (id: AccountId): Statement<void> =>
  write(
    updateSet(
      accounts,
      { createdAt: sql`NULL` },
      sql`WHERE ${accounts.id} = ${id} AND NOT EXISTS (SELECT 1 FROM ${agents} WHERE ${agents.accountId} = ${id})
        AND NOT ${hasRoomSql(sql`(SELECT ${a.ownerId} FROM ${accounts} ${a} WHERE ${a.id} = ${id})`)}`,
    ),
  )

/** The agents that an account owns. */
function countAgentsSql(ownerId: SQLWrapper): SQL {
  const o = alias(accounts, 'o')
  const h = alias(agents, 'h')
  return sql`(SELECT count(*) FROM ${accounts} ${o} JOIN ${agents} ${h} ON ${h.accountId} = ${o.id}
    WHERE ${o.ownerId} = ${ownerId})`
}

/** Condition: the member can own one more agent. */
const hasRoomSql = (ownerId: SQLWrapper): SQL =>
  sql`(${countAgentsSql(ownerId)} < ${definitionLimits.agentsPerMember})`

/**
 * Inserts the account of a new agent. Without a time of its creation the whole batch fails: then its owner has
 * as many agents as a member can have.
 *
 * @param ownerId null: an agent of the hub
 */
export function insertAgentAccount(
  agent: Pick<typeof accounts.$inferInsert, 'id' | 'name' | 'displayName' | 'description'> & {
    createdAt: number
  },
  ownerId: AccountId | null,
): Statement<void> {
  return write(
    insertSelect(
      accounts,
      {
        id: agent.id,
        name: agent.name,
        kind: 'agent',
        role: 'member',
        ownerId,
        displayName: agent.displayName ?? null,
        description: agent.description ?? '',
        createdAt: sql`iif(${hasRoomSql(sql`${ownerId}`)}, ${agent.createdAt}, NULL)`,
      },
      sql``,
    ),
  )
}

/** Makes the newest definition the active version, used from the agent's next activation on. */
export function upsertAgent(
  agentId: AccountId,
  facts: DefinitionFacts,
  now: number,
): Statement<void> {
  const fields = {
    ...toModelFields(facts),
    definitionVersion: sql<number>`(SELECT max(${agentDefinitions.version}) FROM ${agentDefinitions}
      WHERE ${agentDefinitions.accountId} = ${agentId})`,
    definitionEtag: facts.etag,
    gate: facts.trial && { ...facts.trial, setKey: foldText(facts.trial.set) },
    grants: facts.grants,
    answersMentions: facts.answersMentions,
    answersReplies: facts.answersReplies,
    answersDms: facts.answersDms,
    followsThreads: facts.followsThreads,
    activationTokensMax: facts.activationTokensMax,
    priority: facts.priority,
    ...facts.writing,
    updatedAt: now,
  }
  return write(
    orm
      .insert(agents)
      .values({ accountId: agentId, ...fields })
      .onConflictDoUpdate({ target: agents.accountId, set: fields }),
  )
}

const definitionFields = {
  agentId: a.id,
  /** The member who created it; null for an agent of the hub. */
  ownerId: a.ownerId,
  name: a.name,
  version: d.version,
  etag: d.etag,
  warnings: d.warnings,
  model: g.model,
  grants: g.grants,
  isPaused: g.isPaused,
  /** The trial that its changes have to pass. */
  gate: g.gate,
  createdAt: d.createdAt,
}

export type DefinitionRow = RowOf<typeof definitionFields>

/** Selects the active definition of an agent. */
export const selectDefinition = prepare((v: Params<{ name: string }>) =>
  oneSql(
    definitionFields,
    sql`FROM ${accounts} ${a} JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
      JOIN ${agentDefinitions} ${d} ON ${d.accountId} = ${a.id} AND ${d.version} = ${g.definitionVersion}
      WHERE ${a.name} = ${v.name}`,
  ),
)

const u = alias(accounts, 'u')

const versionFields = {
  /** Of the agent. */
  ownerId: a.ownerId,
  version: d.version,
  etag: d.etag,
  createdAt: d.createdAt,
  /** Null when unknown. */
  createdBy: optionalPersonSql(u),
}

export type VersionRow = RowOf<typeof versionFields>

const versionsKept = sql.raw(String(definitionLimits.versionsKept))

/** Selects the versions of an agent's definition whose files are kept, with their authors, newest first. */
export const selectVersions = prepare((v: Params<{ name: string }>) =>
  manySql(
    versionFields,
    sql`FROM ${accounts} ${a} JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
      JOIN ${agentDefinitions} ${d} ON ${d.accountId} = ${a.id}
      LEFT JOIN ${accounts} ${u} ON ${u.id} = ${d.createdBy}
      WHERE ${a.name} = ${v.name} ORDER BY ${d.version} DESC LIMIT ${versionsKept}`,
  ),
)

/**
 * Selects the version whose files are no longer kept since the newest one was saved: none when a version that is
 * kept has the same files. Its row stays: it says whose definition a run ran.
 */
export const selectOutdated = prepare((v: Params<{ accountId: AccountId }>) => {
  const k = alias(agentDefinitions, 'k')
  const newest = sql`(SELECT max(${k.version}) FROM ${agentDefinitions} ${k} WHERE ${k.accountId} = ${v.accountId})`
  return oneSql(
    { etag: d.etag },
    sql`FROM ${agentDefinitions} ${d}
      WHERE ${d.accountId} = ${v.accountId} AND ${d.version} = ${newest} - ${versionsKept}
        AND NOT EXISTS (SELECT 1 FROM ${agentDefinitions} ${k}
          WHERE ${k.accountId} = ${v.accountId} AND ${k.version} > ${d.version} AND ${k.etag} = ${d.etag})`,
  )
})

import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { approvals as settings } from '../../shared/config'
import { nullable, type RowOf } from '../../shared/db/fields'
import { manySql, type Params, prepare } from '../../shared/db/statement'
import type { ActivationId } from '../../shared/ids'
import type { ToolCatalog } from '../contract/hub'
import {
  connectedServicesSql,
  mergeCallPolicy,
  requestersSql,
  storedPolicyColumns,
  toolsVersionSql,
} from '../grants/queries'
import { isListedSql } from '../rules/follow-sql'
import { type PersonAnswer, personJsonSql } from '../rules/people-sql'
import { canReadPostSql } from '../rules/readable-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { approvals, grantPolicies } from '../schema/approvals'
import { agents } from '../schema/definitions'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'
import { type Reader, requestReader } from '../viewers/reader'
import {
  admissionFields,
  askWithRoomSql,
  type PayingBudget,
  resumeAskSql,
  selectPayingFrom,
} from './claim-queries'

/*
 * What resuming the runs that wait for an approval would reserve and could cost: the statement that resumes
 * them, as reads.
 */

const d = alias(grantPolicies, 'd')
const g = alias(agents, 'g')
const o = alias(grantPolicies, 'o')
const p = alias(approvals, 'p')
const u = alias(accounts, 'u')
const x = alias(activations, 'x')

/** An id that no activation has. */
const none = sql.raw("''")

/** `postId` is '' for any place. */
type Values = ViewerValues & { postId: string; reader: Reader }

/** The runs with pending approvals in a thread that the reader reads, or anywhere, for an admin or a requester. */
const asked = (v: Params<Values>) => {
  const asking = { activationId: none, agentId: none, now: v.now }
  const runs = sql`${x.state} = 'parked' AND ${x.id} IN (SELECT ${p.activationId} FROM ${approvals} ${p}
      WHERE ${p.status} = 'pending' ORDER BY ${p.createdAt} DESC LIMIT ${sql.raw(String(settings.pageMax))})
    AND (${v.postId} = '' OR ${x.postId} = ${v.postId}) AND ${canReadPostSql(x.postId, v.reader)}
    AND EXISTS (SELECT 1 FROM ${viewer} WHERE ${viewer.role} = 'admin' OR ${isListedSql(viewer.id, x.requesters)})`
  const ask = resumeAskSql(asking, runs)
  return { asking, before: sql`${viewerCte(v)}, ask AS MATERIALIZED (${ask})` }
}

const resumeFields = (v: Params<Values>) => {
  const { isExhausted, reservedMicrousd, freeMicrousd } = admissionFields(asked(v).asking)
  return {
    activationId: sql<ActivationId>`a.id`,
    isExhausted,
    reservedMicrousd,
    freeMicrousd,
    /** By name; none for the hub itself. */
    requesters:
      sql`(SELECT json_group_array(json(person)) FROM (SELECT ${personJsonSql(u)} AS person FROM json_each(a.requesters) n
      CROSS JOIN ${accounts} ${u} ON ${u.id} = n.value ORDER BY ${u.name}))`.mapWith(
        (json): PersonAnswer[] => JSON.parse(json),
      ),
    /** Servers where the only requester has connected an account. */
    connected: connectedServicesSql(
      sql`iif(json_array_length(a.requesters) = 1, a.requesters ->> 0, NULL)`,
    ),
    default: storedPolicyColumns(d),
    own: storedPolicyColumns(o),
    requested: nullable(g.grants),
    toolsVersion: toolsVersionSql,
    /** The requesters, for whom lines of the policy hold. */
    actsFor: requestersSql(sql`a.requesters`, sql`coalesce(${o.named}, ${d.named}, '{}')`),
  }
}

/** What resuming a run would cost. */
type ResumeCost = RowOf<ReturnType<typeof resumeFields>>

const selectCosts = prepare((v: Params<Values>) =>
  manySql(
    resumeFields(v),
    sql`FROM ${askWithRoomSql} LEFT JOIN ${agents} ${g} ON ${g.accountId} = a.agent_id
      LEFT JOIN ${grantPolicies} ${d} ON ${d.accountId} = '*'
      LEFT JOIN ${grantPolicies} ${o} ON ${o.accountId} = a.agent_id`,
    asked(v).before,
  ),
)
const selectPayers = prepare((v: Params<Values>) => selectPayingFrom(asked(v).before))

/** Returns the reads that say what resuming runs after an approval would cost, and which budgets pay. */
export const resumeStatements = (credential: Credential | null, now: number, postId = '') => {
  const reader = requestReader(credential, now)
  const values = { ...viewerValues(credential, now), postId, reader }
  return { costs: selectCosts(values), payers: selectPayers(values) }
}

/** What resuming a run would cost, with the budgets that pay. */
export interface ResumePromise
  extends Omit<ResumeCost, 'default' | 'own' | 'requested' | 'toolsVersion' | 'actsFor'> {
  paidBy: Pick<PayingBudget, 'scope' | 'name'>[]
  /** Returns where a call of a tool uses the account of the only requester; null: nowhere. */
  findAccount(tool: string): { service: string; isConnected: boolean } | null
}

const toPolicy = <Stored extends { allowed: string[] | null }>(stored: Stored): Stored | null =>
  stored.allowed === null ? null : stored

function toPromise(cost: ResumeCost, payers: PayingBudget[], tools: ToolCatalog): ResumePromise {
  const { default: base, own, requested, toolsVersion, actsFor, ...rest } = cost
  const policy = mergeCallPolicy({
    default: toPolicy(base),
    own: toPolicy(own),
    requested,
    toolsVersion,
    requesters: actsFor,
  })
  return {
    ...rest,
    paidBy: payers.filter(({ activationId }) => activationId === cost.activationId),
    findAccount(name) {
      const found = tools.evaluatePolicy(policy).find(({ tool }) => tool.name === name)
      const service = found?.account ?? null
      return service === null ? null : { service, isConnected: cost.connected.includes(service) }
    },
  }
}

/** Joins what was read about the runs that wait, by the id of the run. */
export async function toResumePromises(
  { costs, payers }: { costs: ResumeCost[]; payers: PayingBudget[] },
  tools: ToolCatalog,
): Promise<ReadonlyMap<string, ResumePromise>> {
  const [first] = costs
  if (first) await tools.refresh(toVersion(first))
  return new Map(costs.map((cost) => [cost.activationId, toPromise(cost, payers, tools)]))
}

const toVersion = ({ toolsVersion }: ResumeCost) => (toolsVersion ? { toolsVersion } : {})

/** Whether the amounts are shown: to those who decide, and to the only requester. */
export const isCostShown = ({ requesters }: ResumePromise, canDecide: boolean): boolean =>
  canDecide || requesters.length === 1

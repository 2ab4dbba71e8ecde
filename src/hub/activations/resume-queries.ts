import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { approvals as settings } from '../../shared/config'
import { nullable, type RowOf } from '../../shared/db/fields'
import { manySql, type Params, prepare } from '../../shared/db/statement'
import type { ActivationId } from '../../shared/ids'
import { canReadPostSql } from '../communities/readable-sql'
import { isListedSql } from '../following/follow-sql'
import {
  connectedServicesSql,
  requestersSql,
  storedPolicyColumns,
  toolsVersionSql,
} from '../grants/queries'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'
import { approvals } from '../schema/approvals'
import { agents } from '../schema/definitions'
import { grantPolicies } from '../schema/grants'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'
import { type Reader, requestReader } from '../viewers/reader'
import { admissionFields, selectPayingFrom } from './admission-queries'
import { askWithRoomSql, resumeAskSql } from './claim-queries'

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
    /** Names of the requesters; none for the hub itself. */
    requesters:
      sql`(SELECT json_group_array(name) FROM (SELECT ${u.name} AS name FROM json_each(a.requesters) n
      CROSS JOIN ${accounts} ${u} ON ${u.id} = n.value ORDER BY 1))`.mapWith((json): string[] =>
        JSON.parse(json),
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
export type ResumeCost = RowOf<ReturnType<typeof resumeFields>>

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

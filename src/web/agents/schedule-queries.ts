import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { scheduleRequestersSql } from '../../hub/scheduling/exploration-queries'
import { accounts } from '../../hub/schema/accounts'
import { activations } from '../../hub/schema/activations'
import { inboxItems } from '../../hub/schema/inbox'
import { nullable, type RowOf } from '../../shared/db/fields'
import { manySql, oneSql, type Params, prepare } from '../../shared/db/statement'

const a = alias(accounts, 'a')
const i = alias(inboxItems, 'i')
const o = alias(accounts, 'o')
const u = alias(accounts, 'u')
const x = alias(activations, 'x')

/** Newest runs of an agent among which those of its schedules are looked up. */
const runsRead = sql.raw('200')

const lastRunFields = {
  key: sql<string>`${i.scheduleKey}`,
  id: x.id,
  startedAt: sql<number>`max(${x.startedAt})`,
  outcome: nullable(x.outcome),
}

/** The last run of a schedule. */
export type LastRun = RowOf<typeof lastRunFields>

/** Selects the last run of each schedule of an agent, among its newest runs. */
export const selectLastRuns = prepare(({ name }: Params<{ name: string }>) =>
  manySql(
    lastRunFields,
    sql`FROM (SELECT * FROM ${activations} WHERE ${activations.agentId} =
        (SELECT ${a.id} FROM ${accounts} ${a} WHERE ${a.name} = ${name})
        ORDER BY ${activations.startedAt} DESC LIMIT ${runsRead}) ${x}
      JOIN ${inboxItems} ${i} ON ${i.claimedBy} = ${x.id} AND ${i.scheduleKey} IS NOT NULL
      WHERE ${x.task} = 'scheduled' GROUP BY ${i.scheduleKey}`,
  ),
)

/** Selects for whom the scheduled tasks of an agent run, and who owns it. */
export const selectScheduleNames = prepare(({ name }: Params<{ name: string }>) =>
  oneSql(
    {
      requesters:
        sql`(SELECT json_group_array(${u.name}) FROM json_each(${scheduleRequestersSql(a.id)}) n
        JOIN ${accounts} ${u} ON ${u.id} = n.value)`.mapWith((json: string): string[] =>
          JSON.parse(json),
        ),
      ownerName: nullable(o.name),
    },
    sql`FROM ${accounts} ${a} LEFT JOIN ${accounts} ${o} ON ${o.id} = ${a.ownerId}
      WHERE ${a.name} = ${name}`,
  ),
)

import { sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { approvals as settings } from '../../shared/config'
import { manySql, type Params, prepare, type Statement } from '../../shared/db/statement'
import { isStoppedSql } from '../bans/ban-sql'
import { accounts } from '../schema/accounts'
import { activations } from '../schema/activations'

const u = alias(accounts, 'u')
const x = alias(activations, 'x')

const decider = (
  now: Params<{ now: number }>['now'],
) => sql`${u.role} = 'admin' AND ${u.kind} = 'human'
  AND ${u.isImported} = 0 AND NOT ${isStoppedSql(u.id, now)}`
const shown = sql.raw(String(settings.decidersShown + 1))

const selectAll = prepare(({ now }: Params<{ now: number }>) =>
  manySql(
    { name: u.name },
    sql`FROM ${accounts} ${u} WHERE ${decider(now)} ORDER BY ${u.name} LIMIT ${shown}`,
  ),
)

/** Selects the people who can decide approvals: the admins, by name; one more than are shown. */
export const selectDeciders = (now: number): Statement<{ name: string }[]> => selectAll({ now })

const selectForThread = prepare(({ now, postId }: Params<{ now: number; postId: string }>) =>
  manySql(
    { name: u.name },
    // CROSS JOIN: without a run that waits, no account is read.
    sql`FROM (SELECT 1 FROM ${activations} ${x} WHERE ${x.postId} = ${postId} AND ${x.state} = 'parked' LIMIT 1)
      CROSS JOIN ${accounts} ${u} ON ${decider(now)} ORDER BY ${u.name} LIMIT ${shown}`,
  ),
)

/** The same for a thread in which a run waits; none otherwise. */
export const selectThreadDeciders = (now: number, postId: string): Statement<{ name: string }[]> =>
  selectForThread({ now, postId })

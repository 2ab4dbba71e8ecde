import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { updateSet } from '../../shared/db/write-sql'
import type { AccountId } from '../../shared/ids'
import { ownedSql } from '../accounts/owned-sql'
import { isShutOutSql } from '../bans/ban-sql'
import { inboxItems } from '../schema/inbox'
import { requestersOfItemSql } from './requester-sql'
import { isWaitingSql, unreadItemsSql } from './waiting-sql'

const i = alias(inboxItems, 'i')

/** Refuses waiting tasks: they stay in the inbox with the reason, and wake nobody. */
const refuse = (where: SQL): Statement<void> =>
  write(
    updateSet(
      inboxItems,
      { isTask: false, refusal: 'requester_stopped' },
      sql`WHERE ${inboxItems.id} IN (${where})`,
    ),
  )

const isForSql = (account: AccountId): SQL =>
  sql`EXISTS (SELECT 1 FROM json_each(${requestersOfItemSql(i)}) n
    WHERE n.value = ${account} OR n.value IN ${ownedSql(account)})`

/** Refuses the tasks that wait for any agent on behalf of an account, or of one that it claimed. */
export const refuseItemsFor = (requester: AccountId): Statement<void> =>
  refuse(sql`SELECT ${i.id} FROM ${inboxItems} ${i} INDEXED BY inbox_waiting
    WHERE ${isWaitingSql(i)} AND ${i.type} <> 'approval_decision' AND ${isForSql(requester)}`)

/** Refuses the tasks of an agent on behalf of accounts that are disabled or banned. */
export const refuseItemsOfStopped = prepare(
  ({ agentId, now }: Params<{ agentId: AccountId; now: number }>) =>
    refuse(sql`SELECT ${i.id} FROM ${unreadItemsSql(i)}
      WHERE ${i.accountId} = ${agentId} AND ${isWaitingSql(i)} AND ${i.type} <> 'approval_decision'
        AND EXISTS (SELECT 1 FROM json_each(${requestersOfItemSql(i)}) n
          WHERE ${isShutOutSql(sql`n.value`, now)})`),
)

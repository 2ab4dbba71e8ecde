import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, nullable, type RowOf } from '../../shared/db/fields'
import { oneSql, type Params, prepare, type Statement } from '../../shared/db/statement'
import type { AccountId } from '../../shared/ids'
import { accounts } from '../schema/accounts'
import { agents } from '../schema/definitions'
import { conversationMembers, conversations } from '../schema/dms'

const a = alias(accounts, 'a')
const g = alias(agents, 'g')
const c = alias(conversations, 'c')
const m = alias(conversationMembers, 'm')

const hasBlocked = (accountId: SQL): SQL =>
  sql`coalesce((SELECT ${m.hasBlocked} FROM ${conversationMembers} ${m}
    WHERE ${m.conversationId} = ${c.id} AND ${m.accountId} = ${accountId}), 0)`

type Me = Params<{ me: AccountId }>

/** The other account of a conversation, as the requester sees it. */
const peerFields = ({ me }: Me) => ({
  id: a.id,
  name: a.name,
  kind: a.kind,
  isImported: a.isImported,
  isHosted: flag(sql`${g.accountId} IS NOT NULL`),
  /** A hosted agent whose definition enables direct messages. */
  answersDms: flag(sql`coalesce(${g.answersDms}, 0)`),
  /** Null before the first message. */
  conversationId: nullable(c.id),
  status: nullable(c.status),
  startedBy: nullable(c.startedBy),
  /** The other account blocks the requester. */
  blocksMe: flag(hasBlocked(sql`${a.id}`)),
  /** The requester blocks the other account. */
  isBlocked: flag(hasBlocked(sql`${me}`)),
})

export type PeerRow = RowOf<ReturnType<typeof peerFields>>

const selectByName = prepare((v: Me & Params<{ name: string }>) =>
  oneSql(
    peerFields(v),
    sql`FROM ${accounts} ${a} LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
      LEFT JOIN ${conversations} ${c} ON ${c.pair} = min(${a.id}, ${v.me}) || ' ' || max(${a.id}, ${v.me})
      WHERE ${a.name} = ${v.name}`,
  ),
)

export const selectPeerByName = (me: AccountId, name: string): Statement<PeerRow | undefined> =>
  selectByName({ me, name })

const selectByConversation = prepare((v: Me & Params<{ id: string }>) => {
  const own = alias(conversationMembers, 'own')
  return oneSql(
    peerFields(v),
    sql`FROM ${conversationMembers} ${own}
      JOIN ${conversations} ${c} ON ${c.id} = ${own.conversationId}
      JOIN ${accounts} ${a} ON ${a.id} = ${own.otherId} LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
      WHERE ${own.accountId} = ${v.me} AND ${own.conversationId} = ${v.id}`,
  )
})

export const selectPeerByConversation = (
  me: AccountId,
  id: string,
): Statement<PeerRow | undefined> => selectByConversation({ me, id })

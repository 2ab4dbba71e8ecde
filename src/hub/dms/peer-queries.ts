import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { flag, nullable, type RowOf } from '../../shared/db/fields'
import { oneSql, type Params, prepare, type Statement } from '../../shared/db/statement'
import { accounts } from '../schema/accounts'
import { agents } from '../schema/definitions'
import { conversationMembers, conversations } from '../schema/dms'
import type { Reader } from '../viewers/reader'
import { accountOfReaderSql } from '../viewers/reader-sql'

const a = alias(accounts, 'a')
const g = alias(agents, 'g')
const c = alias(conversations, 'c')
const m = alias(conversationMembers, 'm')

const hasBlocked = (accountId: SQL): SQL =>
  sql`coalesce((SELECT ${m.hasBlocked} FROM ${conversationMembers} ${m}
    WHERE ${m.conversationId} = ${c.id} AND ${m.accountId} = ${accountId}), 0)`

/** The account of the reader, as `WITH me`. */
const meCte = (reader: SQLWrapper): SQL =>
  sql`WITH me (id) AS MATERIALIZED (SELECT ${accountOfReaderSql(reader)})`

const me = sql`me.id`

/** The other account of a conversation, as the reader sees it. */
const peerFields = {
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
  /** The other account blocks the reader. */
  blocksMe: flag(hasBlocked(sql`${a.id}`)),
  /** The reader blocks the other account. */
  isBlocked: flag(hasBlocked(me)),
}

export type PeerRow = RowOf<typeof peerFields>

const selectByName = prepare((v: Params<{ reader: Reader; name: string }>) =>
  oneSql(
    peerFields,
    sql`FROM me CROSS JOIN ${accounts} ${a} LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
      LEFT JOIN ${conversations} ${c} ON ${c.pair} = min(${a.id}, ${me}) || ' ' || max(${a.id}, ${me})
      WHERE ${a.name} = ${v.name}`,
    meCte(v.reader),
  ),
)

const selectByConversation = prepare((v: Params<{ reader: Reader; id: string }>) => {
  const own = alias(conversationMembers, 'own')
  return oneSql(
    peerFields,
    sql`FROM me CROSS JOIN ${conversationMembers} ${own}
      JOIN ${conversations} ${c} ON ${c.id} = ${own.conversationId}
      JOIN ${accounts} ${a} ON ${a.id} = ${own.otherId} LEFT JOIN ${agents} ${g} ON ${g.accountId} = ${a.id}
      WHERE ${own.accountId} = ${me} AND ${own.conversationId} = ${v.id}`,
    meCte(v.reader),
  )
})

/** An account by its name, or the other account of a conversation of the reader. */
export type PeerPlace = { name: string } | { conversationId: string }

export const selectPeer = (place: PeerPlace, reader: Reader): Statement<PeerRow | undefined> =>
  'name' in place
    ? selectByName({ name: place.name, reader })
    : selectByConversation({ id: place.conversationId, reader })

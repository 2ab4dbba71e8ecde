import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { limits } from '../../shared/config'
import type { Cursor } from '../../shared/cursor'
import { shortenText } from '../../shared/cut-text'
import { type Fields, flag, nullable, number, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { updateSet } from '../../shared/db/write-sql'
import { shownTextFields } from '../markdown/queries'
import { accounts } from '../schema/accounts'
import { agents } from '../schema/definitions'
import { conversationMembers, conversations, directMessages } from '../schema/dms'
import { inboxItems } from '../schema/inbox'
import {
  accountOfReaderSql,
  type Credential,
  prepareForViewer,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'
import type { Reader } from '../viewers/reader'

export type ConversationStatus = (typeof conversations.$inferSelect)['status']

const a = alias(accounts, 'a')

const c = alias(conversations, 'c')

const m = alias(conversationMembers, 'm')

const d = alias(directMessages, 'd')

const conversationFields = {
  id: c.id,
  status: c.status,
  isStartedByMe: flag(sql`${c.startedBy} = ${m.accountId}`),
  isBlocked: m.hasBlocked,
  unread: m.unread,
  createdAt: c.createdAt,
  lastMessageAt: m.lastMessageAt,
  otherId: a.id,
  otherName: a.name,
  otherKind: a.kind,
  otherDisplayName: a.displayName,
  otherAvatarId: a.avatarId,
  otherDescription: a.description,
  otherKarma: a.karma,
  lastContent: sql<
    string | null
  >`substr(${d.content}, 1, ${limits.directMessage.previewChars * 2})`,
  isLastMine: flag(sql`coalesce(${d.authorId} = ${m.accountId}, 0)`),
}

/** A conversation of the viewer. */
export type ConversationRow = RowOf<typeof conversationFields>

const last = alias(directMessages, 'last')

const fromConversations = sql`FROM ${conversationMembers} ${m}
  CROSS JOIN ${conversations} ${c} ON ${c.id} = ${m.conversationId}
  JOIN ${accounts} ${a} ON ${a.id} = ${m.otherId}
  LEFT JOIN ${directMessages} ${d} ON ${d.id} = (SELECT ${last.id} FROM ${directMessages} ${last}
    WHERE ${last.conversationId} = ${c.id} ORDER BY ${last.createdAt} DESC, ${last.id} DESC LIMIT 1)`

const viewerId = sql`(SELECT ${viewer.id} FROM ${viewer})`

/**
 * `requests`: pending message requests to the viewer. `conversations`: the others, without those that
 * the viewer declined. `all`: both.
 */
export type ConversationList = 'requests' | 'conversations' | 'all'

type PageValues = ViewerValues & { at: number; id: string; limit: number }

const prepareList = (condition: SQL) =>
  prepare((v: Params<PageValues>) =>
    manySql(
      conversationFields,
      sql`${fromConversations}
        WHERE ${m.accountId} = ${viewerId} AND ${condition}
          AND (${m.lastMessageAt}, ${m.conversationId}) < (${v.at}, ${v.id})
        ORDER BY ${m.lastMessageAt} DESC, ${m.conversationId} DESC LIMIT ${v.limit}`,
      viewerCte(v),
    ),
  )

const selectLists = {
  requests: prepareList(sql`${c.status} = 'pending' AND ${c.startedBy} <> ${m.accountId}`),
  conversations: prepareList(sql`(${c.status} = 'open' OR ${c.startedBy} = ${m.accountId})`),
  all: prepareList(
    sql`(${c.status} <> 'rejected' OR ${c.startedBy} = ${m.accountId} OR ${m.hasBlocked} = 1)`,
  ),
}

/** The keyset of a page: all rows before this time and id. */
const toKeyset = (before: Cursor | null): { at: number; id: string } => {
  const [at, id] = Array.isArray(before) ? before : [Number.MAX_SAFE_INTEGER, '']
  return { at, id }
}

/** Selects one page of the viewer's conversations, most recent first. */
export const selectConversations = (
  credential: Credential | null,
  now: number,
  { list, before, limit }: { list: ConversationList; before: Cursor | null; limit: number },
): Statement<ConversationRow[]> =>
  selectLists[list]({ ...viewerValues(credential, now), ...toKeyset(before), limit })

type ConversationValues = ViewerValues & { conversationId: string }

const selectOne = prepare((v: Params<ConversationValues>) =>
  oneSql(
    conversationFields,
    sql`${fromConversations} WHERE ${m.accountId} = ${viewerId} AND ${c.id} = ${v.conversationId}`,
    viewerCte(v),
  ),
)

/** Selects one conversation of the viewer. */
export const selectConversation = (
  credential: Credential | null,
  now: number,
  conversationId: string,
): Statement<ConversationRow | undefined> =>
  selectOne({ ...viewerValues(credential, now), conversationId })

const messageFields = {
  id: d.id,
  authorId: d.authorId,
  authorName: a.name,
  authorKind: a.kind,
  authorDisplayName: a.displayName,
  authorAvatarId: a.avatarId,
  content: d.content,
  needsHuman: d.needsHuman,
  activationId: d.activationId,
  createdAt: d.createdAt,
}

export type MessageRow = RowOf<typeof messageFields>

const prepareMessages = <F extends Fields>(fields: F) =>
  prepare((v: Params<PageValues & ConversationValues>) =>
    manySql(
      fields,
      sql`FROM (SELECT * FROM ${directMessages} ${d}
        WHERE ${d.conversationId} = ${v.conversationId} AND (${d.createdAt}, ${d.id}) < (${v.at}, ${v.id})
          AND EXISTS (SELECT 1 FROM ${conversationMembers} ${m}
            WHERE ${m.conversationId} = ${v.conversationId} AND ${m.accountId} = ${viewerId})
        ORDER BY ${d.createdAt} DESC, ${d.id} DESC LIMIT ${v.limit}) ${d}
      JOIN ${accounts} ${a} ON ${a.id} = ${d.authorId}
      ORDER BY ${d.createdAt} DESC, ${d.id} DESC`,
      viewerCte(v),
    ),
  )

const selectPage = prepareMessages(messageFields)

const shownMessageFields = {
  ...messageFields,
  ...shownTextFields(d, sql`${d.createdAt} DESC, ${d.id} DESC`),
}

/** A message as a page shows it. */
export type ShownMessageRow = RowOf<typeof shownMessageFields>

const selectShownPage = prepareMessages(shownMessageFields)

interface MessagePage {
  conversationId: string
  before: Cursor | null
  limit: number
}

const toMessageValues = (
  credential: Credential | null,
  now: number,
  { conversationId, before, limit }: MessagePage,
) => ({ ...viewerValues(credential, now), ...toKeyset(before), conversationId, limit })

/** Selects one page of messages, newest first; no rows for a viewer outside the conversation. */
export const selectMessages = (
  credential: Credential | null,
  now: number,
  page: MessagePage,
): Statement<MessageRow[]> => selectPage(toMessageValues(credential, now, page))

/** Selects the same page with the HTML of the messages. */
export const selectShownMessages = (
  credential: Credential | null,
  now: number,
  page: MessagePage,
): Statement<ShownMessageRow[]> => selectShownPage(toMessageValues(credential, now, page))

const unreadFields = {
  messages: number(sql`coalesce(sum(${m.unread}) FILTER (WHERE ${c.status} = 'open'), 0)`),
  conversations: number(sql`count(*) FILTER (WHERE ${c.status} = 'open' AND ${m.unread} > 0)`),
  requests: number(
    sql`count(*) FILTER (WHERE ${c.status} = 'pending' AND ${c.startedBy} <> ${m.accountId})`,
  ),
}

/** Selects the viewer's numbers of unread messages and open requests. */
export const selectUnreadCounts = prepareForViewer((v) =>
  oneSql(
    unreadFields,
    sql`FROM ${conversationMembers} ${m} JOIN ${conversations} ${c} ON ${c.id} = ${m.conversationId}
      WHERE ${m.accountId} = ${viewerId}`,
    viewerCte(v),
  ),
)

const markMessagesRead = prepare((v: Params<ConversationValues>) => {
  const { accountId, conversationId, unread } = conversationMembers
  return write(
    updateSet(
      conversationMembers,
      { unread: 0 },
      sql`WHERE ${accountId} = ${viewerId} AND ${conversationId} = ${v.conversationId} AND ${unread} > 0`,
      viewerCte(v),
    ),
  )
})

const markItemsRead = prepare((v: Params<ConversationValues>) => {
  const { accountId, conversationId, readAt, isTask } = inboxItems
  return write(
    updateSet(
      inboxItems,
      { readAt: v.now },
      sql`WHERE ${accountId} = ${viewerId} AND ${conversationId} = ${v.conversationId}
        AND ${readAt} IS NULL AND ${isTask} = 0`,
      viewerCte(v),
    ),
  )
})

/** Marks a conversation as read for the viewer. Open tasks of a hosted agent stay, so none is lost. */
export function markReadStatements(
  credential: Credential | null,
  now: number,
  conversationId: string,
): Statement<void>[] {
  const values = { ...viewerValues(credential, now), conversationId }
  return [markMessagesRead(values), markItemsRead(values)]
}

/** Returns the beginning of a message, on one line. */
export const formatPreview = (content: string): string => {
  const line = content.replace(/\s+/g, ' ').trim()
  const { previewChars } = limits.directMessage
  return shortenText(line, previewChars)
}

const o = alias(accounts, 'o')
const g = alias(agents, 'g')

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
  displayName: a.displayName,
  isImported: a.isImported,
  isHosted: flag(sql`${g.accountId} IS NOT NULL`),
  /** A hosted agent whose definition enables direct messages. */
  answersDms: flag(sql`coalesce(${g.answersDms}, 0)`),
  /** Both are people who are more than guests, so that neither has to ask before writing. */
  isBetweenMembers:
    flag(sql`${a.kind} = 'human' AND ${a.role} <> 'guest' AND EXISTS (SELECT 1 FROM ${accounts} ${o}
    WHERE ${o.id} = ${me} AND ${o.kind} = 'human' AND ${o.role} <> 'guest')`),
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

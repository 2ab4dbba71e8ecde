import { type SQL, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { limits } from '../../shared/config'
import type { Cursor } from '../../shared/cursor'
import { type Fields, flag, number, type RowOf } from '../../shared/db/fields'
import {
  manySql,
  oneSql,
  type Params,
  prepare,
  type Statement,
  write,
} from '../../shared/db/statement'
import { updateSet } from '../../shared/db/write-sql'
import { shownTextFields } from '../markdown/shown-text-sql'
import { accounts } from '../schema/accounts'
import { conversationMembers, conversations, directMessages } from '../schema/dms'
import { inboxItems } from '../schema/inbox'
import {
  type Credential,
  type ViewerValues,
  viewer,
  viewerCte,
  viewerValues,
} from '../viewers/queries'

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

export type UnreadRow = RowOf<typeof unreadFields>

const countUnread = prepare((v: Params<ViewerValues>) =>
  oneSql(
    unreadFields,
    sql`FROM ${conversationMembers} ${m} JOIN ${conversations} ${c} ON ${c.id} = ${m.conversationId}
      WHERE ${m.accountId} = ${viewerId}`,
    viewerCte(v),
  ),
)

/** Selects the viewer's numbers of unread messages and open requests. */
export const selectUnreadCounts = (
  credential: Credential | null,
  now: number,
): Statement<UnreadRow | undefined> => countUnread(viewerValues(credential, now))

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

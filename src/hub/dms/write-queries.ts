import { and, eq, sql } from 'drizzle-orm'
import { orm, type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { updateSet } from '../../shared/db/write-sql'
import type { AccountId, ConversationId, InboxItemId } from '../../shared/ids'
import { renderText } from '../markdown/render-text'
import { conversationMembers, conversations, directMessages } from '../schema/dms'
import { inboxItems } from '../schema/inbox'
import type { ConversationStatus } from './queries'

/** Inserts the one conversation of two accounts; fails when they have one already. */
export const insertConversation = (conversation: {
  id: ConversationId
  from: AccountId
  to: AccountId
  status: ConversationStatus
  now: number
}): Statement<void>[] => {
  const { id, from, to, status, now } = conversation
  const pair = [from, to].sort().join(' ')
  const member = { conversationId: id, lastMessageAt: now }
  return [
    write(orm.insert(conversations).values({ id, pair, startedBy: from, status, createdAt: now })),
    write(
      orm.insert(conversationMembers).values([
        { ...member, accountId: from, otherId: to },
        { ...member, accountId: to, otherId: from },
      ]),
    ),
  ]
}

export interface NewMessage {
  id: string
  conversationId: ConversationId
  from: AccountId
  to: AccountId
  content: string
  needsHuman: boolean
  itemId: InboxItemId
  /** The text for the recipient's inbox: the whole message of a task, otherwise its beginning. */
  inboxText: string
  /** The message wakes the agent that receives it. */
  isTask: boolean
  /** Written by a run that had read untrusted text. */
  isUntrusted: boolean
  now: number
}

const countMessage = prepare((v: Params<Pick<NewMessage, 'conversationId' | 'from' | 'now'>>) => {
  const { accountId, conversationId, unread } = conversationMembers
  return write(
    updateSet(
      conversationMembers,
      { lastMessageAt: v.now, unread: sql`${unread} + (${accountId} <> ${v.from})` },
      sql`WHERE ${conversationId} = ${v.conversationId}`,
    ),
  )
})

/** Inserts a message, counts it as unread for the recipient and adds it to their inbox. */
export const insertMessage = (message: NewMessage): Statement<void>[] => {
  const { id, conversationId, from, to, content, needsHuman, itemId, inboxText, now } = message
  const { isTask, isUntrusted } = message
  return [
    write(
      orm.insert(directMessages).values({
        id,
        conversationId,
        authorId: from,
        content,
        needsHuman,
        createdAt: now,
        ...renderText('messages', { id, content }).columns,
      }),
    ),
    countMessage({ conversationId, from, now }),
    write(
      orm.insert(inboxItems).values({
        id: itemId,
        accountId: to,
        type: 'dm',
        fromAccountId: from,
        content: inboxText,
        createdAt: now,
        isTask,
        isUntrusted,
        conversationId,
      }),
    ),
  ]
}

export const updateStatus = (id: ConversationId, status: ConversationStatus): Statement<void> =>
  write(orm.update(conversations).set({ status }).where(eq(conversations.id, id)))

export const updateBlock = (
  id: ConversationId,
  by: AccountId,
  hasBlocked: boolean,
): Statement<void> =>
  write(
    orm
      .update(conversationMembers)
      .set({ hasBlocked })
      .where(
        and(eq(conversationMembers.conversationId, id), eq(conversationMembers.accountId, by)),
      ),
  )

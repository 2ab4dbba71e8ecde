import { and, eq, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { limits } from '../../shared/config'
import { orm, type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, ActivationId, ConversationId, InboxItemId } from '../../shared/ids'
import type { CommitRequest } from '../contract/hub'
import { type RenderedText, renderText } from '../markdown/render-text'
import { insertUses } from '../media/queries'
import { isRunningSql } from '../rules/waiting-sql'
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

interface NewMessage {
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
  const { columns, images } = renderText('messages', { id, content })
  return [
    write(
      orm.insert(directMessages).values({
        id,
        conversationId,
        authorId: from,
        content,
        needsHuman,
        createdAt: now,
        ...columns,
      }),
    ),
    ...insertUses({ id, kind: 'message', authorId: from }, images),
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

interface Reply {
  id: string
  activationId: ActivationId
  agentId: AccountId
  content: string
  now: number
  /** The run had read untrusted text. */
  isUntrusted: boolean
}

/** Inserts the answer into the task's conversation, unless it is closed or the other account blocks. */
const insertReply = prepare((v: Params<Reply & RenderedText>) => {
  const i = alias(inboxItems, 'i')
  const c = alias(conversations, 'c')
  const b = alias(conversationMembers, 'b')
  return write(
    insertSelect(
      directMessages,
      {
        id: v.id,
        conversationId: c.id,
        authorId: v.agentId,
        content: v.content,
        activationId: v.activationId,
        createdAt: v.now,
        html: v.html,
        htmlVersion: v.htmlVersion,
      },
      sql`FROM ${inboxItems} ${i}
        JOIN ${conversations} ${c} ON ${c.id} = ${i.conversationId} AND ${c.status} = 'open'
        WHERE ${i.claimedBy} = ${v.activationId} AND ${i.type} = 'dm' AND ${isRunningSql(v.activationId)}
          AND NOT EXISTS (SELECT 1 FROM ${conversationMembers} ${b}
            WHERE ${b.conversationId} = ${c.id} AND ${b.accountId} <> ${v.agentId} AND ${b.hasBlocked} = 1)
        LIMIT 1
        ON CONFLICT DO NOTHING`,
    ),
  )
})

type SentReply = Omit<Reply, 'content'>

const countReply = prepare((v: Params<SentReply>) => {
  const d = alias(directMessages, 'd')
  const { accountId, conversationId, unread } = conversationMembers
  return write(
    updateSet(
      conversationMembers,
      { lastMessageAt: v.now, unread: sql`iif(${accountId} = ${v.agentId}, 0, ${unread} + 1)` },
      sql`WHERE ${conversationId} = (SELECT ${d.conversationId} FROM ${directMessages} ${d}
          WHERE ${d.id} = ${v.id} AND ${d.activationId} = ${v.activationId})
        AND ${isRunningSql(v.activationId)}`,
    ),
  )
})

const notifyRecipient = prepare((v: Params<SentReply>) => {
  const d = alias(directMessages, 'd')
  const m = alias(conversationMembers, 'm')
  return write(
    insertSelect(
      inboxItems,
      {
        // A reply has one recipient, so that the item can have the id of the message.
        id: v.id,
        accountId: m.accountId,
        type: 'dm',
        fromAccountId: v.agentId,
        content: sql`substr(${d.content}, 1, ${limits.directMessage.previewChars})`,
        createdAt: v.now,
        activationId: v.activationId,
        conversationId: d.conversationId,
        isUntrusted: v.isUntrusted,
      },
      sql`FROM ${directMessages} ${d}
        JOIN ${conversationMembers} ${m}
          ON ${m.conversationId} = ${d.conversationId} AND ${m.accountId} <> ${v.agentId}
        WHERE ${d.id} = ${v.id} AND ${d.activationId} = ${v.activationId} AND ${isRunningSql(v.activationId)}
        ON CONFLICT DO NOTHING`,
    ),
  )
})

/**
 * Returns the statements of a commit that send an agent's answer as a direct message. They change
 * nothing for other tasks.
 */
export function insertReplyStatements(
  { activationId, agentId, now, hasReadUntrusted: isUntrusted }: CommitRequest,
  { id, content }: NonNullable<CommitRequest['reply']>,
): Statement<void>[] {
  const sent = { id, activationId, agentId, now, isUntrusted }
  const { columns, images } = renderText('messages', { id, content })
  return [
    insertReply({ ...sent, content, ...columns }),
    ...insertUses({ id, kind: 'message', authorId: agentId }, images),
    countReply(sent),
    notifyRecipient(sent),
  ]
}

import { type SQL, type SQLWrapper, sql } from 'drizzle-orm'
import { alias } from 'drizzle-orm/sqlite-core'
import { limits } from '../../shared/config'
import { type Params, prepare, type Statement, write } from '../../shared/db/statement'
import { insertSelect, updateSet } from '../../shared/db/write-sql'
import type { AccountId, ActivationId } from '../../shared/ids'
import type { CommitRequest } from '../contract/hub'
import { type RenderedText, renderText } from '../markdown/render-text'
import { activations } from '../schema/activations'
import { conversationMembers, conversations, directMessages } from '../schema/dms'
import { inboxItems } from '../schema/inbox'

interface Reply {
  id: string
  activationId: ActivationId
  agentId: AccountId
  content: string
  now: number
  /** The run had read untrusted text. */
  isUntrusted: boolean
}

const isRunning = (activationId: SQLWrapper): SQL =>
  sql`EXISTS (SELECT 1 FROM ${activations} WHERE ${activations.id} = ${activationId} AND ${activations.state} = 'running')`

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
        WHERE ${i.claimedBy} = ${v.activationId} AND ${i.type} = 'dm' AND ${isRunning(v.activationId)}
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
        AND ${isRunning(v.activationId)}`,
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
        WHERE ${d.id} = ${v.id} AND ${d.activationId} = ${v.activationId} AND ${isRunning(v.activationId)}
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
  return [
    insertReply({ ...sent, content, ...renderText('messages', { id, content }).columns }),
    countReply(sent),
    notifyRecipient(sent),
  ]
}

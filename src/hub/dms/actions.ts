import * as z from 'zod'
import { limits } from '../../config'
import { AppError, notFound } from '../../errors'
import type { ConversationId, InboxItemId } from '../../ids'
import type { ActionContext } from '../action-context'
import type { Actor } from '../contract'
import { type Done, type OnceKey, replayIfRefused, runOnce } from '../idempotency/run-once'
import { armSweep, wakeAll } from '../inbox/deliver'
import { refuseCredentials } from '../posts/credential-shapes'
import { type ConversationStatus, type PeerRow, selectPeerByName, selectPeerIn } from './queries'
import { insertConversation, insertMessage, updateBlock, updateStatus } from './write-queries'

export const messageText = z.string().trim().min(1).max(limits.directMessage.contentCharsMax)

export interface SentMessage {
  id: string
  conversationId: ConversationId
  /** `pending`: the other one has to agree before there can be more. */
  status: ConversationStatus
  to: string
  content: string
  createdAt: number
}

interface Words {
  message: string
  needsHuman?: boolean
}

/**
 * Writes to somebody by name. The first message to a person or to an agent from elsewhere is a request,
 * which they approve or decline; an agent of this hub that answers messages takes them at once.
 *
 * @throws NOT_FOUND, FORBIDDEN for who does not want it, CONFLICT while a request waits
 */
export async function writeTo(
  context: ActionContext,
  actor: Actor,
  to: string,
  words: Words,
): Promise<Done<SentMessage>> {
  const name = to.replace(/^@/, '')
  const once = composeOnce(actor, 'dms.write', { to: name, ...words })
  return replayIfRefused(context.db, once, async () => {
    const peer = await selectPeerByName(context.db, actor.accountId, name).first<PeerRow>()
    if (!peer) throw notFound('account')
    return deliver(context, actor, peer, words, once)
  })
}

/** Writes in a conversation; in one that the other one asked for this approves it. */
export async function writeIn(
  context: ActionContext,
  actor: Actor,
  conversationId: string,
  words: Words,
): Promise<Done<SentMessage>> {
  const once = composeOnce(actor, 'dms.write', { conversationId, ...words })
  return replayIfRefused(context.db, once, async () =>
    deliver(context, actor, await findPeer(context, actor, conversationId), words, once),
  )
}

const composeOnce = (
  { accountId, idempotencyKey: key }: Actor,
  action: string,
  input: unknown,
): OnceKey => ({ accountId, key, action, input })

async function findPeer({ db }: ActionContext, actor: Actor, id: string): Promise<PeerRow> {
  const peer = await selectPeerIn(db, actor.accountId, id).first<PeerRow>()
  if (!peer) throw notFound('conversation')
  return peer
}

async function deliver(
  context: ActionContext,
  actor: Actor,
  peer: PeerRow,
  { message: content, needsHuman = false }: Words,
  once: OnceKey,
): Promise<Done<SentMessage>> {
  const { db, clock, settings } = context
  const from = actor.accountId
  refuseCredentials({ message: content }, settings.ROOKERY_KEY_PREFIX)
  refuse(peer, actor)
  const now = clock.now()
  const status: ConversationStatus = peer.conversationId || peer.isHosted ? 'open' : 'pending'
  const id = peer.conversationId ?? clock.newId<ConversationId>()
  const answer: SentMessage = {
    ...{ id: clock.newId(), conversationId: id, status, to: peer.name, content, createdAt: now },
  }
  // Only people's words wake an agent here: two agents would wake one another for ever (H11).
  const isTask = peer.answersDms === 1 && actor.kind === 'human'
  const statements = [
    ...(peer.conversationId
      ? [updateStatus(db, id, 'open')]
      : insertConversation(db, { id, from, to: peer.id, status, now })),
    ...insertMessage(db, {
      ...{ id: answer.id, conversationId: id, from, to: peer.id, content, needsHuman, isTask, now },
      itemId: clock.newId<InboxItemId>(),
      told: isTask ? content : content.slice(0, limits.directMessage.previewChars),
    }),
  ]
  const token = isTask ? await armSweep(context) : null
  const work = { now, answer, statements }
  const done = await runOnce(db, once, work).catch(sayBegun)
  if (isTask) context.defer(wakeAll(context, [{ accountId: peer.id }], token))
  return done
}

/** Why a message cannot be sent. Who was declined and who was blocked hear the same. */
function refuse(peer: PeerRow, { accountId }: Actor): void {
  const { name, status, startedBy } = peer
  if (peer.id === accountId) throw new AppError('VALIDATION', 'Nobody writes to themselves.')
  const isClosed = peer.kind === 'system' || peer.isImported || (peer.isHosted && !peer.answersDms)
  if (isClosed) throw new AppError('FORBIDDEN', `${name} takes no direct messages.`)
  if (peer.isBlocked) {
    const hint = 'Unblock them first.'
    throw new AppError('FORBIDDEN', `You have blocked ${name}.`, { hint })
  }
  if (peer.blocksMe || (status === 'rejected' && startedBy === accountId)) {
    throw new AppError('FORBIDDEN', `${name} takes no messages from you.`)
  }
  if (status === 'pending' && startedBy === accountId) {
    const hint = 'You can write more once they have approved it.'
    throw new AppError('CONFLICT', `${name} has not answered your request yet.`, { hint })
  }
}

function sayBegun(error: unknown): never {
  if (!String(error).includes('conversations.pair')) throw error
  throw new AppError('CONFLICT', 'They have just written to you.', {
    hint: 'Send it again.',
    cause: error,
  })
}

export type Decision = 'approve' | 'reject' | 'block' | 'unblock'

/**
 * Answers a request, or ends and resumes what one hears of somebody.
 *
 * @throws NOT_FOUND, CONFLICT for a request that is not one (any more), FORBIDDEN for one's own
 */
export async function decide(
  context: ActionContext,
  actor: Actor,
  conversationId: string,
  decision: Decision,
  isBlocking = false,
): Promise<Done<ConversationStatus>> {
  const { db, clock } = context
  const once = composeOnce(actor, 'dms.decide', { conversationId, decision, isBlocking })
  return replayIfRefused(db, once, async () => {
    const peer = await findPeer(context, actor, conversationId)
    const answer = follow(peer, actor, decision)
    const id = conversationId as ConversationId
    const block = (hasBlocked: boolean) => updateBlock(db, id, actor.accountId, hasBlocked)
    const statements = {
      approve: () => [updateStatus(db, id, 'open')],
      reject: () => [updateStatus(db, id, 'rejected'), block(isBlocking)],
      block: () => [block(true)],
      unblock: () => [block(false)],
    }
    return runOnce(db, once, { now: clock.now(), answer, statements: statements[decision]() })
  })
}

/** What becomes of a conversation. @throws CONFLICT, FORBIDDEN */
function follow(peer: PeerRow, { accountId }: Actor, decision: Decision): ConversationStatus {
  const status = peer.status ?? 'pending'
  if (decision === 'block' || decision === 'unblock') return status
  if (peer.startedBy === accountId) {
    throw new AppError('FORBIDDEN', 'Only who was asked can answer a request.')
  }
  if (status === 'open' && decision === 'reject') {
    const hint = 'Block the conversation to hear no more of it.'
    throw new AppError('CONFLICT', 'This request was approved before.', { hint })
  }
  return decision === 'approve' ? 'open' : 'rejected'
}

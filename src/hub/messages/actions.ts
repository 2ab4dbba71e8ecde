import * as z from 'zod'
import { limits } from '../../shared/config'
import { cutText } from '../../shared/cut-text'
import { type Answers, batch } from '../../shared/db/batch'
import { AppError, notFound } from '../../shared/errors'
import type { ConversationId, InboxItemId } from '../../shared/ids'
import { knownFields } from '../../shared/known-fields'
import { describeImages } from '../../shared/markdown/describe-images'
import { shownText } from '../../shared/texts'
import type { Actor } from '../contract/hub'
import type { ActionContext } from '../database/action-context'
import {
  type IdempotentRequest,
  type IdempotentResult,
  runOnce,
  runOrReturnStored,
} from '../database/run-once'
import { deferPushes } from '../inbox/push-actions'
import { queuePushes } from '../inbox/push-queries'
import { armSweep, wakeAgents } from '../inbox/wake'
import { queueNotifications } from '../mail/queue-queries'
import { deferMail } from '../mail/send-actions'
import { assertNoCredentials } from '../rules/credential-patterns'
import { presentPerson } from '../rules/people'
import type { PersonAnswer } from '../rules/people-sql'
import { actorReader, type Reader } from '../viewers/reader'
import { type ConversationStatus, type PeerPlace, type PeerRow, selectPeer } from './queries'
import { insertConversation, insertMessage, updateBlock, updateStatus } from './write-queries'

/** Errors of direct messages, as users read them. */
export const dmErrors = {
  unknownAccount: () => notFound('account'),
  unknownConversation: () => notFound('conversation'),
  unknownConversationPage: () => notFound('conversation', 'The page /dm lists your conversations.'),
  signInRequired: () => new AppError('UNAUTHORIZED', 'Sign in to see your messages.'),
  toYourself: () => new AppError('VALIDATION', "You can't send a message to yourself."),
  closed: (name: string) => new AppError('FORBIDDEN', `${name} does not accept direct messages.`),
  blockedByYou: (name: string) =>
    new AppError('FORBIDDEN', `You blocked ${name}.`, {
      hint: `Unblock ${name} to send messages.`,
    }),
  /** The same for a declined request and for a block, so that the sender cannot distinguish them. */
  notAccepted: (name: string) =>
    new AppError('FORBIDDEN', `${name} does not accept messages from you.`),
  requestPending: (name: string) =>
    new AppError('CONFLICT', `Your message request to ${name} is pending.`, {
      hint: `You can send more messages once ${name} approves the request.`,
    }),
  startedMeanwhile: (cause: unknown) =>
    new AppError('CONFLICT', 'This account started a conversation with you at the same time.', {
      hint: 'Send your message again.',
      cause,
    }),
  notRecipient: () =>
    new AppError('FORBIDDEN', 'Only the recipient can approve or decline a message request.'),
  alreadyApproved: () =>
    new AppError('CONFLICT', 'This message request is already approved.', {
      hint: 'Block the conversation to stop its messages.',
    }),
}

export const messageText = shownText.max(limits.directMessage.contentCharsMax)

/** A message to an account by name. */
export const firstMessageInput = knownFields({
  to: z.string().min(1).max(100).describe('Name of an account.'),
  content: messageText,
})

/** A message in a conversation. */
export const messageInput = knownFields({
  content: messageText,
  needs_human_input: z.boolean().default(false),
})

export interface SentMessage {
  id: string
  conversationId: ConversationId
  /** `pending`: the recipient has to approve the request before more messages can be sent. */
  status: ConversationStatus
  to: PersonAnswer
  content: string
  createdAt: number
}

interface MessageInput {
  content: string
  needsHuman?: boolean
}

const toName = (to: string): string => to.replace(/^@/, '')

const peerReads = (place: PeerPlace, reader: Reader) => ({ peer: selectPeer(place, reader) })

/** What `sendToAccount` reads, for a request together with its viewer. */
export const recipientReads = (to: string, reader: Reader) =>
  peerReads({ name: toName(to) }, reader)

/** What `sendInConversation` and `decideConversation` read, for a request together with its viewer. */
export const conversationReads = (conversationId: string, reader: Reader) =>
  peerReads({ conversationId }, reader)

/** Answers of `recipientReads` or `conversationReads`. */
type PeerRead = Answers<ReturnType<typeof peerReads>>

/**
 * Sends a message to an account by name. Between members, who are people and no guests, and to a hosted agent
 * that answers messages it needs no request. The first message of any other kind is one, which the recipient approves or declines.
 *
 * @param read the answers of `recipientReads` where they are known; read unless given
 * @throws NOT_FOUND, FORBIDDEN for a recipient who does not accept it, CONFLICT while a request is
 *   pending
 */
export async function sendToAccount(
  context: ActionContext,
  actor: Actor,
  to: string,
  input: MessageInput,
  read?: PeerRead,
): Promise<IdempotentResult<SentMessage>> {
  const name = toName(to)
  const once = composeOnce(actor, 'dms.write', { to: name, ...input })
  return runOrReturnStored(context.db, once, async () => {
    const { peer } = read ?? (await batch(context.db, recipientReads(to, actorReader(actor))))
    if (!peer) throw dmErrors.unknownAccount()
    return deliver(context, actor, peer, input, once)
  })
}

/**
 * Sends a message in a conversation; a reply to a message request approves the request.
 *
 * @param read the answers of `conversationReads`
 */
export async function sendInConversation(
  context: ActionContext,
  actor: Actor,
  { conversationId, ...input }: MessageInput & { conversationId: string },
  read: PeerRead,
): Promise<IdempotentResult<SentMessage>> {
  const once = composeOnce(actor, 'dms.write', { conversationId, ...input })
  return runOrReturnStored(context.db, once, async () =>
    deliver(context, actor, requirePeer(read), input, once),
  )
}

const composeOnce = (
  { accountId, idempotencyKey: key }: Actor,
  action: string,
  input: unknown,
): IdempotentRequest => ({ accountId, key, action, input })

function requirePeer({ peer }: PeerRead): PeerRow {
  if (!peer) throw dmErrors.unknownConversation()
  return peer
}

async function deliver(
  context: ActionContext,
  actor: Actor,
  peer: PeerRow,
  { content, needsHuman = false }: MessageInput,
  once: IdempotentRequest,
): Promise<IdempotentResult<SentMessage>> {
  const { db, clock, settings } = context
  const from = actor.accountId
  assertNoCredentials({ content }, settings)
  assertCanSend(peer, actor)
  const now = clock.now()
  const isOpen = peer.conversationId || peer.isHosted || peer.isBetweenMembers
  const status: ConversationStatus = isOpen ? 'open' : 'pending'
  const id = peer.conversationId ?? clock.newId<ConversationId>()
  const answer: SentMessage = {
    id: clock.newId(),
    conversationId: id,
    status,
    to: presentPerson(peer),
    content,
    createdAt: now,
  }
  // Only messages of people wake an agent: two agents would otherwise wake each other for ever.
  const isTask = peer.answersDms && actor.kind === 'human'
  const itemId = clock.newId<InboxItemId>()
  const statements = {
    conversation: peer.conversationId
      ? [updateStatus(id, 'open')]
      : insertConversation({ id, from, to: peer.id, status, now }),
    message: insertMessage({
      id: answer.id,
      conversationId: id,
      from,
      to: peer.id,
      content,
      needsHuman,
      isTask,
      isUntrusted: actor.hasReadUntrusted ?? false,
      now,
      itemId,
      inboxText: isTask
        ? describeImages(content)
        : cutText(describeImages(content), limits.directMessage.previewChars),
    }),
    isPushed: queuePushes([itemId], now),
    isMailed: queueNotifications([itemId], now),
  }
  const token = isTask ? await armSweep(context) : null
  const done = await runOnce(db, once, {
    now,
    answer,
    statements,
    constraints: { 'conversations.pair': dmErrors.startedMeanwhile },
  })
  if (isTask) context.defer(wakeAgents(context, [{ accountId: peer.id }], token))
  deferPushes(context, done.results?.isPushed)
  deferMail(context, done.results?.isMailed)
  return done
}

/** Checks that a message can be sent. @throws VALIDATION, FORBIDDEN, CONFLICT */
function assertCanSend(peer: PeerRow, { accountId }: Actor): void {
  const { name, status, startedBy, isBetweenMembers } = peer
  if (peer.id === accountId) throw dmErrors.toYourself()
  const isClosed = peer.kind === 'system' || peer.isImported || (peer.isHosted && !peer.answersDms)
  if (isClosed) throw dmErrors.closed(name)
  if (peer.isBlocked) throw dmErrors.blockedByYou(name)
  if (peer.blocksMe || (status === 'rejected' && startedBy === accountId)) {
    throw dmErrors.notAccepted(name)
  }
  // A request of a guest who has become a member waits for nobody.
  const isWaiting = status === 'pending' && !isBetweenMembers
  if (isWaiting && startedBy === accountId) throw dmErrors.requestPending(name)
}

export type Decision = 'approve' | 'reject' | 'block' | 'unblock'

/**
 * Approves or declines a message request, or blocks or unblocks a conversation.
 *
 * @param read the answers of `conversationReads`
 * @throws NOT_FOUND, CONFLICT for declining an approved request, FORBIDDEN for one's own request
 */
export async function decideConversation(
  context: ActionContext,
  actor: Actor,
  of: { conversationId: string; decision: Decision; isBlocking: boolean },
  read: PeerRead,
): Promise<IdempotentResult<ConversationStatus>> {
  const { db, clock } = context
  const { conversationId, decision, isBlocking } = of
  const once = composeOnce(actor, 'dms.decide', { conversationId, decision, isBlocking })
  return runOrReturnStored(db, once, async () => {
    const peer = requirePeer(read)
    const answer = computeNextStatus(peer, actor, decision)
    const id = conversationId as ConversationId
    const block = (hasBlocked: boolean) => updateBlock(id, actor.accountId, hasBlocked)
    const writes = {
      approve: [updateStatus(id, 'open')],
      reject: [updateStatus(id, 'rejected'), block(isBlocking)],
      block: [block(true)],
      unblock: [block(false)],
    }[decision]
    return runOnce(db, once, { now: clock.now(), answer, statements: { writes } })
  })
}

/** Returns the status of a conversation after a decision. @throws CONFLICT, FORBIDDEN */
function computeNextStatus(
  peer: PeerRow,
  { accountId }: Actor,
  decision: Decision,
): ConversationStatus {
  const status = peer.status ?? 'pending'
  if (decision === 'block' || decision === 'unblock') return status
  if (peer.startedBy === accountId) throw dmErrors.notRecipient()
  if (status === 'open' && decision === 'reject') throw dmErrors.alreadyApproved()
  return decision === 'approve' ? 'open' : 'rejected'
}

import type { Hono } from 'hono'
import {
  conversationReads,
  type Decision,
  decideConversation,
  firstMessageInput,
  messageInput,
  recipientReads,
  sendInConversation,
  sendToAccount,
} from '../../hub/dms/actions'
import { dmErrors } from '../../hub/dms/errors'
import {
  markReadStatements,
  selectConversation,
  selectConversations,
  selectShownMessages,
} from '../../hub/dms/queries'
import {
  type HubEnv,
  readCredential,
  readReader,
  requireViewer,
  requireViewerWith,
  toActor,
} from '../../hub/http/page-entry'
import { renderAgain } from '../../hub/markdown/render-again'
import type { Credential } from '../../hub/viewers/queries'
import { limits } from '../../shared/config'
import { decodeKeyset, splitPage } from '../../shared/cursor'
import { createForm } from '../form/form-state'
import { readFormWith } from '../form/read-form-with'
import { rejectForm } from '../form/reject-form'
import { readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { selectHostedAgents } from '../posts/page-queries'
import { ConversationPage } from './conversation-page'
import {
  type FirstMessageState,
  firstMessageForm,
  type MessageState,
  messageForm,
} from './message-forms'
import { conversationPath, MessagesPage } from './messages-page'
import { selectPendingReply } from './page-queries'

const pageSize = limits.directMessage.pageDefault

/**
 * Registers `GET /dm` and `/dm/:id`. `POST` to these sends a message; `POST` to `/dm/:id/approve`,
 * `/reject`, `/block` and `/unblock` decides about a conversation.
 */
export function registerMessagePages(app: Hono<HubEnv>): void {
  app.get(
    '/dm',
    page((c) => showList(c, createForm({ to: c.req.query('to') ?? '', content: '' }))),
  )
  app.post('/dm', page(sendFirst))
  app.get(
    '/dm/:id',
    page((c) => showConversation(c, createForm({ content: '' }))),
  )
  app.post('/dm/:id', page(sendNext))
  for (const decision of ['approve', 'reject', 'block', 'unblock'] as const) {
    app.post(
      `/dm/:id/${decision}`,
      page((c) => sendDecision(c, decision)),
    )
  }
}

async function sendFirst(c: PageContext): Promise<Response> {
  const read = readFormWith(firstMessageInput, await readForm(c), firstMessageForm)
  try {
    if (!read.isValid) {
      await requireViewer(c, 'write')
      return showList(c, read.form, 400)
    }
    const { to, content } = read.value
    const reads = recipientReads(to, await readReader(c))
    const { viewer, answers } = await requireViewerWith(c, 'write', reads)
    const actor = await readFormActor(c, viewer)
    const sent = await sendToAccount(c.var.context, actor, to, { content }, answers)
    return c.redirect(`${conversationPath(sent.answer.conversationId)}#say`, 303)
  } catch (error) {
    const { form, status } = rejectForm(firstMessageForm, read.form, error)
    return showList(c, form, status)
  }
}

async function sendNext(c: PageContext): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const read = readFormWith(messageInput, await readForm(c), messageForm)
  try {
    if (!read.isValid) {
      await requireViewer(c, 'write')
      return showConversation(c, read.form, 400)
    }
    const { content } = read.value
    const reads = conversationReads(id, await readReader(c))
    const { viewer, answers } = await requireViewerWith(c, 'write', reads)
    const actor = await readFormActor(c, viewer)
    await sendInConversation(c.var.context, actor, { conversationId: id, content }, answers)
    return c.redirect(`${conversationPath(id)}#say`, 303)
  } catch (error) {
    const { form, status } = rejectForm(messageForm, read.form, error)
    return showConversation(c, form, status)
  }
}

async function sendDecision(c: PageContext, decision: Decision): Promise<Response> {
  const id = c.req.param('id') ?? ''
  const reads = conversationReads(id, await readReader(c))
  const { viewer, answers } = await requireViewerWith(c, 'write', reads)
  const of = { conversationId: id, decision, isBlocking: false }
  await decideConversation(c.var.context, toActor(viewer, null), of, answers)
  return c.redirect(decision === 'reject' ? '/dm' : conversationPath(id), 303)
}

async function requireCredential(c: PageContext): Promise<Credential> {
  const credential = await readCredential(c)
  if (credential) return credential
  throw dmErrors.signInRequired()
}

async function showList(c: PageContext, form: FirstMessageState, status = 200): Promise<Response> {
  const credential = await requireCredential(c)
  const before = decodeKeyset('/dm', c.req.query('cursor'))
  const now = c.var.context.clock.now()
  const { frame, answers } = await readPage(c, {
    rows: selectConversations(credential, now, { list: 'all', before, limit: pageSize + 1 }),
    agents: selectHostedAgents(),
  })
  assertSignedIn(frame)
  const { page: conversations, next } = splitPage(answers.rows, pageSize, '/dm', (row) => [
    row.lastMessageAt,
    row.id,
  ])
  return sendPage(
    c,
    <MessagesPage
      frame={frame}
      conversations={conversations}
      next={next}
      agents={answers.agents}
      form={form}
    />,
    status,
  )
}

async function showConversation(
  c: PageContext,
  form: MessageState,
  status = 200,
): Promise<Response> {
  const credential = await requireCredential(c)
  const conversationId = c.req.param('id') ?? ''
  const now = c.var.context.clock.now()
  const list = conversationPath(conversationId)
  const before = decodeKeyset(list, c.req.query('cursor'))
  const { frame, answers } = await readPage(c, {
    conversation: selectConversation(credential, now, conversationId),
    messages: selectShownMessages(credential, now, { conversationId, before, limit: pageSize + 1 }),
    pendingReply: selectPendingReply(credential, now, conversationId),
    markRead: markReadStatements(credential, now, conversationId),
  })
  assertSignedIn(frame)
  const { conversation, messages, pendingReply } = answers
  if (!conversation) throw dmErrors.unknownConversationPage()
  renderAgain(c.var.context, 'messages', messages)
  const { page: shown, next } = splitPage(messages, pageSize, list, (row) => [
    row.createdAt,
    row.id,
  ])
  return sendPage(
    c,
    <ConversationPage
      frame={frame}
      conversation={conversation}
      messages={shown.reverse()}
      earlier={next}
      pendingReply={pendingReply ?? null}
      form={form}
    />,
    status,
  )
}

function assertSignedIn({ viewer }: { viewer: unknown }): void {
  if (!viewer) throw dmErrors.signInRequired()
}

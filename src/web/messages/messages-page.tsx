import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import {
  type HubEnv,
  readCredential,
  readReader,
  requireViewer,
  requireViewerWith,
  toActor,
} from '../../hub/http/page-entry'
import { renderAgain } from '../../hub/markdown/render-again'
import {
  conversationReads,
  type Decision,
  decideConversation,
  dmErrors,
  firstMessageInput,
  messageInput,
  recipientReads,
  sendInConversation,
  sendToAccount,
} from '../../hub/messages/actions'
import {
  type ConversationRow,
  formatPreview,
  markReadStatements,
  type ShownMessageRow,
  selectConversation,
  selectConversations,
  selectShownMessages,
} from '../../hub/messages/queries'
import type { Credential } from '../../hub/viewers/queries'
import { formatTaskReason } from '../../hub/views/board-view'
import { limits } from '../../shared/config'
import { decodeKeyset, splitPage } from '../../shared/cursor'
import { activationPath } from '../../shared/paths'
import { ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  describeText,
  type FormDefinition,
  type FormState,
  readFormWith,
  rejectForm,
} from '../form/form-state'
import { assetPaths } from '../frame/assets'
import type { Frame } from '../frame/frame'
import { InboxTabs, Layout } from '../frame/layout'
import { FormKey, readForm, readFormActor } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { AddImage } from '../parts/add-image'
import { Formatting } from '../parts/formatting'
import { AccountLink } from '../parts/links'
import { NameList, Pager } from '../parts/lists'
import { Prose } from '../parts/prose'
import { RelativeTime } from '../parts/times'
import { PreviewButton } from '../posts/composer'
import { type HostedAgent, selectHostedAgents } from '../posts/post-queries'
import { type PendingReplyRow, selectPendingReply } from './message-queries'

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
  app.get('/dm/:id', page(showConversation))
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
  form: MessageState = createForm({ content: '' }),
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

interface MessagesPageProps {
  frame: Frame
  /** Most recent first. */
  conversations: ConversationRow[]
  next: string | null
  agents: HostedAgent[]
  /** The form for a new message. */
  form: FirstMessageState
}

const conversationPath = (id: string): string => `/dm/${encodeURIComponent(id)}`

const MessagesPage: FC<MessagesPageProps> = (props) => {
  const { frame, conversations, next } = props
  const requests = conversations.filter(isRequest)
  const others = conversations.filter((row) => !isRequest(row))
  return (
    <Layout frame={frame} title="Messages" place="inbox">
      <h1>Messages</h1>
      <InboxTabs chosen="messages" />
      <div class="up4">
        <NewMessage {...props} />
      </div>
      {requests.length > 0 && (
        <section class="block" aria-labelledby="requests">
          <h2 id="requests">Message requests</h2>
          <Conversations rows={requests} now={frame.now} />
        </section>
      )}
      <section class="block" aria-labelledby="conversations">
        <h2 id="conversations">Conversations</h2>
        {others.length === 0 && (
          <p class="meta up3">No conversations yet. To start one, open New message.</p>
        )}
        <Conversations rows={others} now={frame.now} />
      </section>
      <Pager href={next === null ? null : `/dm?cursor=${next}`}>Older conversations</Pager>
      <NameList names={props.agents} />
    </Layout>
  )
}

const isRequest = ({ status, isStartedByMe }: ConversationRow): boolean =>
  status === 'pending' && !isStartedByMe

const NewMessage: FC<MessagesPageProps> = ({ form }) => (
  <details class="block" open={form.typed.to !== '' || form.problem !== null}>
    <summary>New message</summary>
    <FirstMessageForm form={form} />
  </details>
)

export const FirstMessageForm: FC<{ form: FirstMessageState }> = ({ form }) => (
  <>
    <ErrorSummary problem={form.problem} />
    <form class="form up2" method="post" action="/dm" data-preview={assetPaths().preview}>
      <FormKey />
      <Field
        form={form}
        name="to"
        label="To"
        isBare
        required
        maxlength={limits.account.nameCharsMax + 1}
        placeholder="name"
        autocomplete="off"
        list="names"
      />
      <Field
        form={form}
        as="textarea"
        name="content"
        label="Message"
        isBare
        rows={3}
        required
        maxlength={limits.directMessage.contentCharsMax}
        data-draft="message"
      />
      <p class="meta">
        Members and agents on this hub get your message right away. Guests and external agents get a
        message request first.
      </p>
      <div class="acts">
        <Submit isMain>Send</Submit>
        <PreviewButton />
        <AddImage />
      </div>
      <Formatting />
    </form>
  </>
)

const Conversations: FC<{ rows: ConversationRow[]; now: number }> = ({ rows, now }) => (
  <ul class="list tall">
    {rows.map((row) => (
      <li class={row.unread > 0 ? 'unread' : undefined} data-row>
        <div class="by">
          <AccountLink name={row.otherName} kind={row.otherKind} avatarId={row.otherAvatarId} />
          {row.unread > 0 && <span>{row.unread} unread</span>}
          {formatClosedReason(row) && <span>{formatClosedReason(row)}</span>}
          <RelativeTime at={row.lastMessageAt} now={now} />
        </div>
        <p>
          <a class="plain" href={`${conversationPath(row.id)}#say`}>
            {row.isLastMine && 'You: '}
            {formatPreview(row.lastContent ?? '')}
          </a>
        </p>
      </li>
    ))}
  </ul>
)

/** Formats the reason why the viewer cannot send messages; null when nothing prevents it. */
function formatClosedReason({ status, isStartedByMe, isBlocked }: ConversationRow): string | null {
  if (isBlocked) return 'blocked by you'
  if (status === 'open' || !isStartedByMe) return null
  return status === 'pending' ? 'request pending' : 'request declined'
}

interface ConversationPageProps {
  frame: Frame
  conversation: ConversationRow
  /** Oldest first. */
  messages: ShownMessageRow[]
  earlier: string | null
  pendingReply: PendingReplyRow | null
  form: MessageState
}

const ConversationPage: FC<ConversationPageProps> = (props) => {
  const { frame, conversation, messages, earlier, pendingReply: answering } = props
  const known = new Set([conversation.otherName.toLowerCase()])
  const path = conversationPath(conversation.id)
  return (
    <Layout
      frame={frame}
      title={`Messages with ${conversation.otherName}`}
      place="inbox"
      scripts={['follow']}
    >
      <InboxTabs chosen="messages" />
      <div class="row up4">
        <h1>
          <AccountLink
            name={conversation.otherName}
            kind={conversation.otherKind}
            avatarId={conversation.otherAvatarId}
          />
        </h1>
        <Block conversation={conversation} />
      </div>
      {earlier !== null && (
        <p class="pager">
          <a href={`${path}?cursor=${earlier}`}>Earlier messages</a>
        </p>
      )}
      <section class="tree" aria-label="Messages">
        {messages.map((message) => (
          <Message message={message} known={known} now={frame.now} />
        ))}
      </section>
      {answering && <PendingReply of={answering} />}
      <div class="up5" id="say" data-keep="say">
        <MessageComposer {...props} />
      </div>
    </Layout>
  )
}

const Message: FC<{ message: ShownMessageRow; known: ReadonlySet<string>; now: number }> = (
  props,
) => {
  const { message, known, now } = props
  return (
    <article class="reply" id={`m-${message.id}`} data-row>
      <div class="by">
        <AccountLink
          name={message.authorName}
          kind={message.authorKind}
          avatarId={message.authorAvatarId}
          size="l"
        />
        <RelativeTime at={message.createdAt} now={now} />
        {message.needsHuman && <span>needs human input</span>}
      </div>
      <Prose of={message} knownNames={known} />
      {message.activationId && (
        <div class="prov">
          <a href={activationPath(message.activationId)}>View run</a>
        </div>
      )}
    </article>
  )
}

const formatProgress = ({ isParked, awaitsProvider }: PendingReplyProgress): string => {
  if (awaitsProvider) return 'is waiting for its model provider, which is down'
  return isParked ? 'is waiting for approval' : 'is working on an answer'
}

type PendingReplyProgress = Pick<PendingReplyRow, 'isParked' | 'awaitsProvider'>

/** Shows that an agent is working on a reply. The script reloads the page until the reply arrives. */
const PendingReply: FC<{ of: PendingReplyRow }> = ({ of: { agentName, activationId, ...of } }) => {
  if (of.hold !== null && activationId === null) {
    const reason =
      of.hold === 'paused'
        ? `${agentName} is paused. It answers when an admin resumes it.`
        : formatTaskReason(of.hold, agentName)
    return <p class="meta up4">{reason}</p>
  }
  return (
    <section
      class="live"
      data-running
      data-view="thread"
      data-seq="0"
      aria-label="Now"
      {...(activationId !== null && { 'data-activation': activationId })}
    >
      <p class="do" data-name={agentName}>
        {agentName} {formatProgress(of)}
      </p>
      <div data-text hidden>
        <p class="words" />
      </div>
      <noscript>
        <p class="meta up3">Reload the page to see the answer.</p>
      </noscript>
    </section>
  )
}

const ActionButton: FC<{ id: string; act: string; label: string; isMain?: boolean }> = (props) => (
  <form method="post" action={`${conversationPath(props.id)}/${props.act}`}>
    <Submit isMain={props.isMain}>{props.label}</Submit>
  </form>
)

const Block: FC<{ conversation: ConversationRow }> = ({ conversation: { id, isBlocked } }) => (
  <div class="acts">
    {isBlocked ? (
      <ActionButton id={id} act="unblock" label="Unblock" />
    ) : (
      <ActionButton id={id} act="block" label="Block" />
    )}
  </div>
)

/** The message form, with a request's buttons above it, or the reason why there is no form. */
export const MessageComposer: FC<Pick<ConversationPageProps, 'conversation' | 'form'>> = ({
  conversation,
  form,
}) => {
  const { id, otherName, otherKind, status, isStartedByMe } = conversation
  const closedReason = formatClosedReason(conversation)
  if (closedReason) {
    return (
      <>
        <ErrorSummary problem={form.problem} />
        <p class="meta">You can't send messages here: {closedReason}.</p>
      </>
    )
  }
  return (
    <>
      {status === 'pending' && !isStartedByMe && (
        <div class="acts">
          <ActionButton id={id} act="approve" label={`Approve request of ${otherName}`} isMain />
          <ActionButton id={id} act="reject" label="Decline" />
        </div>
      )}
      <ErrorSummary problem={form.problem} />
      <form
        class="say up3"
        method="post"
        action={conversationPath(id)}
        data-preview={assetPaths().preview}
      >
        <FormKey />
        <input type="hidden" name="conversation" value={id} />
        <Field
          form={form}
          as="textarea"
          name="content"
          label={`Message to ${otherName}`}
          isLabelHidden
          isBare
          rows={3}
          required
          maxlength={limits.directMessage.contentCharsMax}
          placeholder={`Message ${otherName}`}
          data-compose
          data-draft={`dm-${id}`}
        />
        <div class="bar">
          <span class="meta">
            {otherKind === 'agent'
              ? 'Admins can read messages to agents.'
              : 'Messages do not appear in threads.'}
          </span>
          <Formatting />
          <AddImage />
          <Submit isMain>Send</Submit>
          <PreviewButton />
        </div>
      </form>
    </>
  )
}

type FirstMessageField = 'to' | 'content'
type FirstMessageState = FormState<FirstMessageField>
type MessageState = FormState<'content'>

const rejected = 'The message was not sent.'
const content = { message: describeText('The message', limits.directMessage.contentCharsMax) }

/** The form of a message to an account by name. */
const firstMessageForm: FormDefinition<FirstMessageField> = {
  rejected,
  fields: {
    to: { parse: (text) => text.trim(), message: 'Enter the name of an account.' },
    content,
  },
}

/** The form of a message in a conversation. */
const messageForm: FormDefinition<'content'> = { rejected, fields: { content } }

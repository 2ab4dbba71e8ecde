import type { FC } from 'hono/jsx'
import type { ConversationRow, ShownMessageRow } from '../../hub/dms/queries'
import { formatTaskReason } from '../../hub/scheduler/scheduler-labels'
import { limits } from '../../shared/config'
import { activationPath } from '../../shared/paths'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import { FormKey } from '../frame/form-key'
import type { Frame } from '../frame/frame'
import { InboxTabs } from '../frame/inbox-tabs'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { Prose } from '../parts/prose'
import { RelativeTime } from '../parts/relative-time'
import type { MessageState } from './message-forms'
import { conversationPath, formatClosedReason } from './messages-page'
import type { PendingReplyRow } from './page-queries'

export interface ConversationPageProps {
  frame: Frame
  conversation: ConversationRow
  /** Oldest first. */
  messages: ShownMessageRow[]
  earlier: string | null
  pendingReply: PendingReplyRow | null
  form: MessageState
}

export const ConversationPage: FC<ConversationPageProps> = (props) => {
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
          <AccountLink name={conversation.otherName} kind={conversation.otherKind} />
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
        <Composer {...props} />
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
        <AccountLink name={message.authorName} kind={message.authorKind} />
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
    <button type="submit" class={props.isMain ? 'btn go' : 'btn'}>
      {props.label}
    </button>
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
const Composer: FC<ConversationPageProps> = ({ conversation, form }) => {
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
      <form class="say up3" method="post" action={conversationPath(id)}>
        <FormKey />
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
              ? 'Markdown is supported. Admins can read messages to agents.'
              : 'Markdown is supported. Messages do not appear in threads.'}
          </span>
          <button class="btn go" type="submit">
            Send
          </button>
        </div>
      </form>
    </>
  )
}

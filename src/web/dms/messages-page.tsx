import type { FC } from 'hono/jsx'
import { formatPreview } from '../../hub/dms/present'
import type { ConversationRow } from '../../hub/dms/queries'
import { limits } from '../../shared/config'
import { ErrorSummary } from '../form/error-summary'
import { Field } from '../form/field'
import { FormKey } from '../frame/form-key'
import type { Frame } from '../frame/frame'
import { InboxTabs } from '../frame/inbox-tabs'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { NameList } from '../parts/name-list'
import { Pager } from '../parts/pager'
import { RelativeTime } from '../parts/relative-time'
import type { HostedAgent } from '../posts/page-queries'
import type { FirstMessageState } from './message-forms'

export interface MessagesPageProps {
  frame: Frame
  /** Most recent first. */
  conversations: ConversationRow[]
  next: string | null
  agents: HostedAgent[]
  /** The form for a new message. */
  form: FirstMessageState
}

export const conversationPath = (id: string): string => `/dm/${encodeURIComponent(id)}`

export const MessagesPage: FC<MessagesPageProps> = (props) => {
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
    <ErrorSummary problem={form.problem} />
    <form class="form up2" method="post" action="/dm">
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
        Agents on this hub answer right away. Other accounts get a message request first.
      </p>
      <div class="acts">
        <button type="submit" class="btn go">
          Send
        </button>
      </div>
    </form>
  </details>
)

const Conversations: FC<{ rows: ConversationRow[]; now: number }> = ({ rows, now }) => (
  <ul class="list tall">
    {rows.map((row) => (
      <li class={row.unread > 0 ? 'unread' : undefined} data-row>
        <div class="by">
          <AccountLink name={row.otherName} kind={row.otherKind} />
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
export function formatClosedReason({
  status,
  isStartedByMe,
  isBlocked,
}: ConversationRow): string | null {
  if (isBlocked) return 'blocked by you'
  if (status === 'open' || !isStartedByMe) return null
  return status === 'pending' ? 'request pending' : 'request declined'
}

import type { FC } from 'hono/jsx'
import { escapeInvisible } from '../../hub/approvals/format-arguments'
import type { InboxRow } from '../../hub/inbox/queries'
import { commentPath, postPath } from '../../shared/paths'
import type { Frame } from '../frame/frame'
import { InboxTabs } from '../frame/inbox-tabs'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { excerpt } from '../parts/markdown'
import { Pager } from '../parts/pager'
import { RelativeTime } from '../parts/relative-time'

export interface InboxPageProps {
  frame: Frame
  items: InboxRow[]
  next: string | null
}

const typeLabels: Record<InboxRow['type'], string> = {
  mention: 'mentioned you',
  reply: 'replied to you',
  comment: 'replied to your post',
  dm: 'sent you a message',
  follow: 'followed you',
  vote: 'New votes on',
  thread_update: 'replied in a thread you watch',
  approval_request: 'requests your approval',
  approval_decision: 'decided an approval request',
  system: 'sent a notice',
  task: 'assigned you a task',
}

/** Shows a page of the viewer's inbox, newest first. */
export const InboxPage: FC<InboxPageProps> = ({ frame, items, next }) => (
  <Layout frame={frame} title="Inbox" place="inbox">
    <div class="head">
      <div>
        <h1>Inbox</h1>
        <p class="lede">
          {frame.viewer && frame.viewer.unreadCount > 0
            ? `${frame.viewer.unreadCount} unread`
            : 'No unread items.'}
        </p>
      </div>
      {frame.viewer && frame.viewer.unreadCount > 0 && (
        <form class="acts" method="post" action="/inbox/read">
          <button class="btn" type="submit">
            Mark all as read
          </button>
        </form>
      )}
    </div>
    <InboxTabs chosen="inbox" />
    {items.length === 0 && (
      <div class="empty">
        <p>
          <strong>Your inbox is empty.</strong>
          Replies to you and mentions of @{frame.viewer?.name} appear here.
        </p>
      </div>
    )}
    <ul class="list tall">
      {items.map((item) => (
        <li class={item.readAt === null ? 'unread' : undefined} data-row>
          <Item item={item} now={frame.now} />
        </li>
      ))}
    </ul>
    <Pager href={next === null ? null : `/inbox?cursor=${next}`}>Older items</Pager>
  </Layout>
)

const Item: FC<{ item: InboxRow; now: number }> = ({ item, now }) => (
  <>
    <div class="by">
      {item.fromName && item.fromKind && <AccountLink name={item.fromName} kind={item.fromKind} />}
      <span>{typeLabels[item.type] ?? item.type}</span>
      {item.postId && (
        <a
          class="ul"
          href={item.commentId ? commentPath(item.postId, item.commentId) : postPath(item.postId)}
        >
          <bdi>{item.postTitle ?? 'a post'}</bdi>
        </a>
      )}
      {item.conversationId && (
        <a class="ul" href={`/dm/${encodeURIComponent(item.conversationId)}#say`}>
          Open
        </a>
      )}
      {item.type === 'approval_request' && (
        <a class="ul" href="/approvals">
          Decide
        </a>
      )}
      <RelativeTime at={item.createdAt} now={now} />
      {item.readAt === null && <span class="vh">unread</span>}
    </div>
    {item.content && <p>{formatContent(item)}</p>}
  </>
)

/** Returns the content as shown: arguments of a call in full, other texts shortened to 240 characters. */
const formatContent = ({ type, content }: InboxRow): string =>
  type === 'approval_request' ? escapeInvisible(content) : excerpt(content, 240)

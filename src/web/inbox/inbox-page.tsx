import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { statusLabels } from '../../hub/approvals/actions'
import { escapeInvisible } from '../../hub/approvals/arguments'
import { type HubEnv, readCredential, requireViewer } from '../../hub/http/page-entry'
import { type InboxRow, markAllItemsRead, selectOwnItems } from '../../hub/inbox/queries'
import { decodeKeyset, splitPage } from '../../shared/cursor'
import { run } from '../../shared/db/batch'
import { AppError } from '../../shared/errors'
import { activationPath, commentPath, postPath } from '../../shared/paths'
import { Submit } from '../form/fields'
import type { Frame } from '../frame/frame'
import { InboxTabs, Layout } from '../frame/layout'
import { page, readPage, sendPage } from '../frame/send-page'
import { AccountLink, TextLink } from '../parts/links'
import { Pager } from '../parts/lists'
import { excerpt } from '../parts/prose'
import { RelativeTime } from '../parts/times'

const itemsPerPage = 50

/** Registers `GET /inbox`, and `POST /inbox/read`, which marks all items as read. */
export function registerInboxPages(app: Hono<HubEnv>): void {
  app.get(
    '/inbox',
    page(async (c) => {
      const { clock } = c.var.context
      const credential = await readCredential(c)
      if (!credential) throw signInRequired()
      const before = decodeKeyset('/inbox', c.req.query('cursor'))
      const { frame, answers } = await readPage(c, {
        items: selectOwnItems(credential, clock.now(), {
          isUnread: false,
          before,
          limit: itemsPerPage + 1,
        }),
      })
      if (!frame.viewer) throw signInRequired()
      const { page: items, next } = splitPage(answers.items, itemsPerPage, '/inbox', (item) => [
        item.createdAt,
        item.id,
      ])
      return sendPage(c, <InboxPage frame={frame} items={items} next={next} />)
    }),
  )
  app.post(
    '/inbox/read',
    page(async (c) => {
      const viewer = await requireViewer(c, 'write', { isWriting: false })
      const { db, clock } = c.var.context
      await run(db, markAllItemsRead(viewer.id, clock.now()))
      return c.redirect('/inbox', 303)
    }),
  )
}

const signInRequired = (): AppError => new AppError('UNAUTHORIZED', 'Sign in to see your inbox.')

interface InboxPageProps {
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
const InboxPage: FC<InboxPageProps> = ({ frame, items, next }) => (
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
          <Submit>Mark all as read</Submit>
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
      {groupByThread(items).map((group) => (
        <li class={group.some(({ readAt }) => readAt === null) ? 'unread' : undefined} data-row>
          <Group items={group} now={frame.now} />
        </li>
      ))}
    </ul>
    <Pager href={next === null ? null : `/inbox?cursor=${next}`}>Older items</Pager>
  </Layout>
)

/** Groups the items of a page by thread or schedule, in the order of the newest item of each. Other items stand alone. */
function groupByThread(items: InboxRow[]): InboxRow[][] {
  const groups = new Map<string, InboxRow[]>()
  for (const item of items) {
    const key = item.postId ?? toScheduleId(item) ?? item.id
    groups.set(key, [...(groups.get(key) ?? []), item])
  }
  return [...groups.values()]
}

/** Each agent has its own schedules. */
const toScheduleId = ({ from, scheduleKey }: InboxRow): string | null =>
  scheduleKey === null ? null : `${from?.name}: ${scheduleKey}`

/** Items of a thread or schedule that are shown; the others open. */
const itemsShown = 3

const Group: FC<{ items: InboxRow[]; now: number }> = ({ items, now }) => {
  const [newest, ...older] = items
  if (!newest) return null
  const rest = older.slice(itemsShown - 1)
  return (
    <>
      <Item item={newest} now={now} />
      {older.slice(0, itemsShown - 1).map((item) => (
        <Item item={item} now={now} isInThread />
      ))}
      {rest.length > 0 && (
        <details class="up">
          <summary>{rest.length} more</summary>
          {rest.map((item) => (
            <Item item={item} now={now} isInThread />
          ))}
        </details>
      )}
    </>
  )
}

interface ItemProps {
  item: InboxRow
  now: number
  /** Whether a newer item above names the thread. */
  isInThread?: boolean
}

const Item: FC<ItemProps> = ({ item, now, isInThread = false }) => (
  <>
    <div class="by">
      {item.from && (
        <span>
          <AccountLink name={item.from.name} kind={item.from.kind} />
          {item.scheduleKey !== null && ':'}
        </span>
      )}
      <Label item={item} now={now} />
      {item.postId && (
        <TextLink
          href={item.commentId ? commentPath(item.postId, item.commentId) : postPath(item.postId)}
        >
          {isInThread ? 'here' : <bdi>{item.postTitle ?? 'a post'}</bdi>}
        </TextLink>
      )}
      {item.conversationId && (
        <TextLink href={`/dm/${encodeURIComponent(item.conversationId)}#say`}>Open</TextLink>
      )}
      {item.activationId && item.postId === null && item.type === 'reply' && (
        <TextLink href={activationPath(item.activationId)}>Open run</TextLink>
      )}
      <RelativeTime at={item.createdAt} now={now} />
      {item.readAt === null && <span class="vh">unread</span>}
    </div>
    {item.content && <p>{formatContent(item)}</p>}
  </>
)

/** What the item is about; of a request for approval also what was decided, or where to decide. */
const Label: FC<{ item: InboxRow; now: number }> = ({ item, now }) => {
  if (item.scheduleKey !== null) return <span>words of a scheduled task</span>
  if (item.type !== 'approval_request') return <span>{typeLabels[item.type] ?? item.type}</span>
  const status = readStatus(item, now)
  if (status !== 'pending') {
    return (
      <>
        <span>requested your approval</span>
        <strong>{status ? statusLabels[status] : 'requested again'}</strong>
      </>
    )
  }
  return (
    <>
      <span>{typeLabels.approval_request}</span>
      <TextLink href="/approvals">Decide</TextLink>
    </>
  )
}

/** Returns the status of the approval; one whose time has passed has expired before the sweep marks it. */
const readStatus = (
  { approvalStatus, approvalExpiresAt }: InboxRow,
  now: number,
): InboxRow['approvalStatus'] =>
  approvalStatus === 'pending' && (approvalExpiresAt ?? 0) <= now ? 'expired' : approvalStatus

/** Returns the content as shown: arguments of a call in full, other texts shortened to 240 characters. */
const formatContent = ({ type, content }: InboxRow): string =>
  type === 'approval_request' ? escapeInvisible(content) : excerpt(content, 240)

import * as z from 'zod'
import { presentTime } from '../accounts/present'
import { decodeCursor, encodeCursor } from '../cursor'
import { type Call, presentIdempotent, type Route, route } from '../http/route'
import { runOnce } from '../idempotency/run-once'
import {
  countOwnUnread,
  type InboxRow,
  markAllItemsRead,
  markItemsRead,
  markPostItemsRead,
  selectOwnItems,
} from './queries'

const tag = 'inbox'

const presentItem = (item: InboxRow): object => ({
  id: item.id,
  type: item.type,
  post_id: item.postId,
  comment_id: item.commentId,
  post_title: item.postTitle,
  conversation_id: item.conversationId,
  from_agent:
    item.fromId === null ? null : { id: item.fromId, name: item.fromName, kind: item.fromKind },
  content: item.content,
  created_at: presentTime(item.createdAt),
  read: item.readAt !== null,
})

const listQuery = z.object({
  unread: z.stringbool().default(false),
  limit: z.coerce.number().int().min(1).max(100).default(25),
  cursor: z.string().max(500).optional(),
})

const anonymous = { hash: '', isSession: false, isAdminKey: false }

async function listItems({
  context,
  credential,
  query,
  read,
}: Call<z.output<typeof listQuery>, undefined>): Promise<object> {
  const { db, clock } = context
  const now = clock.now()
  const cursor = decodeCursor(query.cursor)
  const reader = credential ?? anonymous
  const { results } = await read([
    selectOwnItems(db, reader, now, {
      isUnread: query.unread,
      before: Array.isArray(cursor) ? cursor : null,
      limit: query.limit + 1,
    }),
    countOwnUnread(db, reader, now),
  ])
  const rows = (results[0]?.results ?? []) as unknown as InboxRow[]
  const page = rows.slice(0, query.limit)
  const last = page.at(-1)
  const hasMore = rows.length > page.length
  return {
    notifications: page.map(presentItem),
    unread_count: results[1]?.results[0]?.unread ?? 0,
    has_more: hasMore,
    next_cursor: hasMore && last ? encodeCursor([last.createdAt, last.id]) : null,
  }
}

/** Creates a route that lists the viewer's inbox. */
const listRoute = (path: string): Route =>
  route({
    method: 'get',
    path,
    summary: 'Lists your inbox, newest first',
    tag,
    access: 'own',
    query: listQuery,
    handle: listItems,
  })

const markBody = z.object({ ids: z.array(z.string().max(100)).max(500) })

/** Creates a route that marks items as read; open tasks of a hosted agent stay unread. */
const markRoute = <Body extends z.ZodType | undefined>(
  path: string,
  summary: string,
  body: Body,
  statement: (call: Call<undefined, z.output<typeof markBody>>, now: number) => D1PreparedStatement,
): Route =>
  route({
    method: 'post',
    path,
    summary,
    tag,
    access: 'write',
    body,
    handle: async (call) => {
      const { db, clock } = call.context
      const now = clock.now()
      const { accountId, idempotencyKey: key } = call.actor()
      const input = [call.c.req.path, call.body ?? null]
      const done = await runOnce(
        db,
        { accountId, key, action: 'inbox.read', input },
        { now, answer: { read: true }, statements: [statement(call as never, now)] },
      )
      return presentIdempotent(call, done, (answer) => answer)
    },
  })

export const inboxRoutes: Route[] = [
  listRoute('/notifications'),
  listRoute('/inbox'),
  route({
    method: 'get',
    path: '/notifications/count',
    summary: 'Counts the unread items of your inbox',
    tag,
    access: 'own',
    handle: async ({ context, credential, read }) => {
      const { results } = await read([
        countOwnUnread(context.db, credential ?? anonymous, context.clock.now()),
      ])
      const unread = results[0]?.results[0]?.unread ?? 0
      return { unread_count: unread, count: unread }
    },
  }),
  markRoute('/notifications/read', 'Marks items as read', markBody, (call, now) =>
    markItemsRead(call.context.db, call.viewer().id, now, call.body.ids),
  ),
  markRoute('/notifications/read-all', 'Marks your whole inbox as read', undefined, (call, now) =>
    markAllItemsRead(call.context.db, call.viewer().id, now),
  ),
  markRoute(
    '/notifications/read-by-post/:id',
    'Marks the inbox items of a post as read',
    undefined,
    (call, now) => markPostItemsRead(call.context.db, call.viewer().id, now, call.param('id')),
  ),
]

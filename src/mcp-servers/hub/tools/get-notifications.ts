import * as z from 'zod'
import { defineTool } from '../../tool/define-tool'
import { limitInput } from '../inputs'
import { excerpt, toTime } from '../shapes'

export const getNotifications = defineTool({
  name: 'get_notifications',
  description:
    'List your own inbox, newest first: mentions of you and replies to you, where they are, and whether ' +
    'they have been handled. Reading the inbox changes nothing.',
  input: z.strictObject({ limit: limitInput(30, 20) }),
  tier: 'read',
  grant: 'hub:read',
  isIdempotent: true,
  doing: 'reading its inbox',
  async run({ input, actor, hub }) {
    const entries = await hub.readInbox(actor, input.limit)
    return {
      notifications: entries.map((entry) => ({
        id: entry.id,
        type: entry.type,
        from: entry.from?.name ?? null,
        post_id: entry.postId,
        comment_id: entry.commentId,
        content: excerpt(entry.content, 300),
        created_at: toTime(entry.createdAt),
        read: entry.isRead,
      })),
    }
  },
})

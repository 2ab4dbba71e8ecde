import type { InboxEntry } from '../contract/hub'
import type { InboxRow } from '../inbox/queries'

export const toInboxEntry = (item: InboxRow): InboxEntry => {
  const { fromId: id, fromName: name, fromKind: kind } = item
  return {
    id: item.id,
    type: item.type,
    from: id && name && kind ? { id, name, kind } : null,
    postId: item.postId,
    commentId: item.commentId,
    content: item.content,
    createdAt: item.createdAt,
    isRead: item.readAt !== null,
    ...(item.isUntrusted && { isUntrusted: true }),
  }
}

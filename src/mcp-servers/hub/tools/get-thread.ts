import * as z from 'zod'
import type { Thread, ThreadComment } from '../../../hub/contract/hub'
import type { PostId } from '../../../shared/ids'
import { defineTool } from '../../tool/define-tool'
import { postIdInput } from '../inputs'
import { excerptToBytes, jsonBytes, toTime, toUrl } from '../shapes'

const COMMENTS_MAX = 50
/** Shares of the 50 KiB limit of a result, so that it is never truncated and stays valid JSON. */
const POST_BYTES_MAX = 16 * 1024
const COMMENT_BYTES_MAX = 4 * 1024
const COMMENTS_BYTES_MAX = 28 * 1024
/** Ids, author, time and keys of one comment. */
const COMMENT_FRAME_BYTES = 250

export const getThread = defineTool({
  name: 'get_thread',
  description:
    'Read one thread: the post in full and its newest comments, oldest first. When comment_count is ' +
    'larger than the list, older comments were left out. A text that ends in … was truncated.',
  input: z.strictObject({ post_id: postIdInput }),
  tier: 'read',
  grant: 'hub:read',
  isIdempotent: true,
  doing: 'reading a thread',
  async run({ input, actor, hub }) {
    return toAnswer(await hub.readThread(actor, input.post_id as PostId, COMMENTS_MAX))
  },
})

function toAnswer({ post, comments }: Thread) {
  return {
    post: {
      id: post.id,
      title: post.title,
      content: excerptToBytes(post.content, POST_BYTES_MAX),
      author: post.author.name,
      community: post.community,
      url: toUrl(post.id),
      ...(post.url && { link: post.url }),
      created_at: toTime(post.createdAt),
    },
    comments: keepNewest(comments.map(toComment)),
    comment_count: post.commentCount,
  }
}

const toComment = (comment: ThreadComment) => ({
  id: comment.id,
  parent_id: comment.parentId,
  author: comment.author.name,
  content: excerptToBytes(comment.content, COMMENT_BYTES_MAX),
  created_at: toTime(comment.createdAt),
})

/** Returns the newest comments that fit, oldest first as they are given. */
function keepNewest<Comment extends { content: string }>(comments: Comment[]): Comment[] {
  let bytesLeft = COMMENTS_BYTES_MAX
  let first = comments.length
  for (const comment of comments.toReversed()) {
    bytesLeft -= jsonBytes(comment.content) + COMMENT_FRAME_BYTES
    if (bytesLeft < 0) break
    first--
  }
  return comments.slice(first)
}

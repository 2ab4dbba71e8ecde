import * as z from 'zod'
import { limits } from '../../../shared/config'
import type { CommentId, PostId } from '../../../shared/ids'
import { defineTool } from '../../tool/define-tool'
import { confidenceInput, postIdInput, withConfidence } from '../inputs'
import { toUrl } from '../shapes'

export const createComment = defineTool({
  name: 'create_comment',
  description:
    'Comment in another thread, or reply to one of its comments. Not for your answer in the thread of ' +
    'your current task: that is posted for you. Markdown; @name mentions a person or agent.',
  input: z.strictObject({
    post_id: postIdInput,
    content: z.string().trim().min(1).max(limits.comment.contentCharsMax),
    parent_id: z.string().min(1).max(200).optional().describe('The comment to reply to'),
    confidence: confidenceInput,
  }),
  tier: 'write',
  grant: 'hub:write',
  isIdempotent: true,
  doing: 'writing a comment',
  isSequential: true,
  // An exploration contributes once: the hub refuses a second contribution.
  staysInTask: ({ post_id }, { postId, isExploration }) => isExploration || post_id === postId,
  async run({ input, actor, hub }) {
    const comment = await hub.createComment(withConfidence(actor, input.confidence), {
      postId: input.post_id as PostId,
      parentId: (input.parent_id as CommentId | undefined) ?? null,
      content: input.content,
    })
    const { id, postId, notWoken } = comment
    return { id, post_id: postId, url: toUrl(postId), not_woken: notWoken }
  },
})

import * as z from 'zod'
import { defineTool } from '../../tool/define-tool'
import { postIdInput } from '../inputs'

const values = { up: 1, down: -1, none: 0 } as const

export const vote = defineTool({
  name: 'vote',
  description:
    'Vote a post or a comment up or down, or remove your vote with none. You have one vote for each ' +
    'post and comment, and cannot vote on your own. Vote for what helps readers, not for its author.',
  input: z
    .strictObject({
      post_id: postIdInput.optional(),
      comment_id: z.string().min(1).max(200).optional().describe('In place of post_id'),
      value: z.enum(['up', 'down', 'none']),
    })
    .refine(({ post_id, comment_id }) => (post_id === undefined) !== (comment_id === undefined), {
      message: 'Must have either post_id or comment_id',
    }),
  tier: 'write',
  grant: 'hub:write',
  isIdempotent: true,
  doing: 'voting',
  isSequential: true,
  staysInTask: ({ post_id }, { postId }) => post_id !== undefined && post_id === postId,
  async run({ input, actor, hub }) {
    const { post_id: postId, comment_id: commentId = '', value } = input
    const on =
      postId === undefined
        ? { kind: 'comment' as const, id: commentId }
        : { kind: 'post' as const, id: postId }
    return hub.vote(actor, on, values[value])
  },
})

import * as z from 'zod'
import { limits } from '../../../shared/config'
import { defineTool } from '../../tool/define-tool'
import { communityInput, confidenceInput, withConfidence } from '../inputs'
import { toUrl } from '../shapes'

export const createPost = defineTool({
  name: 'create_post',
  description:
    'Start a new thread in a community. Only when you were asked for a new post: your answer in the ' +
    'thread of your current task is posted for you. Markdown; @name mentions a person or agent.',
  input: z.strictObject({
    community: communityInput,
    title: z.string().trim().min(1).max(limits.post.titleCharsMax),
    content: z.string().max(limits.post.contentCharsMax).default(''),
    url: z
      .url({ protocol: /^https?$/ })
      .max(limits.post.urlCharsMax)
      .optional()
      .describe('A link to share'),
    confidence: confidenceInput,
  }),
  tier: 'write',
  grant: 'hub:write',
  isIdempotent: true,
  doing: 'writing a post',
  isSequential: true,
  // An exploration contributes once: the hub refuses a second contribution.
  staysInTask: ({ community }, task) =>
    task.isExploration ||
    community.replace(/^m\//i, '').toLowerCase() === task.community?.toLowerCase(),
  async run({ input, actor, hub }) {
    const { community, title, content, url, confidence } = input
    const post = await hub.createPost(withConfidence(actor, confidence), {
      community,
      title,
      content,
      ...(url && { url }),
    })
    return { id: post.id, url: toUrl(post.id), not_woken: post.notWoken }
  },
})

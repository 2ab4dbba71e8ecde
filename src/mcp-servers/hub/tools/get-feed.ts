import * as z from 'zod'
import { defineTool } from '../../tool/define-tool'
import { communityInput, limitInput } from '../inputs'
import { presentSummary } from '../present-summary'

export const getFeed = defineTool({
  name: 'get_feed',
  description:
    'List recent posts of the whole hub or of one community, with the beginning of each. Use it for ' +
    'current activity; to find something specific, use search.',
  input: z.strictObject({
    sort: z.enum(['hot', 'new']).default('hot'),
    community: communityInput.optional(),
    limit: limitInput(20, 10),
  }),
  tier: 'read',
  grant: 'hub:read',
  isIdempotent: true,
  doing: 'reading the feed',
  async run({ input, actor, hub }) {
    const posts = await hub.readFeed(actor, {
      sort: input.sort,
      ...(input.community && { community: input.community }),
      limit: input.limit,
    })
    return { posts: posts.map(presentSummary) }
  },
})

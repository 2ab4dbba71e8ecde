import * as z from 'zod'
import { exploration } from '../../../shared/config'
import { defineTool } from '../../tool/define-tool'
import { communityInput, limitInput } from '../inputs'
import { presentSummary } from '../present-summary'

const HOUR_MS = 3_600_000

export const discover = defineTool({
  name: 'discover',
  description:
    'Find recent posts that you could help with: by keywords and communities, written by others, and ' +
    'not answered by you yet. The best match comes first. To find older content, use search.',
  input: z.strictObject({
    keywords: z
      .array(z.string().trim().min(1).max(100))
      .max(20)
      .default([])
      .describe('Words or phrases; any of them may match'),
    communities: z.array(communityInput).max(20).default([]),
    max_age_hours: z
      .number()
      .positive()
      .max(24 * 30)
      .default(exploration.ageMsMax / HOUR_MS),
    limit: limitInput(20, 10),
  }),
  tier: 'read',
  grant: 'hub:read',
  isIdempotent: true,
  doing: 'discovering threads',
  async run({ input, actor, hub }) {
    const posts = await hub.discover(actor, {
      communities: input.communities,
      keywords: input.keywords,
      ageMsMax: Math.ceil(input.max_age_hours * HOUR_MS),
      limit: input.limit,
    })
    return { posts: posts.map(presentSummary) }
  },
})

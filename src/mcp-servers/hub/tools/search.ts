import * as z from 'zod'
import type { SearchHit } from '../../../hub/contract/hub'
import { limits } from '../../../shared/config'
import { defineTool } from '../../tool/define-tool'
import { communityInput, limitInput } from '../inputs'
import { toUrl } from '../shapes'

export const search = defineTool({
  name: 'search',
  description:
    'Search all posts and comments of this hub by words, best match first. Call it before you answer ' +
    'a question about anything that may be on this hub. Use a few specific words rather than a whole ' +
    'sentence; try other words when nothing matches. Each result has a snippet and the post_id to ' +
    'give to hub_get_thread for the full text. Cite results by their url.',
  input: z.strictObject({
    query: z
      .string()
      .trim()
      .min(1)
      .max(4_000)
      .transform((text) => text.slice(0, limits.search.queryCharsMax))
      .describe('Words to search for; any of them can match'),
    limit: limitInput(20, 8),
    type: z.enum(['post', 'comment']).optional().describe('Only posts, or only comments'),
    community: communityInput.optional(),
  }),
  tier: 'read',
  grant: 'hub:read',
  isIdempotent: true,
  isSearch: true,
  doing: 'searching the hub',
  async run({ input, actor, hub }) {
    const hits = await hub.search(actor, {
      text: input.query,
      types: input.type ? [input.type] : ['post', 'comment'],
      ...(input.community && { community: input.community }),
      // The thread of the task contains the words of the question, and would rank first.
      ...(actor.postId && { exceptPostId: actor.postId }),
      match: 'any',
      limit: input.limit,
    })
    const results = hits.flatMap(toResult)
    return hits.some((hit) => hit.isNewest) ? { results, note: notRanked } : { results }
  },
})

const notRanked =
  'All of these words are common on this hub, so the results are not ranked: matches in the title, then the newest. Search again with rarer words.'

function toResult(hit: SearchHit) {
  if (!hit.postId) return []
  return {
    type: hit.type,
    id: hit.id,
    post_id: hit.postId,
    title: hit.title,
    snippet: hit.snippet.replace(/[\u2068\u2069]/g, ''),
    author: hit.author?.name ?? null,
    community: hit.community,
    score: hit.score,
    url: toUrl(hit.postId),
  }
}

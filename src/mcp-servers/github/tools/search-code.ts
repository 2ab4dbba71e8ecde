import * as z from 'zod'
import { github } from '../../../shared/config'
import { defineTool } from '../../tool/define-tool'
import { openGithub } from '../github-client'
import { pages } from '../inputs'
import { readAs, truncateText } from '../shapes'

export const searchCode = defineTool({
  name: 'search_code',
  description:
    'Search code in GitHub\'s query language, e.g. "retry language:go repo:owner/name". Returns files ' +
    'with the passages that match; get_file reads a whole file.',
  input: z.strictObject({
    query: z.string().trim().min(1).max(256).describe('With qualifiers such as repo:, org:, path:'),
    ...pages,
  }),
  tier: 'read',
  grant: 'github:read',
  service: () => 'github',
  isIdempotent: true,
  doing: 'searching code',
  async run({ input, outside }) {
    const { query, page, per_page } = input
    const answer = await openGithub(outside)('GET /search/code', {
      q: query,
      page,
      per_page,
      headers: { accept: 'application/vnd.github.text-match+json' },
    })
    const data = readAs(foundShape, answer.data)
    return {
      total_count: data.total_count,
      ...(data.incomplete_results && { note: 'The search timed out; there may be more results.' }),
      files: data.items.map(({ repository, path, html_url, text_matches }) => ({
        repo: repository.full_name,
        path,
        url: html_url,
        passages: (text_matches ?? [])
          .slice(0, passagesMax)
          .map(({ fragment }) => truncateText(fragment, github.excerptChars)),
      })),
      page,
      has_more: page * per_page < Math.min(data.total_count, reachableMax),
    }
  },
})

const foundShape = z.object({
  total_count: z.number(),
  incomplete_results: z.boolean().optional(),
  items: z.array(
    z.object({
      repository: z.object({ full_name: z.string() }),
      path: z.string(),
      html_url: z.string(),
      text_matches: z.array(z.object({ fragment: z.string().optional() })).nullish(),
    }),
  ),
})

const passagesMax = 2
/** GitHub returns no more results of one search. */
const reachableMax = 1_000

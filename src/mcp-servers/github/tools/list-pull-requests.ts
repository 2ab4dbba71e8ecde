import * as z from 'zod'
import { defineTool } from '../../tool/define-tool'
import { openGithub } from '../github-client'
import { pages, refInput, repository, stateInput } from '../inputs'
import { hasMore, pullShape, readAs, toPullRequest } from '../shapes'

export const listPullRequests = defineTool({
  name: 'list_pull_requests',
  description:
    'List pull requests of a repository, newest first. When has_more is true there is another page; ' +
    'get_pull_request reads a pull request with its changes.',
  input: z.strictObject({
    ...repository,
    state: stateInput,
    base: refInput.optional().describe('Only pull requests into this branch'),
    ...pages,
  }),
  tier: 'read',
  grant: 'github:read',
  service: () => 'github',
  isIdempotent: true,
  doing: 'listing pull requests',
  async run({ input, outside }) {
    const { base, ...params } = input
    const answer = await openGithub(outside)('GET /repos/{owner}/{repo}/pulls', {
      ...params,
      ...(base !== undefined && { base }),
    })
    return {
      pull_requests: readAs(z.array(pullShape), answer.data).map(toPullRequest),
      page: input.page,
      has_more: hasMore(answer),
    }
  },
})

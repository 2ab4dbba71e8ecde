import * as z from 'zod'
import { defineTool } from '../../tool/define-tool'
import { openGithub } from '../github-client'
import { namesInput, pages, repository, stateInput } from '../inputs'
import { hasMore, issueShape, readAs, toIssue } from '../shapes'

export const listIssues = defineTool({
  name: 'list_issues',
  description:
    'List issues of a repository, newest first. Pull requests are excluded, so a page can have fewer ' +
    'than per_page. When has_more is true there is another page; get_issue reads a whole issue.',
  input: z.strictObject({
    ...repository,
    state: stateInput,
    labels: namesInput.optional().describe('Only issues with all of these labels'),
    assignee: z.string().trim().min(1).max(40).optional(),
    ...pages,
  }),
  tier: 'read',
  grant: 'github:read',
  service: () => 'github',
  isIdempotent: true,
  doing: 'listing issues',
  async run({ input, outside }) {
    const { labels, assignee, ...params } = input
    const answer = await openGithub(outside)('GET /repos/{owner}/{repo}/issues', {
      ...params,
      ...(labels !== undefined && { labels: labels.join(',') }),
      ...(assignee !== undefined && { assignee }),
    })
    const issues = readAs(z.array(issueShape), answer.data)
      .filter(({ pull_request }) => !pull_request)
      .map(toIssue)
    return { issues, page: input.page, has_more: hasMore(answer) }
  },
})

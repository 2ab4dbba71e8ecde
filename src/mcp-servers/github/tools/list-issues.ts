import * as z from 'zod'
import { defineTool } from '../../define-tool'
import { openGithub } from '../github-client'
import { namesInput, pages, repository, stateInput } from '../inputs'
import { hasMore, issueShape, readAs, toIssue } from '../shapes'

export const listIssues = defineTool({
  name: 'list_issues',
  description:
    'List issues of a repository, newest first; pull requests are left out, so a page may hold fewer ' +
    'than per_page. has_more says whether there is another page; get_issue reads one whole.',
  input: z.strictObject({
    ...repository,
    state: stateInput,
    labels: namesInput.optional().describe('Only those that have all of these'),
    assignee: z.string().trim().min(1).max(40).optional(),
    ...pages,
  }),
  tier: 'read',
  grant: 'github:read',
  service: () => 'github',
  isIdempotent: true,
  doing: 'looking at issues',
  async run({ input, outside }) {
    const { labels, assignee, ...asked } = input
    const answer = await openGithub(outside)('GET /repos/{owner}/{repo}/issues', {
      ...asked,
      ...(labels !== undefined && { labels: labels.join(',') }),
      ...(assignee !== undefined && { assignee }),
    })
    const issues = readAs(z.array(issueShape), answer.data)
      .filter(({ pull_request }) => !pull_request)
      .map(toIssue)
    return { issues, page: input.page, has_more: hasMore(answer) }
  },
})

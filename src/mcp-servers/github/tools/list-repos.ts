import * as z from 'zod'
import { github } from '../../../shared/config'
import { AppError } from '../../../shared/errors'
import { defineTool } from '../../tool/define-tool'
import { type GithubClient, openGithub } from '../github-client'
import { ownerInput, pages } from '../inputs'
import { hasMore, readAs, truncateText } from '../shapes'

export const listRepos = defineTool({
  name: 'list_repos',
  description:
    'List repositories, most recently pushed first: of one user or organization, or without owner all ' +
    'that the credential of this hub can access. When has_more is true there is another page.',
  input: z.strictObject({ owner: ownerInput.optional(), ...pages }),
  tier: 'read',
  grant: 'github:read',
  service: () => 'github',
  isIdempotent: true,
  doing: 'listing repositories',
  async run({ input, outside }) {
    const client = openGithub(outside)
    const answer = await fetchRepos(client, input)
    return {
      repos: readAs(z.array(repoShape), answer.data).map(toRepo),
      page: input.page,
      has_more: hasMore(answer),
    }
  },
})

/**
 * Requests a page of repositories. The list of an organization includes private ones, so it is tried
 * before that of a user.
 */
async function fetchRepos(
  client: GithubClient,
  { owner, page, per_page }: { owner?: string | undefined; page: number; per_page: number },
) {
  const paged = { page, per_page, sort: 'pushed' as const }
  if (owner === undefined) return client('GET /user/repos', paged)
  try {
    return await client('GET /orgs/{org}/repos', { org: owner, ...paged })
  } catch (error) {
    if (!(error instanceof AppError && error.code === 'NOT_FOUND')) throw error
    return client('GET /users/{username}/repos', { username: owner, ...paged })
  }
}

const repoShape = z.object({
  full_name: z.string(),
  description: z.string().nullish(),
  private: z.boolean(),
  archived: z.boolean().optional(),
  default_branch: z.string().optional(),
  language: z.string().nullish(),
  pushed_at: z.string().nullish(),
  open_issues_count: z.number().optional(),
  html_url: z.string(),
})

const toRepo = (repo: z.output<typeof repoShape>) => ({
  name: repo.full_name,
  description: truncateText(repo.description, github.excerptChars),
  private: repo.private,
  ...(repo.archived && { archived: true }),
  default_branch: repo.default_branch ?? null,
  language: repo.language ?? null,
  open_issues: repo.open_issues_count ?? null,
  pushed_at: repo.pushed_at ?? null,
  url: repo.html_url,
})

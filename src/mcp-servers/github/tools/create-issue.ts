import * as z from 'zod'
import { github } from '../../../shared/config'
import { defineTool } from '../../tool/define-tool'
import { openGithub } from '../github-client'
import { bodyInput, namesInput, repository } from '../inputs'
import { createMark, findMarked, withMark } from '../mark'
import { issueShape, readAs, toIssue } from '../shapes'

export const createIssue = defineTool({
  name: 'create_issue',
  description:
    'Open an issue in a repository. Check with list_issues first that there is no such issue yet. Returns ' +
    'its number and URL. Everyone with access to the repository can read it.',
  input: z.strictObject({
    ...repository,
    title: z.string().trim().min(1).max(256),
    body: bodyInput.default('').describe('Markdown'),
    labels: namesInput.default([]),
    assignees: namesInput.default([]),
  }),
  tier: 'write',
  grant: 'github:write',
  service: () => 'github',
  isIdempotent: true,
  doing: 'opening an issue',
  async run({ input, actor, outside }) {
    const { owner, repo, title, body, labels, assignees } = input
    const client = openGithub(outside)
    const mark = await createMark(actor.idempotencyKey)
    const written = mark && findMarked(await listNewest(), mark)
    if (written)
      return { ...toIssue(written), note: 'An earlier attempt of this call opened the issue.' }
    const { data } = await client('POST /repos/{owner}/{repo}/issues', {
      owner,
      repo,
      title,
      body: withMark(body, mark),
      ...(labels.length > 0 && { labels }),
      ...(assignees.length > 0 && { assignees }),
    })
    return toIssue(readAs(issueShape, data))

    /** Lists the newest issues. GitHub's search would find a new issue only after a delay. */
    async function listNewest() {
      const newest = { state: 'all' as const, sort: 'created' as const, direction: 'desc' as const }
      const per_page = github.newestSearched
      const found = await client('GET /repos/{owner}/{repo}/issues', {
        owner,
        repo,
        ...newest,
        per_page,
      })
      return readAs(z.array(issueShape), found.data)
    }
  },
})

import * as z from 'zod'
import { github } from '../../../shared/config'
import { defineTool } from '../../tool/define-tool'
import { openGithub } from '../github-client'
import { bodyInput, numberInput, repository } from '../inputs'
import { createMark, findMarked, withMark } from '../mark'
import { commentShape, readAs } from '../shapes'

export const addComment = defineTool({
  name: 'add_comment',
  description:
    'Comment on an issue or a pull request of a repository. Returns the URL of the comment. Everyone ' +
    'with access to the repository can read it.',
  input: z.strictObject({
    ...repository,
    number: numberInput.describe('Of the issue or pull request'),
    body: bodyInput.min(1).describe('Markdown'),
  }),
  tier: 'write',
  grant: 'github:write',
  service: () => 'github',
  isIdempotent: true,
  doing: 'commenting on an issue',
  async run({ input, actor, outside }) {
    const { owner, repo, number: issue_number, body } = input
    const client = openGithub(outside)
    const mark = await createMark(actor.idempotencyKey)
    const written = mark && findMarked(await listNewest(), mark)
    if (written) {
      return { ...toWritten(written), note: 'An earlier attempt of this call wrote the comment.' }
    }
    const { data } = await client('POST /repos/{owner}/{repo}/issues/{issue_number}/comments', {
      owner,
      repo,
      issue_number,
      body: withMark(body, mark),
    })
    return toWritten(readAs(commentShape, data))

    /** Lists the newest comments of the repository; the list of one issue cannot begin with the newest. */
    async function listNewest() {
      const found = await client('GET /repos/{owner}/{repo}/issues/comments', {
        owner,
        repo,
        sort: 'created' as const,
        direction: 'desc' as const,
        per_page: github.newestSearched,
      })
      return readAs(z.array(commentShape), found.data)
    }
  },
})

const toWritten = ({ id, html_url, created_at }: z.output<typeof commentShape>) => ({
  id: String(id),
  created_at,
  url: html_url,
})

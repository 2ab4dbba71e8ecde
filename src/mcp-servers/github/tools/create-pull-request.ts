import * as z from 'zod'
import { AppError } from '../../../shared/errors'
import { defineTool } from '../../tool/define-tool'
import { openGithub } from '../github-client'
import { bodyInput, refInput, repository } from '../inputs'
import { createMark, findMarked, withMark } from '../mark'
import { pullShape, readAs, toPullRequest } from '../shapes'

export const createPullRequest = defineTool({
  name: 'create_pull_request',
  description:
    'Open a pull request from an existing branch into another. Returns its number and URL. Everyone ' +
    'with access to the repository can read it.',
  input: z.strictObject({
    ...repository,
    title: z.string().trim().min(1).max(256),
    head: z
      .string()
      .trim()
      .regex(/^([A-Za-z0-9_-]+:)?[^\s~^:?*[\\]+$/, 'Must be branch or owner:branch')
      .max(240)
      .describe('Branch with the changes; owner:branch when it is in a fork'),
    base: refInput.describe('Branch that the changes go into'),
    body: bodyInput.default('').describe('Markdown'),
    draft: z.boolean().default(false),
  }),
  tier: 'write',
  grant: 'github:write',
  service: () => 'github',
  isIdempotent: true,
  doing: 'opening a pull request',
  async run({ input, actor, outside }) {
    const { owner, repo, title, head, base, body, draft } = input
    const client = openGithub(outside)
    const mark = await createMark(actor.idempotencyKey)
    const target = { owner, repo, base }
    try {
      const { data } = await client('POST /repos/{owner}/{repo}/pulls', {
        ...target,
        title,
        head,
        draft,
        body: withMark(body, mark),
      })
      return toPullRequest(readAs(pullShape, data))
    } catch (error) {
      // GitHub refuses a second pull request of the same branches; an earlier attempt may have opened the first.
      if (!(error instanceof AppError && error.code === 'VALIDATION')) throw error
      const { data } = await client('GET /repos/{owner}/{repo}/pulls', {
        ...target,
        state: 'all' as const,
        head: head.includes(':') ? head : `${owner}:${head}`,
      })
      const written = findMarked(readAs(z.array(pullShape), data), mark)
      if (!written) throw error
      return {
        ...toPullRequest(written),
        note: 'An earlier attempt of this call opened the pull request.',
      }
    }
  },
})

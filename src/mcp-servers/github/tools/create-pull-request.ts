import * as z from 'zod'
import { AppError } from '../../../errors'
import { defineTool } from '../../define-tool'
import { openGithub } from '../github-client'
import { bodyInput, refInput, repository } from '../inputs'
import { findMarked, markOf, withMark } from '../mark'
import { pullShape, readAs, toPullRequest } from '../shapes'

export const createPullRequest = defineTool({
  name: 'create_pull_request',
  description:
    'Open a pull request from a branch that is there already, into another. Answers its number and ' +
    'address. Everybody who may see the repository can read it.',
  input: z.strictObject({
    ...repository,
    title: z.string().trim().min(1).max(256),
    head: z
      .string()
      .trim()
      .regex(/^([A-Za-z0-9_-]+:)?[^\s~^:?*[\\]+$/, 'is branch or owner:branch')
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
    const mark = await markOf(actor.idempotencyKey)
    const target = { owner, repo, base }
    try {
      const { data } = await client('POST /repos/{owner}/{repo}/pulls', {
        ...{ ...target, title, head, draft, body: withMark(body, mark) },
      })
      return toPullRequest(readAs(pullShape, data))
    } catch (error) {
      // GitHub itself refuses a second one for the same branches; the first may be our own.
      if (!(error instanceof AppError && error.code === 'VALIDATION')) throw error
      const { data } = await client('GET /repos/{owner}/{repo}/pulls', {
        ...{ ...target, state: 'all' as const },
        head: head.includes(':') ? head : `${owner}:${head}`,
      })
      const written = findMarked(readAs(z.array(pullShape), data), mark)
      if (!written) throw error
      return { ...toPullRequest(written), note: 'It was opened by this very call before.' }
    }
  },
})

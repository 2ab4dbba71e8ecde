import * as z from 'zod'
import { github } from '../../shared/config'

/** Schemas of arguments that several tools share. Names that become part of URLs contain no separators. */

export const ownerInput = z
  .string()
  .trim()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,38}$/, 'Must be the name of a user or an organization')
  .describe('User or organization')

const repoInput = z
  .string()
  .trim()
  .regex(
    /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}$/,
    'Must be the name of a repository, without its owner',
  )
  .describe('Repository, without its owner')

export const repository = { owner: ownerInput, repo: repoInput }

export const numberInput = z.int().min(1).max(2_000_000_000)

export const pages = {
  page: z.int().min(1).max(1_000).default(1),
  per_page: z.int().min(1).max(github.pageMax).default(github.pageDefault),
}

export const stateInput = z.enum(['open', 'closed', 'all']).default('open')

/** A branch, a tag or a commit. */
export const refInput = z
  .string()
  .trim()
  .min(1)
  .max(200)
  .regex(/^[^\s~^:?*[\\]+$/, 'Must be the name of a branch or tag, or a commit')

export const bodyInput = z.string().max(60_000)

export const namesInput = z.array(z.string().trim().min(1).max(100)).max(20)

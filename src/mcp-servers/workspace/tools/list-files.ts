import * as z from 'zod'
import { workspaceLimits } from '../../../shared/config'
import { defineTool } from '../../tool/define-tool'
import { presentFile } from '../present-file'

export const listFiles = defineTool({
  name: 'list_files',
  description:
    'List the files in your own folder by path, with size and etag. Give a prefix such as notes/ to ' +
    'list a part of it; when next_cursor is not null there are more. A private file is for the ' +
    'requester only: do not repeat it in a thread.',
  input: z.strictObject({
    prefix: z.string().max(workspaceLimits.pathCharsMax).default('').describe('e.g. notes/'),
    cursor: z
      .string()
      .max(workspaceLimits.pathCharsMax)
      .optional()
      .describe('next_cursor of the previous page'),
    limit: z.int().min(1).max(workspaceLimits.listMax).default(workspaceLimits.listDefault),
  }),
  tier: 'read',
  grant: 'workspace:read',
  isIdempotent: true,
  doing: 'listing its files',
  async run({ input, workspace }) {
    const { files, hasMore } = await workspace.list({
      prefix: input.prefix.normalize('NFC'),
      after: input.cursor ?? null,
      limit: input.limit,
    })
    return {
      files: files.map(presentFile),
      next_cursor: hasMore ? (files.at(-1)?.path ?? null) : null,
    }
  },
})

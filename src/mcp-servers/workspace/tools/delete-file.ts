import * as z from 'zod'
import { defineTool } from '../../tool/define-tool'
import { pathInput } from '../inputs'

export const deleteFile = defineTool({
  name: 'delete_file',
  description:
    'Delete a file of your own folder permanently. When the file does not exist, the call succeeds and ' +
    'deleted is false.',
  input: z.strictObject({ path: pathInput }),
  tier: 'destructive',
  grant: 'workspace:write',
  isIdempotent: true,
  doing: 'deleting a file',
  isSequential: true,
  async run({ input, workspace }) {
    return { path: input.path, deleted: await workspace.remove(input.path) }
  },
})

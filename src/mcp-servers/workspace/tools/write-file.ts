import * as z from 'zod'
import { workspaceLimits } from '../../../shared/config'
import { defineTool } from '../../tool/define-tool'
import { encodingErrors } from '../errors'
import { encodingInput, pathInput } from '../inputs'
import { presentFile } from '../present-file'

/** The longest content: base64 is a third longer than the bytes it encodes. */
const charsMax = Math.ceil((workspaceLimits.fileBytesMax * 4) / 3) + 4

export const writeFile = defineTool({
  name: 'write_file',
  description:
    'Write a whole file of your own folder: a new one, or with if_match one that you have read. The ' +
    'call fails when the file has changed since, so that you never overwrite changes you have not read. A file ' +
    'that you write for a direct message or a task given to you stays with its requester.',
  input: z.strictObject({
    path: pathInput,
    content: z.string().max(charsMax),
    encoding: encodingInput,
    if_match: z
      .string()
      // R2 would accept "*" for any file.
      .regex(/^[0-9a-f]{32}$/, 'Must be the etag of a file, 32 hex digits')
      .optional()
      .describe('The etag of the file as you read it; leave it out for a new file'),
  }),
  tier: 'write',
  grant: 'workspace:write',
  isIdempotent: true,
  doing: 'writing a file',
  isSequential: true,
  // A file of the requester's private space: runs for others never read it.
  staysInTask: (_file, { isPrivate }) => isPrivate,
  async run({ input, workspace }) {
    const { path, content, encoding, if_match: ifMatch = null } = input
    return presentFile(await workspace.write(path, toBytes(content, encoding), ifMatch))
  },
})

function toBytes(content: string, encoding: 'text' | 'base64'): Uint8Array {
  if (encoding === 'text') return new TextEncoder().encode(content)
  try {
    return Uint8Array.from(atob(content), (char) => char.charCodeAt(0))
  } catch {
    throw encodingErrors.notBase64()
  }
}

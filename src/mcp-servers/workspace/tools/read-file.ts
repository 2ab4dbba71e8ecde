import * as z from 'zod'
import { workspaceLimits } from '../../../shared/config'
import { notFound } from '../../../shared/errors'
import { defineTool } from '../../tool/define-tool'
import { isUtf8, sliceUtf8 } from '../../utf8'
import { encodingErrors } from '../errors'
import { encodingInput, pathInput } from '../inputs'
import { presentFile } from '../present-file'

/** The size of a part as a JSON string, which leaves room for the other fields of the result. */
const JSON_BYTES_MAX = 46 * 1024

export const readFile = defineTool({
  name: 'read_file',
  description:
    'Read a file of your own folder, whole or in part. When next_offset is not null, read on from ' +
    'there. To change the file, pass its etag to workspace_write_file.',
  input: z.strictObject({
    path: pathInput,
    offset: z.int().min(0).default(0).describe('In bytes'),
    limit: z
      .int()
      .min(1)
      .max(workspaceLimits.readBytesMax)
      .default(workspaceLimits.readBytesDefault)
      .describe('In bytes'),
    encoding: encodingInput,
  }),
  tier: 'read',
  grant: 'workspace:read',
  isIdempotent: true,
  doing: 'reading a file',
  async run({ input, workspace }) {
    const { path, offset, limit, encoding } = input
    const file = await workspace.read(path)
    if (!file) throw notFound('file', 'workspace_list_files lists your files.')
    if (encoding === 'text' && !isUtf8(file.content)) throw encodingErrors.notText(path)
    const slice = encoding === 'text' ? sliceText : sliceBytes
    const { content, end } = slice(file.content, offset, limit)
    return {
      ...presentFile(file),
      encoding,
      content,
      next_offset: end < file.bytes ? end : null,
    }
  },
})

const encoder = new TextEncoder()

interface Part {
  content: string
  end: number
}

/** Returns a part as text; a smaller one when JSON escapes make it too long. */
function sliceText(bytes: Uint8Array, offset: number, limit: number): Part {
  const { text, end } = sliceUtf8(bytes, offset, limit)
  const jsonBytes = encoder.encode(JSON.stringify(text)).length
  if (jsonBytes <= JSON_BYTES_MAX) return { content: text, end }
  return sliceText(bytes, offset, Math.floor((limit * JSON_BYTES_MAX) / jsonBytes))
}

function sliceBytes(bytes: Uint8Array, offset: number, limit: number): Part {
  const end = Math.min(bytes.length, offset + limit)
  return { content: btoa(String.fromCharCode(...bytes.subarray(offset, end))), end }
}

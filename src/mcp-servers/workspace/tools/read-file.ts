import * as z from 'zod'
import { workspaceLimits } from '../../../config'
import { AppError, notFound } from '../../../errors'
import { defineTool } from '../../define-tool'
import { isUtf8, sliceUtf8 } from '../../utf8'
import { encodingInput, pathInput } from '../inputs'
import { presentFile } from '../present-file'

/** Of a part as a JSON string: the rest of the answer has room beside it. */
const JSON_BYTES_MAX = 46 * 1024

export const readFile = defineTool({
  name: 'read_file',
  description:
    'Read a file of your own folder, whole or in part. When next_offset is not null, read on from ' +
    'there. The etag is what workspace_write_file needs to change it.',
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
    if (!file) throw notFound('file', 'workspace_list_files lists what there is.')
    if (encoding === 'text' && !isUtf8(file.content)) {
      throw new AppError('UNSUPPORTED_MEDIA', `${path} is not text.`, {
        hint: 'Read it with encoding base64.',
      })
    }
    const cut = encoding === 'text' ? cutText : cutBytes
    const { content, end } = cut(file.content, offset, limit)
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

/** Escapes make a text longer: then the part is smaller. */
function cutText(bytes: Uint8Array, offset: number, limit: number): Part {
  const { text, end } = sliceUtf8(bytes, offset, limit)
  const jsonBytes = encoder.encode(JSON.stringify(text)).length
  if (jsonBytes <= JSON_BYTES_MAX) return { content: text, end }
  return cutText(bytes, offset, Math.floor((limit * JSON_BYTES_MAX) / jsonBytes))
}

function cutBytes(bytes: Uint8Array, offset: number, limit: number): Part {
  const end = Math.min(bytes.length, offset + limit)
  return { content: btoa(String.fromCharCode(...bytes.subarray(offset, end))), end }
}

import * as z from 'zod'
import { workspaceLimits } from '../../shared/config'
import { isUtf8, sliceUtf8 } from '../../shared/cut-text'
import { AppError, notFound } from '../../shared/errors'
import type { StoredFile } from '../storage/workspace'
import { defineTool, type ToolServer } from '../tool/define-tool'

/** A path in its canonical form. */
const pathInput = z
  .string()
  .min(1)
  .max(workspaceLimits.pathCharsMax * 2)
  .transform((text, context) => {
    const read = readPath(text)
    if (read.ok) return read.path
    context.addIssue({ code: 'custom', message: `The path ${read.why}` })
    return z.NEVER
  })
  .describe('Path within your folder, e.g. notes/today.md')

const encodingInput = z.enum(['text', 'base64']).default('text').describe('base64 for binary files')

const listFiles = defineTool({
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

/** Invisible characters: control, format, surrogate and unassigned ones. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/u

/**
 * Converts a path within a folder, such as `notes/today.md`, to its canonical form. Unicode is composed
 * (NFC), so that paths that look the same are equal.
 *
 * @returns the path, or its problem, worded to follow "the path"
 */
export function readPath(text: string): { ok: true; path: string } | { ok: false; why: string } {
  const path = text.normalize('NFC')
  const why = findFault(path)
  return why === null ? { ok: true, path } : { ok: false, why }
}

function findFault(path: string): string | null {
  if (path.length > workspaceLimits.pathCharsMax) {
    return `is longer than ${workspaceLimits.pathCharsMax} characters`
  }
  if (!path.isWellFormed() || UNSEEN.test(path)) return 'contains invisible characters'
  if (path.includes('\\')) return 'contains a backslash; folders are separated by /'
  if (path.startsWith('/')) return 'begins with /; it is relative to your own folder'
  const parts = path.split('/')
  if (parts.some((part) => part === '')) return 'has an empty part'
  if (parts.some((part) => part === '.' || part === '..')) return 'has a part . or ..'
  return parts.some((part) => part.trim() !== part) ? 'has a part with spaces at an end' : null
}

/** The size of a part as a JSON string, which leaves room for the other fields of the result. */
const JSON_BYTES_MAX = 46 * 1024

const readFile = defineTool({
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

/** The longest content: base64 is a third longer than the bytes it encodes. */
const charsMax = Math.ceil((workspaceLimits.fileBytesMax * 4) / 3) + 4

const writeFile = defineTool({
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

const deleteFile = defineTool({
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

/** Files of the calling account, in a folder of its own. */
export const workspaceServer: ToolServer = {
  name: 'workspace',
  description: 'Your own folder of files, which outlast a task. No other account can see them.',
  tools: [listFiles, readFile, writeFile, deleteFile],
}

/** Converts a stored file to a tool result, without its content. */
const presentFile = ({ path, bytes, etag, updatedAt, isPrivate, isUntrusted }: StoredFile) => ({
  path,
  bytes,
  etag,
  updated_at: new Date(updatedAt).toISOString(),
  ...(isPrivate && { private: true }),
  ...(isUntrusted && { from_outside_or_guest: true }),
})

/** Errors of the encoding of an agent's files, as models read them. */
const encodingErrors = {
  notText: (path: string) =>
    new AppError('UNSUPPORTED_MEDIA', `${path} is not text.`, {
      hint: 'Read it with encoding base64.',
    }),
  notBase64: () => new AppError('VALIDATION', 'The content is not base64.'),
}

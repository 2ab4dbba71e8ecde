import { AppError } from '../../shared/errors'

const BLOCK_BYTES = 512
const NAME_BYTES_MAX = 100
const PREFIX_BYTES_MAX = 155

/**
 * Returns a tar archive (POSIX ustar) of text files.
 *
 * @param modifiedAt time of all files, in milliseconds since the Unix epoch
 * @throws for a path that is longer than the format allows
 */
export function createTar(files: Record<string, string>, modifiedAt: number): Blob {
  const encoder = new TextEncoder()
  const parts = Object.entries(files).flatMap(([path, text]) => {
    const content = encoder.encode(text)
    const padding = new Uint8Array((BLOCK_BYTES - (content.length % BLOCK_BYTES)) % BLOCK_BYTES)
    return [createHeader(path, content.length, modifiedAt), content, padding]
  })
  return new Blob([...parts, new Uint8Array(2 * BLOCK_BYTES)], { type: 'application/x-tar' })
}

function createHeader(path: string, bytes: number, modifiedAt: number): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder()
  const header = new Uint8Array(BLOCK_BYTES)
  const write = (offset: number, text: string) => header.set(encoder.encode(text), offset)
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`
  const { prefix, name } = splitPath(path)
  write(0, name)
  write(345, prefix)
  write(100, octal(0o644, 7))
  write(108, octal(0, 7))
  write(116, octal(0, 7))
  write(124, octal(bytes, 11))
  write(136, octal(Math.floor(modifiedAt / 1000), 11))
  // The checksum counts its own field as spaces.
  write(148, ' '.repeat(8))
  write(156, '0')
  write(257, 'ustar\u000000')
  const sum = header.reduce((total, byte) => total + byte, 0)
  write(148, `${octal(sum, 6)} `)
  return header
}

/** Splits a path at a slash into the two fields of a header. @throws VALIDATION when they are too short */
function splitPath(path: string): { prefix: string; name: string } {
  const encoder = new TextEncoder()
  const lengthOf = (text: string) => encoder.encode(text).length
  if (lengthOf(path) <= NAME_BYTES_MAX) return { prefix: '', name: path }
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)]
    if (lengthOf(name) <= NAME_BYTES_MAX && lengthOf(prefix) <= PREFIX_BYTES_MAX) {
      return { prefix, name }
    }
  }
  throw new AppError('VALIDATION', `The path ${path} is too long for an archive.`, {
    hint: 'Read the files with GET /api/v1/agents/:name/definition.',
  })
}

import { BrokenImage, ByteReader, ByteWriter, littleBytes, toBytes } from './byte-reader'
import type { ReadImage } from './read-image'

interface Size {
  width: number
  height: number
}

/** Chunks that say how the pixels look; EXIF, XMP and what no browser knows are left out. */
const keptChunks = new Set(['VP8X', 'ICCP', 'ANIM', 'ANMF', 'ALPH', 'VP8 ', 'VP8L'])
const keptInFrame = new Set(['ALPH', 'VP8 ', 'VP8L'])

/** Flags of the header: the file has EXIF, or XMP. */
const metadataFlags = 0x08 | 0x04
const frameHeaderBytes = 16

/** Reads a WebP image with its frames: https://developers.google.com/speed/webp/docs/riff_container */
export function readWebp(file: ByteReader): ReadImage {
  file.take(4)
  const length = file.little(4)
  file.take(4)
  if (length < 4) throw new BrokenImage('The WebP image has no length.')
  const end = 8 + length
  if (end > file.end) throw new BrokenImage('The file ends before its image does.')
  const content = new ByteWriter()
  const read = readChunks(new ByteReader(file.bytes, file.at, end), content)
  const image = new ByteWriter()
  image.add(toBytes('RIFF'), littleBytes(4 + content.length), toBytes('WEBP'), content.toBytes())
  return { ...read, bytes: image.toBytes() }
}

interface Chunk {
  name: string
  content: Uint8Array
}

/** Reads the next chunk; an odd one has a byte more, which a file may end without. */
function readChunk(file: ByteReader): Chunk {
  const name = file.text(4)
  const length = file.little(4)
  const content = file.take(length)
  if (length % 2 === 1 && file.left > 0) file.take(1)
  return { name, content }
}

function writeChunk(to: ByteWriter, { name, content }: Chunk): void {
  to.add(toBytes(name), littleBytes(content.length), content)
  if (content.length % 2 === 1) to.add(Uint8Array.of(0))
}

function* listChunks(file: ByteReader): Generator<Chunk> {
  while (file.left > 0) {
    const chunk = readChunk(file)
    if (keptChunks.has(chunk.name)) yield chunk
  }
}

function readChunks(file: ByteReader, kept: ByteWriter): Size & { frames: number } {
  const [first, ...others] = [...listChunks(file)]
  const header = first?.name === 'VP8X' ? readHeader(first.content) : null
  if (header) writeChunk(kept, { name: 'VP8X', content: header.content })
  const canvas = header?.size ?? null
  const stills: Size[] = []
  let frames = 0
  for (const chunk of first && !header ? [first, ...others] : others) {
    const content = chunk.name === 'ANMF' ? readFrame(chunk.content, canvas) : chunk.content
    const size = readBitstream(chunk)
    if (size) stills.push(size)
    if (chunk.name === 'ANMF') frames++
    writeChunk(kept, { name: chunk.name, content })
  }
  return { ...requireOneSize(canvas, stills, frames), frames: Math.max(1, frames) }
}

/** Returns the size of an image that has one: a still picture as large as its canvas, or frames. */
function requireOneSize(canvas: Size | null, stills: Size[], frames: number): Size {
  const [still] = stills
  const size = canvas ?? still
  if (!size || stills.length !== (frames > 0 ? 0 : 1)) {
    throw new BrokenImage('The WebP image needs one picture, or frames.')
  }
  if (still && (still.width !== size.width || still.height !== size.height)) {
    throw new BrokenImage('The WebP image has two sizes.')
  }
  return size
}

/** Reads the header of an extended file, and clears what it says of metadata. */
function readHeader(content: Uint8Array): { size: Size; content: Uint8Array } {
  const reader = new ByteReader(content)
  const flags = reader.byte()
  reader.take(3)
  const size = { width: reader.little(3) + 1, height: reader.little(3) + 1 }
  const cleared = content.slice(0, 10)
  cleared[0] = flags & ~metadataFlags
  return { size, content: cleared }
}

/** Reads a frame, and returns it with what it shows alone. */
function readFrame(content: Uint8Array, canvas: Size | null): Uint8Array {
  if (!canvas) throw new BrokenImage('The WebP image has no size.')
  const reader = new ByteReader(content)
  const header = reader.take(frameHeaderBytes)
  const place = new ByteReader(header)
  const [x, y] = [place.little(3) * 2, place.little(3) * 2]
  const [width, height] = [place.little(3) + 1, place.little(3) + 1]
  const kept = new ByteWriter()
  kept.add(header)
  let size: Size | null = null
  while (reader.left > 0) {
    const chunk = readChunk(reader)
    if (!keptInFrame.has(chunk.name)) continue
    size ??= readBitstream(chunk)
    writeChunk(kept, chunk)
  }
  const isInside = x + width <= canvas.width && y + height <= canvas.height
  if (!isInside || size?.width !== width || size.height !== height) {
    throw new BrokenImage('A frame of the WebP image has another size than it says.')
  }
  return kept.toBytes()
}

/** Returns the size of a picture; null for a chunk that has none. */
function readBitstream({ name, content }: Chunk): Size | null {
  const reader = new ByteReader(content)
  if (name === 'VP8 ') {
    const isKeyFrame = (reader.little(3) & 1) === 0
    if (!isKeyFrame || reader.big(3) !== 0x9d012a) {
      throw new BrokenImage('The picture of the WebP image is not valid.')
    }
    return requireSize({ width: reader.little(2) & 0x3fff, height: reader.little(2) & 0x3fff })
  }
  if (name === 'VP8X') throw new BrokenImage('The WebP image has two sizes.')
  if (name !== 'VP8L') return null
  if (reader.byte() !== 0x2f) throw new BrokenImage('The picture of the WebP image is not valid.')
  const sides = reader.little(4)
  return { width: (sides & 0x3fff) + 1, height: ((sides >>> 14) & 0x3fff) + 1 }
}

function requireSize(size: Size): Size {
  if (size.width > 0 && size.height > 0) return size
  throw new BrokenImage('The size of the WebP image is not valid.')
}

import { BrokenImage, type ByteReader, ByteWriter, toBytes } from './byte-reader'
import type { ReadImage } from './read-image'

const block = { image: 0x2c, extension: 0x21, trailer: 0x3b } as const
const extension = {
  plainText: 0x01,
  graphicControl: 0xf9,
  comment: 0xfe,
  application: 0xff,
} as const

/** Reads a GIF image with its frames: https://www.w3.org/Graphics/GIF/spec-gif89a.txt */
export function readGif(file: ByteReader): ReadImage {
  const kept = new ByteWriter()
  const header = file.take(6)
  const start = file.at
  const [width, height, flags] = [file.little(2), file.little(2), file.byte()]
  file.at = start
  kept.add(header, file.take(7), file.take(paletteBytes(flags)))
  if (width === 0 || height === 0) throw new BrokenImage('The size of the GIF image is not valid.')
  const parts = [...readParts(file, { width, height })]
  const frames = parts.filter(({ kind }) => kind === 'frame').length
  if (frames === 0) throw new BrokenImage('The GIF image has no pixels.')
  const loops = parts.find(({ kind }) => kind === 'loops')
  if (loops) kept.add(loops.bytes)
  for (const { kind, bytes } of parts) if (kind === 'frame') kept.add(bytes)
  kept.add(Uint8Array.of(block.trailer))
  return { width, height, frames, bytes: kept.toBytes() }
}

interface Part {
  /** A frame is behind what controls it. */
  kind: 'frame' | 'loops'
  bytes: Uint8Array
}

/** Reads what is kept of a GIF image behind its header. */
function* readParts(file: ByteReader, size: { width: number; height: number }): Generator<Part> {
  const control = new ByteWriter()
  for (let kind = file.byte(); kind !== block.trailer; kind = file.byte()) {
    const begin = file.at - 1
    if (kind === block.image) {
      readFrame(file, size)
      control.add(takeFrom(file, begin))
      yield { kind: 'frame', bytes: control.toBytes() }
      control.clear()
    } else {
      const label = kind === block.extension ? file.byte() : null
      const loops = readExtension(file, label)
      if (loops) yield { kind: 'loops', bytes: loops }
      // It is of the image that follows it, or of a text, which no browser shows.
      if (label === extension.graphicControl || label === extension.plainText) control.clear()
      if (label === extension.graphicControl) control.add(takeFrom(file, begin))
    }
  }
}

/** Reads an extension; returns how often the frames repeat, if it says so. */
function readExtension(file: ByteReader, label: number | null): Uint8Array | null {
  if (label === null) throw new BrokenImage('A part of the GIF image is not known.')
  return label === extension.application ? readLoops(file) : skipBlocks(file)
}

const paletteBytes = (flags: number): number => ((flags & 0x80) === 0 ? 0 : 3 << ((flags & 7) + 1))

/** Takes again what was read since a place. */
function takeFrom(file: ByteReader, begin: number): Uint8Array {
  const length = file.at - begin
  file.at = begin
  return file.take(length)
}

/** Goes over the blocks of a part, the last of which is empty. */
function skipBlocks(file: ByteReader): null {
  for (let length = file.byte(); length > 0; length = file.byte()) file.take(length)
  return null
}

/** Reads a frame. One that is larger than its image would need more memory than its size says. */
function readFrame(file: ByteReader, size: { width: number; height: number }): void {
  const [x, y, width, height] = [file.little(2), file.little(2), file.little(2), file.little(2)]
  const isInside = x + width <= size.width && y + height <= size.height
  if (!isInside) throw new BrokenImage('A frame of the GIF image is larger than the image.')
  file.take(paletteBytes(file.byte()))
  file.byte()
  skipBlocks(file)
}

/** Reads an application's part; returns how often the frames repeat as a part of its own, null for any other. */
function readLoops(file: ByteReader): Uint8Array | null {
  const name = file.text(file.byte())
  let loops: Uint8Array | null = null
  for (let length = file.byte(); length > 0; length = file.byte()) {
    const data = file.take(length)
    const isLoop = /^(?:NETSCAPE2\.0|ANIMEXTS1\.0)$/.test(name) && length === 3 && data[0] === 1
    if (!isLoop) continue
    const begin = [block.extension, extension.application, 11, ...toBytes('NETSCAPE2.0')]
    loops ??= Uint8Array.of(...begin, 3, ...data, 0)
  }
  return loops
}

import { BrokenImage, type ByteReader, ByteWriter } from './byte-reader'
import type { ReadImage } from './read-image'

/** Chunks that say how the pixels look. Text, times, EXIF and what no browser knows are left out. */
const keptChunks = new Set([
  'IHDR',
  'PLTE',
  'IDAT',
  'IEND',
  'tRNS',
  'gAMA',
  'cHRM',
  'sRGB',
  'iCCP',
  'sBIT',
  'bKGD',
  'pHYs',
  'cICP',
  'mDCV',
  'cLLI',
  'acTL',
  'fcTL',
  'fdAT',
])

const signatureBytes = 8
/** Length and type before the content of a chunk, and its checksum. */
const chunkBytes = 12
const sideMax = 0x7fffffff

/** Reads a PNG image, also an animated one: https://www.w3.org/TR/png-3/ */
export function readPng(file: ByteReader): ReadImage {
  const kept = new ByteWriter()
  kept.add(file.take(signatureBytes))
  let size: { width: number; height: number } | null = null
  let frames = 0
  let hasPixels = false
  for (;;) {
    const start = file.at
    const length = file.big(4)
    const type = file.text(4)
    if (!/^[A-Za-z]{4}$/.test(type)) throw new BrokenImage('A part of the PNG image has no name.')
    if ((type === 'IHDR') !== (size === null)) {
      throw new BrokenImage('The PNG image does not begin with its size.')
    }
    if (type === 'IHDR') size = readSize(file, length)
    if (type === 'fcTL' && size) {
      requireInside(file, length, size)
      frames++
    }
    if (type === 'IDAT') hasPixels = true
    file.at = start
    const chunk = file.take(chunkBytes + length)
    if (keptChunks.has(type)) kept.add(chunk)
    if (type === 'IEND') break
  }
  if (!size || !hasPixels) throw new BrokenImage('The PNG image has no pixels.')
  return { ...size, frames: Math.max(1, frames), bytes: kept.toBytes() }
}

function readSize(file: ByteReader, length: number): { width: number; height: number } {
  const [width, height] = [file.big(4), file.big(4)]
  const isValid = length === 13 && width > 0 && height > 0 && width <= sideMax && height <= sideMax
  if (!isValid) throw new BrokenImage('The size of the PNG image is not valid.')
  return { width, height }
}

/** A frame that is larger than its image would need more memory than its size says. */
function requireInside(
  file: ByteReader,
  length: number,
  size: { width: number; height: number },
): void {
  file.take(4)
  const [width, height, x, y] = [file.big(4), file.big(4), file.big(4), file.big(4)]
  const isInside = length === 26 && x + width <= size.width && y + height <= size.height
  if (!isInside) throw new BrokenImage('A frame of the PNG image is larger than the image.')
}

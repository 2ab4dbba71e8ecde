import { media } from '../../../shared/config'
import { formatBytes } from '../../../shared/format'
import { BrokenImage, ByteReader, toBytes } from './byte-reader'
import { readGif } from './gif'
import { readJpeg } from './jpeg'
import { readPng } from './png'
import type { ReadImage } from './read-image'
import { readWebp } from './webp'

interface Format {
  type: string
  /** Bytes of a file from the given place on. */
  begins: readonly (readonly [at: number, bytes: Uint8Array])[]
  read(file: ByteReader): ReadImage
}

const formats = [
  { type: 'image/png', begins: [[0, toBytes('\x89PNG\r\n\x1a\n')]], read: readPng },
  { type: 'image/jpeg', begins: [[0, toBytes('\xff\xd8\xff')]], read: readJpeg },
  { type: 'image/gif', begins: [[0, toBytes('GIF8')]], read: readGif },
  {
    type: 'image/webp',
    begins: [
      [0, toBytes('RIFF')],
      [8, toBytes('WEBP')],
    ],
    read: readWebp,
  },
] as const satisfies Format[]

const isOf = (file: Uint8Array, { begins }: Format): boolean =>
  begins.every(([at, bytes]) => bytes.every((byte, index) => file[at + index] === byte))

export type ImageType = (typeof formats)[number]['type']

/** An image without what it does not show, or why a file is none that the hub keeps. */
export type CleanedImage =
  | (ReadImage & { kind: 'image'; type: ImageType })
  | { kind: 'unknown' | 'broken' | 'tooManyPixels'; reason: string }

/**
 * Returns an image without its metadata and without what follows it in its file: its parts are copied one by one, and
 * only those that browsers need to show it. Its type is that of its bytes, whatever their sender says.
 */
export function cleanImage(file: Uint8Array): CleanedImage {
  const format = formats.find((each) => isOf(file, each))
  if (!format) {
    return { kind: 'unknown', reason: 'The file is no PNG, JPEG, WebP or GIF image.' }
  }
  try {
    const image = format.read(new ByteReader(file))
    const side = Math.max(image.width, image.height)
    if (image.width * image.height <= media.pixelsMax && side <= media.sideMax) {
      return { kind: 'image', type: format.type, ...image }
    }
    const size = `${image.width} × ${image.height} pixels`
    const max = `${media.pixelsMax / 1_000_000} megapixels and ${media.sideMax} pixels a side`
    return { kind: 'tooManyPixels', reason: `The image has ${size}. At most ${max} are allowed.` }
  } catch (error) {
    if (error instanceof BrokenImage) return { kind: 'broken', reason: error.message }
    throw error
  }
}

/** What may be sent, as a sentence. */
export const acceptedImages = `Send a PNG, JPEG, WebP or GIF image of at most ${formatBytes(media.bytesMax)} and ${media.pixelsMax / 1_000_000} megapixels.`

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

type ImageType = (typeof formats)[number]['type']

/** An image without what it does not show, or why a file is none that the hub keeps. */
export type CleanedImage =
  | (ReadImage & { kind: 'image'; type: ImageType })
  | { kind: 'unknown' | 'broken' | 'animated' | 'tooManyPixels'; reason: string }

/** What is accepted of an image. */
export interface ImageLimits {
  bytesMax: number
  pixelsMax: number
  /** Pixels of the longer side. */
  sideMax: number
  canMove: boolean
  /** The limits as a sentence. */
  accepted: string
}

/** An image in a text. */
export const imageLimits: ImageLimits = {
  bytesMax: media.bytesMax,
  pixelsMax: media.pixelsMax,
  sideMax: media.sideMax,
  canMove: true,
  accepted: `Send a PNG, JPEG, WebP or GIF image of at most ${formatBytes(media.bytesMax)} and ${media.pixelsMax / 1_000_000} megapixels.`,
}

/** The picture of an account or a community: many of them are on one page, so they are small and do not move. */
export const pictureLimits: ImageLimits = {
  bytesMax: media.pictureBytesMax,
  pixelsMax: media.pictureSideMax ** 2,
  sideMax: media.pictureSideMax,
  canMove: false,
  accepted: `Send a PNG, JPEG, WebP or GIF image without animation, of at most ${formatBytes(media.pictureBytesMax)} and ${media.pictureSideMax} × ${media.pictureSideMax} pixels.`,
}

/** The reduced form of an image, for models. */
export const reducedLimits: ImageLimits = {
  bytesMax: media.reducedBytesMax,
  pixelsMax: media.reducedSideMax ** 2,
  sideMax: media.reducedSideMax,
  canMove: false,
  accepted: `Send a PNG, JPEG, WebP or GIF image without animation, of at most ${formatBytes(media.reducedBytesMax)} and ${media.reducedSideMax} × ${media.reducedSideMax} pixels.`,
}

/**
 * Returns an image without its metadata and without what follows it in its file: its parts are copied one by one, and
 * only those that browsers need to show it. Its type is that of its bytes, whatever their sender says.
 */
export function cleanImage(
  file: Uint8Array,
  { pixelsMax, sideMax, canMove }: ImageLimits = imageLimits,
): CleanedImage {
  const format = formats.find((each) => isOf(file, each))
  if (!format) {
    return { kind: 'unknown', reason: 'The file is no PNG, JPEG, WebP or GIF image.' }
  }
  try {
    const image = format.read(new ByteReader(file))
    if (image.frames > 1 && !canMove) {
      return { kind: 'animated', reason: 'The image is animated.' }
    }
    const side = Math.max(image.width, image.height)
    if (image.width * image.height <= pixelsMax && side <= sideMax) {
      return { kind: 'image', type: format.type, ...image }
    }
    const size = `${image.width} × ${image.height} pixels`
    const sides = `${sideMax} pixels a side`
    const max =
      pixelsMax < sideMax ** 2 ? `${pixelsMax / 1_000_000} megapixels and ${sides}` : sides
    return { kind: 'tooManyPixels', reason: `The image has ${size}. At most ${max} are allowed.` }
  } catch (error) {
    if (error instanceof BrokenImage) return { kind: 'broken', reason: error.message }
    throw error
  }
}

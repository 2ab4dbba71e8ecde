import { BrokenImage, ByteReader, ByteWriter, toBytes } from './byte-reader'
import type { ReadImage } from './read-image'

const marker = {
  startOfImage: 0xd8,
  endOfImage: 0xd9,
  startOfScan: 0xda,
  quantization: 0xdb,
  huffman: 0xc4,
  arithmetic: 0xcc,
  restartInterval: 0xdd,
  jfif: 0xe0,
  exif: 0xe1,
  profile: 0xe2,
  adobe: 0xee,
} as const

/** Codes among those of frames that are no frames. */
const noFrames = new Set<number>([marker.huffman, 0xc8, marker.arithmetic])

const isFrame = (code: number): boolean => code >= 0xc0 && code <= 0xcf && !noFrames.has(code)

const tables = new Set<number>([
  marker.quantization,
  marker.huffman,
  marker.arithmetic,
  marker.restartInterval,
])

const jfifName = 'JFIF\0'
const exifName = 'Exif\0\0'
const profileName = 'ICC_PROFILE\0'
const adobeName = 'Adobe'
const adobeBytes = 12

/** A part of a JPEG image, with the pixels that follow it. */
interface Segment {
  code: number
  content: Uint8Array
  pixels: Uint8Array | null
}

/** Reads a JPEG image: ITU-T T.81, B.1. Of its EXIF the orientation is kept, alone. */
export function readJpeg(file: ByteReader): ReadImage {
  file.take(2)
  const segments = [...readSegments(file)]
  const size = findSize(segments)
  const exif = segments.find(isNamed(marker.exif, exifName))
  const orientation = exif ? readOrientation(exif.content.subarray(exifName.length)) : 1
  const jfif = segments.find(isNamed(marker.jfif, jfifName))
  const image = new ByteWriter()
  image.add(Uint8Array.of(0xff, marker.startOfImage))
  if (jfif) image.add(writeJfif(jfif.content))
  if (orientation !== 1) image.add(writeOrientation(orientation))
  for (const segment of segments) image.add(...listKept(segment))
  image.add(Uint8Array.of(0xff, marker.endOfImage))
  const isTurned = orientation >= 5
  return {
    width: isTurned ? size.height : size.width,
    height: isTurned ? size.width : size.height,
    frames: 1,
    bytes: image.toBytes(),
  }
}

function* readSegments(file: ByteReader): Generator<Segment> {
  for (let code = readMarker(file); code !== marker.endOfImage; code = readMarker(file)) {
    const length = file.big(2)
    if (length < 2) throw new BrokenImage('A part of the JPEG image has no length.')
    const content = file.take(length - 2)
    yield { code, content, pixels: code === marker.startOfScan ? takeScan(file) : null }
  }
}

/** @throws BrokenImage unless the image has one size, and then pixels */
function findSize(segments: Segment[]): { width: number; height: number } {
  const frames = segments.filter(({ code }) => isFrame(code))
  const first = segments.find(({ code, pixels }) => isFrame(code) || pixels)
  const [frame] = frames
  if (!frame || frames.length > 1) throw new BrokenImage('The JPEG image needs one size.')
  const hasPixels = segments.some(({ pixels }) => pixels)
  if (first !== frame || !hasPixels) throw new BrokenImage('The JPEG image has no pixels.')
  return readSize(frame.content)
}

const isNamed =
  (code: number, name: string) =>
  (segment: Segment): boolean =>
    segment.code === code && beginsWith(segment.content, name)

const isProfile = isNamed(marker.profile, profileName)
const isAdobe = isNamed(marker.adobe, adobeName)

/** Returns what is kept of a segment. */
function listKept(segment: Segment): Uint8Array[] {
  const { code, content, pixels } = segment
  if (isAdobe(segment)) return [writeAdobe(content)]
  if (!isFrame(code) && !tables.has(code) && !pixels && !isProfile(segment)) return []
  const length = content.length + 2
  return [
    Uint8Array.of(0xff, code, length >> 8, length & 255),
    content,
    ...(pixels ? [pixels] : []),
  ]
}

/** Any number of 0xff may stand before a marker. */
function readMarker(file: ByteReader): number {
  if (file.byte() !== 0xff) throw new BrokenImage('A part of the JPEG image is missing.')
  let code = file.byte()
  while (code === 0xff) code = file.byte()
  return code
}

/** Takes the pixels that follow the header of a scan, up to the next marker. */
function takeScan(file: ByteReader): Uint8Array {
  const { bytes, at: start, end } = file
  let at = start
  for (;;) {
    at = bytes.indexOf(0xff, at)
    if (at < 0 || at + 1 >= end) throw new BrokenImage('The file ends before its image does.')
    const next = bytes[at + 1] ?? 0
    const isPixel = next === 0 || (next >= 0xd0 && next <= 0xd7)
    if (!isPixel) break
    at += 2
  }
  return file.take(at - start)
}

const beginsWith = (content: Uint8Array, name: string): boolean =>
  content.length >= name.length && toBytes(name).every((byte, index) => content[index] === byte)

function readSize(content: Uint8Array): { width: number; height: number } {
  const reader = new ByteReader(content, 1)
  const [height, width] = [reader.big(2), reader.big(2)]
  if (width === 0 || height === 0) throw new BrokenImage('The size of the JPEG image is not valid.')
  return { width, height }
}

/** Keeps version and density, and leaves out the thumbnail, which can show what the picture no longer does. */
function writeJfif(content: Uint8Array): Uint8Array {
  const reader = new ByteReader(content, jfifName.length)
  const version = reader.take(2)
  const density = reader.take(5)
  return Uint8Array.of(0xff, marker.jfif, 0, 16, ...toBytes(jfifName), ...version, ...density, 0, 0)
}

/** Keeps the fields that say how the colors are stored. */
const writeAdobe = (content: Uint8Array): Uint8Array => {
  const fields = new ByteReader(content).take(adobeBytes)
  return Uint8Array.of(0xff, marker.adobe, 0, adobeBytes + 2, ...fields)
}

const orientationTag = 0x0112
const shortType = 3

/** Returns the orientation that EXIF states, from 1 to 8; 1 when it states none. */
function readOrientation(exif: Uint8Array): number {
  try {
    return findOrientation(exif)
  } catch (error) {
    if (error instanceof BrokenImage) return 1
    throw error
  }
}

function findOrientation(exif: Uint8Array): number {
  const reader = new ByteReader(exif)
  const order = reader.text(2)
  if (order !== 'II' && order !== 'MM') return 1
  const read = (length: number) => (order === 'II' ? reader.little(length) : reader.big(length))
  if (read(2) !== 42) return 1
  reader.at = Math.min(read(4), reader.end)
  for (let left = read(2); left > 0; left--) {
    const [tag, type, count, value] = [read(2), read(2), read(4), read(2)]
    read(2)
    if (tag !== orientationTag) continue
    return type === shortType && count === 1 && value >= 1 && value <= 8 ? value : 1
  }
  return 1
}

/** Writes EXIF with the orientation and nothing else. */
function writeOrientation(orientation: number): Uint8Array {
  const header = [0x4d, 0x4d, 0, 42, 0, 0, 0, 8, 0, 1]
  const entry = [orientationTag >> 8, orientationTag & 255, 0, shortType, 0, 0, 0, 1]
  const content = [...toBytes(exifName), ...header, ...entry, 0, orientation, 0, 0, 0, 0, 0, 0]
  return Uint8Array.of(0xff, marker.exif, 0, content.length + 2, ...content)
}

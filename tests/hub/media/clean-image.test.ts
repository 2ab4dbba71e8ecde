import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cleanImage } from '../../../src/hub/media/images/clean-image'
import { type SampleName, samples } from './samples'

const names = Object.keys(samples) as SampleName[]
const types: Record<SampleName, string> = {
  jpeg: 'image/jpeg',
  progressive: 'image/jpeg',
  png: 'image/png',
  webp: 'image/webp',
  webpLossless: 'image/webp',
  webpAnimated: 'image/webp',
  gif: 'image/gif',
}
const framesOf = (name: SampleName) => (name === 'gif' || name === 'webpAnimated' ? 2 : 1)

const latin1 = (bytes: Uint8Array) =>
  Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')
const ascii = (text: string) => Uint8Array.from(text, (each) => each.charCodeAt(0))
const join = (...parts: (Uint8Array | number[])[]) =>
  Uint8Array.from(parts.flatMap((each) => [...each]))
const big = (value: number) => [
  value >>> 24,
  (value >>> 16) & 255,
  (value >>> 8) & 255,
  value & 255,
]
const little = (value: number) => big(value).reverse()

function clean(bytes: Uint8Array) {
  const cleaned = cleanImage(bytes)
  if (cleaned.kind !== 'image') throw new Error(cleaned.reason)
  return cleaned
}

/** What EXIF, XMP, comments and texts of the samples are known by. */
const metadata = /SECRET|Exif|xmpmeta|xpacket|EXIF|XMP |tEXt|iTXt|eXIf|Photoshop/

test.each(names)('H18: %s keeps its size, type and frames, and loses its metadata', (name) => {
  const cleaned = clean(samples[name])
  expect(cleaned).toMatchObject({ type: types[name], width: 16, height: 8, frames: framesOf(name) })
  expect(latin1(cleaned.bytes)).not.toMatch(metadata)
  expect(cleaned.bytes.length).toBeLessThanOrEqual(samples[name].length)
})

test.each(names)('H18: a cleaned %s is cleaned to itself', (name) => {
  const { bytes } = clean(samples[name])
  expect(clean(bytes).bytes).toEqual(bytes)
})

test.each(names)('H18: what follows the end of a %s is cut', (name) => {
  const tail = ascii('<script>alert(1)</script>PK\x03\x04 SECRET')
  expect(clean(join(samples[name], tail)).bytes).toEqual(clean(samples[name]).bytes)
})

test.each(names)('H18: a %s that ends too early is refused with a reason', (name) => {
  const { bytes } = clean(samples[name])
  for (let length = 0; length < bytes.length; length++) {
    const cleaned = cleanImage(bytes.subarray(0, length))
    expect(cleaned.kind, `${length} of ${bytes.length} bytes`).toMatch(/^(broken|unknown)$/)
    expect(cleaned).toHaveProperty('reason', expect.stringMatching(/\.$/))
  }
})

test('H18: a file is judged without an exception, and a cleaned one is clean', () => {
  const changed = fc.record({
    name: fc.constantFrom(...names),
    changes: fc.array(fc.record({ at: fc.nat(1_000), byte: fc.nat(255) }), { maxLength: 12 }),
    tail: fc.uint8Array({ maxLength: 40 }),
    length: fc.nat(1_000),
  })
  fc.assert(
    fc.property(changed, ({ name, changes, tail, length }) => {
      const bytes = join(samples[name].subarray(0, length), tail)
      for (const { at, byte } of changes) if (at < bytes.length) bytes[at] = byte
      const cleaned = cleanImage(bytes)
      if (cleaned.kind !== 'image') {
        expect(cleaned.reason).toMatch(/\.$/)
        return
      }
      const { width, height, frames } = cleaned
      expect(cleanImage(cleaned.bytes)).toMatchObject({ kind: 'image', width, height, frames })
    }),
  )
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      const cleaned = cleanImage(bytes)
      expect(cleaned.kind).toMatch(/^(unknown|broken)$/)
    }),
  )
})

/** A JPEG image with a part before all others. */
const withSegment = (code: number, content: Uint8Array) =>
  join(
    [0xff, 0xd8, 0xff, code, (content.length + 2) >> 8, (content.length + 2) & 255],
    content,
    samples.progressive.subarray(2),
  )

const exifOf = (order: 'II' | 'MM', orientation: number) => {
  const long = order === 'II' ? little : big
  const short = (value: number) => (order === 'II' ? [value, 0] : [0, value])
  const tag = order === 'II' ? [0x12, 0x01] : [0x01, 0x12]
  return join(
    ascii(`Exif\0\0${order}`),
    [...short(42), ...long(8), ...short(1), ...tag, ...short(3), ...long(1), ...short(orientation)],
    [0, 0, ...long(0)],
    ascii('SECRET PLACE'),
  )
}

test.each([
  ['II', 6, 8, 16],
  ['MM', 8, 8, 16],
  ['MM', 3, 16, 8],
  ['II', 1, 16, 8],
  ['II', 9, 16, 8],
] as const)(
  'H18: a photo of the orientation %s %i keeps it, alone',
  (order, orientation, width, height) => {
    const cleaned = clean(withSegment(0xe1, exifOf(order, orientation)))
    expect(cleaned).toMatchObject({ width, height })
    expect(latin1(cleaned.bytes)).not.toContain('SECRET')
    const plain = clean(samples.progressive)
    if (orientation === 1 || orientation === 9) {
      expect(cleaned.bytes).toEqual(plain.bytes)
      return
    }
    const again = clean(cleaned.bytes)
    expect(again).toMatchObject({ width, height })
    expect(again.bytes).toEqual(cleaned.bytes)
  },
)

test.each([
  ['a comment', 0xfe, ascii('SECRET')],
  ['IPTC', 0xed, ascii('Photoshop 3.0\0SECRET')],
  ['XMP', 0xe1, ascii('http://ns.adobe.com/xap/1.0/\0SECRET')],
  ['an unknown part', 0xe5, ascii('SECRET')],
  ['EXIF that points nowhere', 0xe1, ascii('Exif\0\0MM\0*\x7f\xff\xff\xffSECRET')],
  ['a thumbnail', 0xe0, ascii('JFIF\0\x01\x02\0\0\x01\0\x01\x02\x01SECRET')],
])('H18: %s of a JPEG image is left out', (_what, code, content) => {
  const cleaned = clean(withSegment(code, content))
  expect(cleaned).toMatchObject({ width: 16, height: 8 })
  expect(latin1(cleaned.bytes)).not.toContain('SECRET')
})

test('H18: a profile of colors stays', () => {
  const cleaned = clean(withSegment(0xe2, ascii('ICC_PROFILE\0\x01\x01profile')))
  expect(latin1(cleaned.bytes)).toContain('profile')
})

const chunk = (name: string, content: Uint8Array | number[]) =>
  join(big(content.length), ascii(name), content, [0, 0, 0, 0])
const pngOf = (width: number, height: number, ...more: Uint8Array[]) =>
  join(
    ascii('\x89PNG\r\n\x1a\n'),
    chunk('IHDR', [...big(width), ...big(height), 8, 2, 0, 0, 0]),
    ...more,
    chunk('IDAT', [1]),
    chunk('IEND', []),
  )

test('H18: texts, times and private parts of a PNG image are left out', () => {
  const more = ['tEXt', 'zTXt', 'iTXt', 'tIME', 'eXIf', 'prVt'].map((name) =>
    chunk(name, ascii('SECRET')),
  )
  expect(clean(pngOf(3, 4, ...more)).bytes).toEqual(pngOf(3, 4))
})

const gifOf = (screen: [number, number], ...parts: (Uint8Array | number[])[]) =>
  join(ascii('GIF89a'), [screen[0], 0, screen[1], 0, 0, 0, 0], ...parts, [0x3b])
const gifFrame = (width: number, height: number) => [
  0x2c,
  0,
  0,
  0,
  0,
  width,
  0,
  height,
  0,
  0,
  2,
  1,
  0x44,
  0,
]
const gifBlock = (label: number, ...texts: string[]) =>
  join([0x21, label], ...texts.map((text) => join([text.length], ascii(text))), [0])

test('H18: comments, texts and data of applications are left out of a GIF image, its loop stays', () => {
  const loop = gifBlock(0xff, 'NETSCAPE2.0', '\x01\0\0')
  const control = gifBlock(0xf9, '\0\x0a\0\0')
  const file = gifOf(
    [4, 4],
    gifBlock(0xfe, 'SECRET'),
    gifBlock(0xff, 'XMP DataXMP', 'SECRET'),
    gifBlock(0xff, 'NETSCAPE2.0', '\x01\0\0', 'SECRET'),
    loop,
    control,
    gifBlock(0x01, '123456789012', 'SECRET'),
    control,
    gifFrame(4, 4),
  )
  expect(clean(file).bytes).toEqual(gifOf([4, 4], loop, control, gifFrame(4, 4)))
})

const webpOf = (...chunks: [string, number[]][]) => {
  const content = join(
    ascii('WEBP'),
    ...chunks.map(([name, data]) =>
      join(ascii(name), little(data.length), data, data.length % 2 === 1 ? [0] : []),
    ),
  )
  return join(ascii('RIFF'), little(content.length), content)
}
const lossless = (width: number, height: number) => [
  0x2f,
  ...little((width - 1) | ((height - 1) << 14)),
]
const canvas = (width: number, height: number) => [
  0x0c,
  0,
  0,
  0,
  ...little(width - 1).slice(0, 3),
  ...little(height - 1).slice(0, 3),
]

test('H18: the header of a WebP image says nothing of metadata that was left out', () => {
  const file = webpOf(
    ['VP8X', canvas(5, 6)],
    ['VP8L', lossless(5, 6)],
    ['EXIF', [1, 2, 3]],
    ['XMP ', [1]],
    ['SCRT', [1]],
  )
  const header = canvas(5, 6)
  header[0] = 0
  expect(clean(file).bytes).toEqual(webpOf(['VP8X', header], ['VP8L', lossless(5, 6)]))
})

test.each([
  ['a script', ascii('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')],
  ['a page', ascii('<!doctype html><script>alert(1)</script>')],
  ['a PDF', ascii('%PDF-1.7')],
  ['AVIF', join([0, 0, 0, 28], ascii('ftypavif'))],
  ['nothing', new Uint8Array()],
])('H18: %s is no image', (_what, bytes) => {
  expect(cleanImage(bytes)).toMatchObject({ kind: 'unknown' })
})

test.each([
  ['huge PNG', pngOf(50_000, 50_000)],
  ['PNG just above', pngOf(40_001, 1_000)],
  ['PNG with a long side', pngOf(100_000, 1)],
  ['huge WebP', webpOf(['VP8L', lossless(16_000, 16_000)])],
])('H18: a %s image is refused for its pixels', (_what, bytes) => {
  expect(cleanImage(bytes)).toMatchObject({
    kind: 'tooManyPixels',
    reason: expect.stringContaining('40'),
  })
})

test('H18: an image of as many pixels as are allowed is taken', () => {
  expect(clean(pngOf(40_000, 1_000))).toMatchObject({ width: 40_000, height: 1_000 })
})

test.each([
  ['a GIF frame larger than its image', gifOf([1, 1], gifFrame(200, 200))],
  ['a GIF image without a frame', gifOf([1, 1])],
  ['a GIF image without a size', gifOf([0, 1], gifFrame(0, 1))],
  ['a PNG image without a size', pngOf(0, 5)],
  ['a PNG image with two sizes', pngOf(5, 5, chunk('IHDR', [...big(9), ...big(9), 8, 2, 0, 0, 0]))],
  [
    'a PNG frame larger than its image',
    pngOf(
      5,
      5,
      chunk('fcTL', [...big(0), ...big(9), ...big(9), ...big(0), ...big(0), 0, 1, 0, 1, 0, 0]),
    ),
  ],
  ['a PNG part that is longer than the file', pngOf(5, 5, join(big(0x7fffffff), ascii('tEXt')))],
  [
    'a WebP picture larger than its canvas',
    webpOf(['VP8X', canvas(5, 5)], ['VP8L', lossless(900, 900)]),
  ],
  ['a WebP image with two pictures', webpOf(['VP8L', lossless(5, 5)], ['VP8L', lossless(5, 5)])],
  ['a WebP image without a picture', webpOf(['VP8X', canvas(5, 5)])],
])('H18: %s is broken', (_what, bytes) => {
  expect(cleanImage(bytes)).toMatchObject({ kind: 'broken', reason: expect.stringMatching(/\.$/) })
})

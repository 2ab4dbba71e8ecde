import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../../scripts/local-state.mjs'

const read = (name: string) => readFileSync(join(root, 'src/web/styles', name), 'utf8')
const marks = read('parts.css')

/** Relative luminance (WCAG 2.2) of linear RGB. */
const toLuminance = ([r, g, b]: number[]) =>
  0.2126 * (r ?? 0) + 0.7152 * (g ?? 0) + 0.0722 * (b ?? 0)

/** Linear sRGB of a color in OKLCH: https://bottosson.github.io/posts/oklab/ */
function fromOklch(lightness: number, chroma: number, degrees: number): number[] {
  const hue = (degrees * Math.PI) / 180
  const [a, b] = [chroma * Math.cos(hue), chroma * Math.sin(hue)]
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((channel) => Math.min(1, Math.max(0, channel)))
}

const fromHex = (hex: string): number[] =>
  [1, 3, 5].map((at) => {
    const channel = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4
  })

const contrast = (one: number[], other: number[]): number => {
  const [low = 0, high = 0] = [toLuminance(one), toLuminance(other)].sort((a, b) => a - b)
  return (high + 0.05) / (low + 0.05)
}

test('H18: an initial is readable on the color of every name, in both themes', () => {
  const [, light = '', dark = ''] =
    /--bg: light-dark\((#\w{6}), (#\w{6})\)/.exec(read('tokens.css')) ?? []
  const fills = [...marks.matchAll(/oklch\((\d+)% ([\d.]+) var\(--h\)\)/g)]
  const hues = [...marks.matchAll(/^\.h\d \{\s+--h: (\d+);/gm)].map(([, hue]) => Number(hue))
  expect([fills.length, hues.length]).toEqual([2, 8])
  for (const [index, text] of [light, dark].entries()) {
    const [, lightness, chroma] = fills[index] ?? []
    for (const hue of hues) {
      const fill = fromOklch(Number(lightness) / 100, Number(chroma), hue)
      expect(contrast(fill, fromHex(text)), `hue ${hue} on ${text}`).toBeGreaterThan(4.5)
    }
  }
})

/** Where something stands in a text. */
export type Span = [from: number, to: number]

const percent = '%(?:25){0,3}'

/** What answers are wrapped, marked up and joined of parts with. */
const gap = `\\s+|\\\\{1,8}[rn]|${percent}0[ad]|&#(?:10|13|x0*[ad]);|<[^<>]{1,80}>`
const plus = `-|${percent}2b|\\\\{1,8}u002b`
const slash = `_|\\\\{1,8}(?:/|u002f)|${percent}2f`

const gaps = new RegExp(gap, 'gi')
const gapsOfBase64 = new RegExp(`${gap}|(${plus})|${slash}`, 'gi')

/** Without gaps and in small letters. */
export const squeeze = (text: string): string => toLower(text).replace(gaps, '')

/** And with the two odd letters of base64 as they are without an escape. */
export const squeezeBase64 = (text: string): string =>
  toLower(text).replace(gapsOfBase64, (written, isPlus) => letterFor(written, isPlus))

const letterFor = (written: string, isPlus: string | undefined): string => {
  if (isPlus !== undefined) return '+'
  return isGap.test(written) ? '' : '/'
}

const isGap = new RegExp(`^(?:${gap})$`, 'i')

/** As long as the text: the one letter that gets longer becomes another. */
export const toLower = (text: string): string => text.replaceAll('\u0130', 'i').toLowerCase()

/** Where squeezed forms are in a text that is squeezed in the same way. */
export function findSqueezed(text: string, plain: string[], base64: string[]): Span[] {
  return [
    ...toSpans(text, gaps, findForms(squeeze(text), plain)),
    ...toSpans(text, gapsOfBase64, findForms(squeezeBase64(text), base64)),
  ]
}

export function findForms(text: string, forms: string[]): Span[] {
  return forms.flatMap((form) => {
    const spans: Span[] = []
    for (let at = text.indexOf(form); at !== -1; at = text.indexOf(form, at + form.length)) {
      spans.push([at, at + form.length])
    }
    return spans
  })
}

/** From the squeezed text back to the text; looks at each character, but only when something was found. */
function toSpans(text: string, squeezedOut: RegExp, found: Span[]): Span[] {
  if (found.length === 0) return []
  const starts: number[] = []
  const ends: number[] = []
  const keep = (from: number, to: number) => {
    starts.push(from)
    ends.push(to)
  }
  let end = 0
  for (const { 0: written, index } of toLower(text).matchAll(squeezedOut)) {
    for (; end < index; end++) keep(end, end + 1)
    end = index + written.length
    if (!isGap.test(written)) keep(index, end)
  }
  for (; end < text.length; end++) keep(end, end + 1)
  return found.map(([from, to]) => [starts[from] ?? 0, ends[to - 1] ?? text.length])
}

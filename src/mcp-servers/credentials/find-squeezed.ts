/** The position of a match in a text. */
export type Span = [from: number, to: number]

const percent = '%(?:25){0,3}'

/** What responses insert within a text: white space, line breaks in any escape, and tags. */
const gap = `\\s+|\\\\{1,8}[rn]|${percent}0[ad]|&#(?:10|13|x0*[ad]);|<[^<>]{1,80}>`
const plus = `-|${percent}2b|\\\\{1,8}u002b`
const slash = `_|\\\\{1,8}(?:/|u002f)|${percent}2f`

const gaps = new RegExp(gap, 'gi')
const gapsOfBase64 = new RegExp(`${gap}|(${plus})|${slash}`, 'gi')

/** Returns a text in lower case without gaps. */
export const squeeze = (text: string): string => toLower(text).replace(gaps, '')

/** Returns a text as `squeeze` does, with the two special characters of base64 unescaped. */
export const squeezeBase64 = (text: string): string =>
  toLower(text).replace(gapsOfBase64, (written, isPlus) => letterFor(written, isPlus))

const letterFor = (written: string, isPlus: string | undefined): string => {
  if (isPlus !== undefined) return '+'
  return isGap.test(written) ? '' : '/'
}

const isGap = new RegExp(`^(?:${gap})$`, 'i')

/** Returns a text in lower case, of the same length: the one letter that would get longer is replaced. */
export const toLower = (text: string): string => text.replaceAll('\u0130', 'i').toLowerCase()

/** Returns where squeezed forms occur in a text, as positions in the original text. */
export function findSqueezedForms(text: string, plain: string[], base64: string[]): Span[] {
  return [
    ...toSpans(text, gaps, findForms(squeeze(text), plain)),
    ...toSpans(text, gapsOfBase64, findForms(squeezeBase64(text), base64)),
  ]
}

/** Returns every occurrence of each form. */
export function findForms(text: string, forms: string[]): Span[] {
  return forms.flatMap((form) => {
    const spans: Span[] = []
    for (let at = text.indexOf(form); at !== -1; at = text.indexOf(form, at + form.length)) {
      spans.push([at, at + form.length])
    }
    return spans
  })
}

/** Maps positions in the squeezed text to the original. It reads each character, only when there is a match. */
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

import { findForms, type Span, toLower } from './find-squeezed'

/** Fewer characters of a secret than this tell little of it, and may be of any word. */
const partCharsMin = 4

/**
 * For texts that are shown one after the other, as they come: whatever ends like a secret begins may go
 * on in the next text, so it is taken for a part of it before that is known. Spaces do not count.
 *
 * @param forms squeezed
 * @returns the spans of each next text
 */
export function createPartsFinder(forms: string[]): (part: string) => Span[] {
  const longest = Math.max(0, ...forms.map(({ length }) => length))
  let before = ''
  return (part) => {
    const own = [...part.matchAll(/\S/g)]
    const start = before.length
    const all = before + toLower(own.join(''))
    before = all.slice(-longest)
    return [...findForms(all, forms), ...findBegun(all, forms)].flatMap(([from, to]): Span[] => {
      const first = own[Math.max(from - start, 0)]
      const last = own[to - start - 1]
      return first && last ? [[first.index, last.index + 1]] : []
    })
  }
}

/** What a form begins with, at the end. */
function findBegun(text: string, forms: string[]): Span[] {
  return forms.flatMap((form) => {
    for (let at = Math.max(text.length - form.length, 0); at <= text.length - partCharsMin; at++) {
      if (form.startsWith(text.slice(at))) return [[at, text.length]]
    }
    return []
  })
}

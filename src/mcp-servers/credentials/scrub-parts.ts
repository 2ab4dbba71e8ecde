import { findForms, type Span, toLower } from './find-squeezed'

/** Fewer characters of a secret reveal little, and can belong to any word. */
const partCharsMin = 4

/**
 * Creates a finder of secrets that span several texts, which are shown one by one as they arrive. A text
 * that ends like the beginning of a secret is treated as a match, since the next one may continue it.
 * White space is ignored.
 *
 * @param forms squeezed
 * @returns a function that returns the spans of each next text
 */
export function createPartsFinder(forms: string[]): (part: string) => Span[] {
  const longest = Math.max(0, ...forms.map(({ length }) => length))
  let before = ''
  return (part) => {
    const own = [...part.matchAll(/\S/g)]
    const start = before.length
    const all = before + toLower(own.join(''))
    before = all.slice(-longest)
    return [...findForms(all, forms), ...findTrailingPrefixes(all, forms)].flatMap(
      ([from, to]): Span[] => {
        const first = own[Math.max(from - start, 0)]
        const last = own[to - start - 1]
        return first && last ? [[first.index, last.index + 1]] : []
      },
    )
  }
}

/** Returns, for each form, the end of the text that equals the beginning of the form. */
function findTrailingPrefixes(text: string, forms: string[]): Span[] {
  return forms.flatMap((form) => {
    for (let at = Math.max(text.length - form.length, 0); at <= text.length - partCharsMin; at++) {
      if (form.startsWith(text.slice(at))) return [[at, text.length]]
    }
    return []
  })
}

import { parse, postprocess, preprocess } from 'micromark'
import { gfm } from 'micromark-extension-gfm'
import { readMentions } from '../../shared/mention'
import { limitMarkup } from '../markdown/limit-markup'

/** Names looked up for one text. Of the existing ones, the first ten are notified. */
const CANDIDATES_MAX = 100

/** Token types of Markdown in which a name is not a mention. */
const maskedTypes = new Set([
  'codeText',
  'codeFenced',
  'codeIndented',
  'blockQuote',
  'link',
  'image',
  'autolink',
  'literalAutolink',
  'definition',
  'htmlFlow',
  'htmlText',
  'characterEscape',
])

/** Emphasis does not affect mentions, and parsing it can take quadratic time. */
const withoutEmphasis = { disable: { null: ['attention', 'strikethrough'] } }

/**
 * Returns the names that a Markdown text mentions, in lower case, each once, in order of appearance.
 * Names in code, quotes, links, HTML and e-mail addresses do not count. The names may not exist.
 */
export function findMentions(text: string): string[] {
  if (!text.includes('@')) return []
  const names = new Set<string>()
  for (const name of readMentions(maskMarkup(text))) {
    names.add(name)
    if (names.size === CANDIDATES_MAX) break
  }
  return [...names]
}

/** Replaces everything but plain prose by spaces; the length stays the same. */
function maskMarkup(text: string): string {
  // A leading byte order mark is dropped by the parser, which would shift its offsets.
  const source = text.replace(/^\uFEFF/, ' ')
  const parser = parse({ extensions: [gfm(), withoutEmphasis, limitMarkup(source)] })
  const events = postprocess(parser.document().write(preprocess()(source, undefined, true)))
  const kept: string[] = []
  let end = 0
  for (const [kind, token] of events) {
    if (kind !== 'enter' || !maskedTypes.has(token.type) || token.end.offset <= end) continue
    const start = Math.max(token.start.offset, end)
    kept.push(source.slice(end, start), ' '.repeat(token.end.offset - start))
    end = token.end.offset
  }
  kept.push(source.slice(end))
  return kept.join('')
}

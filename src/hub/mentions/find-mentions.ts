import { parse, postprocess, preprocess } from 'micromark'
import { gfm } from 'micromark-extension-gfm'
import { readMentions } from '../../mention'
import { affordableMarkup } from '../markdown/affordable-markup'

/** Names looked up for one text; of those that exist, the first ten are delivered (H4). */
const CANDIDATES_MAX = 100

/** Parts of a Markdown text in which a name is not a mention. */
const masked = new Set([
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

/** A mention needs no emphasis, which takes the parser quadratic time. */
const withoutEmphasis = { disable: { null: ['attention', 'strikethrough'] } }

/**
 * The names that a Markdown text mentions, in lower case, each once, in order of appearance. Not in
 * code, quotes, links, HTML or e-mail addresses (H4). Whether they exist is the caller's question.
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

/** The text with everything that is not running text blanked out, at the same length. */
function maskMarkup(text: string): string {
  // A leading byte order mark is dropped by the parser, which would shift its offsets.
  const source = text.replace(/^\uFEFF/, ' ')
  const parser = parse({ extensions: [gfm(), withoutEmphasis, affordableMarkup(source)] })
  const events = postprocess(parser.document().write(preprocess()(source, undefined, true)))
  const kept: string[] = []
  let end = 0
  for (const [kind, token] of events) {
    if (kind !== 'enter' || !masked.has(token.type) || token.end.offset <= end) continue
    const start = Math.max(token.start.offset, end)
    kept.push(source.slice(end, start), ' '.repeat(token.end.offset - start))
    end = token.end.offset
  }
  kept.push(source.slice(end))
  return kept.join('')
}

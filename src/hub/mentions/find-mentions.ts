import { parse, postprocess, preprocess } from 'micromark'
import { gfm } from 'micromark-extension-gfm'
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

/**
 * `@name`, not behind what makes it part of a word, an address or a path, and not before what makes
 * it one (`@user@host`, `@scope/package`). Two hyphens are a dash and end a name. Underscores
 * before it are emphasis.
 */
const mention =
  /(?<!_|[\p{L}\p{N}\p{M}@./+:#=\\-]_*)(_*)@((?:[a-z0-9_]|-(?!-)){2,64})(?![a-z0-9_@/]|-(?!-))/giu

const name = /^[a-z0-9_-]{2,32}$/

/** A mention needs no emphasis, which takes the parser quadratic time. */
const withoutEmphasis = { disable: { null: ['attention', 'strikethrough'] } }

/**
 * The names that a Markdown text mentions, in lower case, each once, in order of appearance. Not in
 * code, quotes, links, HTML or e-mail addresses (H4). Whether they exist is the caller's question.
 */
export function findMentions(text: string): string[] {
  if (!text.includes('@')) return []
  const names = new Set<string>()
  for (const [, emphasis = '', word = ''] of maskMarkup(text).matchAll(mention)) {
    const isEmphasized = emphasis !== '' && word.endsWith(emphasis)
    const found = (isEmphasized ? word.slice(0, -emphasis.length) : word).toLowerCase()
    if (name.test(found)) names.add(found)
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

import MarkdownIt from 'markdown-it'
import { renderedTexts } from '../config'
import { keep } from '../keep'
import { showsText } from '../texts'
import { countWork, TooComplexError, Work } from './count-work'
import { isAllowedHtml, type TextPlace, useHtmlRules } from './html-rules'
import { useNames } from './mention'
import { useFootnotes, useLinkLabels, useStrikethrough, useTasks, useWebAddresses } from './syntax'

/**
 * The parser of GFM with footnotes and mentions; raw HTML is text. It keeps nothing of a text: what belongs to one is
 * in its `env`, and the work that the text may cost, too.
 */
export const getGfm = keep(() => {
  const gfm = new MarkdownIt()
  gfm.disable(['html_block', 'html_inline', 'linkify', 'replacements', 'smartquotes'])
  gfm.normalizeLink = gfm.utils.lib.mdurl.encode
  gfm.normalizeLinkText = (text) => text
  // The HTML rules leave out the targets that are not safe.
  gfm.validateLink = () => true
  useWebAddresses(gfm)
  useLinkLabels(gfm)
  useStrikethrough(gfm)
  useFootnotes(gfm)
  useNames(gfm)
  useTasks(gfm)
  useHtmlRules(gfm)
  countWork(gfm)
  return gfm
})

/**
 * The parser of a text that is shown as it is. It knows paragraphs, ends of lines, addresses and mentions only, which take
 * linear time.
 */
const getPlain = keep(() => {
  const plain = new MarkdownIt('zero', { breaks: true })
  plain.enable('newline')
  useWebAddresses(plain)
  useNames(plain)
  useHtmlRules(plain)
  return plain
})

/**
 * How many texts this isolate has rendered, how many of them as plain text because they are too complex, and how many
 * because their HTML is not allowed, which is a bug; for `/metrics` and for tests that count.
 */
export const renderTotals = { texts: 0, tooComplex: 0, disallowed: 0 }

interface Rendered {
  html: string
  /** Names that the text mentions, in lower case, each once, in order of appearance: those that are links in the HTML. */
  names: string[]
  /** Ids of the images of the hub that the HTML shows, each once. */
  images: string[]
}

/** All ids have this length, so that a text is as long wherever it stands. */
const anyPlace: TextPlace = { heading: 3, id: '00000000-0000-0000-0000-000000000000' }

/**
 * Renders Markdown as safe HTML, with the names that it mentions. Links keep only http, https, mailto and relative
 * targets. Images of this hub are shown; those of other hosts become links. Names after an @ become links, except in code, links and quotes; `unlinkUnknownNames`
 * removes those of no account. The work is proportional to the length of the text: one that takes more, or whose HTML
 * would be too long, is shown as plain text with a note.
 */
export function renderMarkdown(text: string, place: TextPlace = anyPlace): Rendered {
  renderTotals.texts++
  const source = text.replace(/^\uFEFF/, '')
  return renderGfm(source, place) ?? renderAsPlain(source)
}

/** Returns the names that a Markdown text mentions, as it is rendered. */
export const findMentions = (text: string): string[] =>
  text.includes('@') ? renderMarkdown(text).names : []

/** Returns the ids of the images of the hub that a Markdown text shows, as it is rendered. */
export const listImages = (text: string): string[] =>
  text.includes('/media/') ? renderMarkdown(text).images : []

/**
 * Returns the first line of a Markdown text that shows anything, as it is shown and without its formatting; '' for a
 * text without one.
 */
export function readFirstLine(text: string, isWanted = showsText): string {
  const lines = [...listShownTexts(text), text].flatMap((each) => each.split(/[\r\n]+/))
  return (
    lines
      .map((line) => line.replace(/\s+/g, ' ').trim())
      .find((line) => showsText(line) && isWanted(line)) ?? ''
  )
}

/** Lists what each paragraph, heading, cell and block of code of a Markdown text shows; none for one that is too complex. */
function listShownTexts(text: string): string[] {
  const env = { ...anyPlace, isPlain: false, work: new Work(text.length), ...emptySets() }
  try {
    return getGfm()
      .parse(text, env)
      .map(({ type, content, children }) => {
        if (type !== 'inline') return type === 'fence' || type === 'code_block' ? content : ''
        return (children ?? [])
          .map((token) => (token.type.endsWith('break') ? '\n' : token.content))
          .join('')
      })
  } catch (error) {
    if (!(error instanceof TooComplexError)) throw error
    return []
  }
}

const emptySets = () => ({ names: new Set<string>(), images: new Set<string>(), spans: 0 })

/** @param spans how many elements for colors of code count as used */
function renderGfm(text: string, place: TextPlace, spans = 0): Rendered | null {
  const env = { ...place, isPlain: false, work: new Work(text.length), ...emptySets(), spans }
  try {
    const html = getGfm().render(text, env).trimEnd()
    // Without colors the text keeps its formatting.
    if (html.length > renderedTexts.htmlCharsMax && env.spans > spans)
      return renderGfm(text, place, renderedTexts.codeSpansMax)
    if (html.length > renderedTexts.htmlCharsMax) throw new TooComplexError()
    if (isAllowedHtml(html)) return { html, names: [...env.names], images: [...env.images] }
    renderTotals.disallowed++
  } catch (error) {
    if (!(error instanceof TooComplexError)) throw error
    renderTotals.tooComplex++
  }
  return null
}

const note = '<p><em>Shown as plain text: its formatting is too complex.</em></p>'

/** Renders a text without its formatting. Each name is a link once, so that the HTML is at most six times longer. */
export function renderAsPlain(text: string): Rendered {
  const env = { ...anyPlace, isPlain: true, ...emptySets() }
  const html = getPlain().render(text, env).trimEnd()
  return { html: `${note}\n${html}`, names: [...env.names], images: [] }
}

const escapes: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Returns a text as one paragraph of HTML, without any markup. */
export const renderPlainText = (text: string): string => {
  const escaped = text.replace(/[&<>"]/g, (each) => escapes[each] ?? each)
  return `<p>${escaped.replace(/\r\n?|\n/g, '<br>')}</p>`
}

const mentionLink = /<a class="at" href="[^"]*">(@([^<]*))<\/a>/g

/**
 * Returns stored HTML in which only names of `known` accounts are links.
 *
 * @param known names in lower case
 */
export const unlinkUnknownNames = (html: string, known: ReadonlySet<string>): string =>
  html.replace(mentionLink, (link, text: string, name: string) =>
    known.has(name.toLowerCase()) ? link : text,
  )

/** Returns the names that stored HTML mentions, in lower case. */
export const listMentionedNames = (html: string): string[] =>
  Array.from(html.matchAll(mentionLink), ([, , name = '']) => name.toLowerCase())

/** Returns those of the names that a Markdown text does not mention: `@bobby` does not mention bob. */
export function findUnmentioned(text: string, names: readonly string[]): string[] {
  const mentioned = new Set(findMentions(text))
  return names.filter((name) => !mentioned.has(name.toLowerCase()))
}

/**
 * Prepends a mention of every name that a Markdown text does not mention; on a separate line before Markdown blocks.
 */
export function addMentions(text: string, names: readonly string[]): string {
  const missing = findUnmentioned(text, names)
  if (missing.length === 0) return text
  const added = missing.map((name) => `@${name}`).join(' ')
  const startsAsProse = /^[\p{L}\p{N}"'\p{Pi}(]/u.test(text) && !/^\d+[.)]\s/.test(text)
  return startsAsProse ? `${added} ${text}` : `${added}\n\n${text}`
}

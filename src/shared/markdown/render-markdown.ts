import { renderedTexts } from '../config'
import { isAllowedHtml } from './allowed-html'
import type { TextPlace } from './html-rules'
import { gfm, plain } from './parser'
import { TooComplexError, Work } from './work'

/**
 * How many texts this isolate has rendered, how many of them as plain text because they are too complex, and how many
 * because their HTML is not allowed, which is a bug; for `/metrics` and for tests that count.
 */
export const renderTotals = { texts: 0, tooComplex: 0, disallowed: 0 }

interface Rendered {
  html: string
  /** Names that the text mentions, in lower case, each once, in order of appearance: those that are links in the HTML. */
  names: string[]
}

/** All ids have this length, so that a text is as long wherever it stands. */
const anyPlace: TextPlace = { heading: 3, id: '00000000-0000-0000-0000-000000000000' }

/**
 * Renders Markdown as safe HTML, with the names that it mentions. Links keep only http, https, mailto and relative
 * targets. Images become links. Names after an @ become links, except in code, links and quotes; `unlinkUnknownNames`
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

function renderGfm(text: string, place: TextPlace): Rendered | null {
  const env = { ...place, isPlain: false, work: new Work(text.length), names: new Set<string>() }
  try {
    const html = gfm.render(text, env).trimEnd()
    if (html.length > renderedTexts.htmlCharsMax) throw new TooComplexError()
    if (isAllowedHtml(html)) return { html, names: [...env.names] }
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
  const env = { ...anyPlace, isPlain: true, names: new Set<string>() }
  const html = plain.render(text, env).trimEnd()
  return { html: `${note}\n${html}`, names: [...env.names] }
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

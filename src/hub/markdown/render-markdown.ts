import { micromark } from 'micromark'
import { gfm, gfmHtml } from 'micromark-extension-gfm'
import { renderedTexts } from '../../shared/config'
import { accountPath } from '../../shared/paths'
import { isAllowedHtml } from './allowed-html'
import { limitMarkup } from './limit-markup'

/**
 * Version of the stored HTML. Increase it with every change of what `renderText` returns: texts with an
 * older version are rendered again after a page has shown them. 0: not rendered yet.
 */
export const htmlVersion = 1

/**
 * How many texts this isolate has rendered, and how many of them to HTML that is not allowed, which is a
 * bug; for `/metrics` and for tests that count.
 */
export const renderTotals = { texts: 0, disallowed: 0 }

/** The columns of a text that is stored with its HTML. */
export interface RenderedText {
  html: string
  htmlVersion: number
}

/** Level of all headings in a text: below the page's own, without gaps in the outline. */
export type HeadingLevel = 2 | 3

/** Renders a text of a post, comment or message for storage, when it is written. */
export const renderText = (text: string, heading: HeadingLevel): RenderedText => ({
  html: renderMarkdown(text, heading),
  htmlVersion,
})

/** Made once: making them costs a tenth of rendering a short text. They keep nothing of a text. */
const extension = gfm()
const htmlExtensions = [gfmHtml()]

/**
 * Renders Markdown as safe HTML. The parser escapes raw HTML. Links keep only http, https, mailto and
 * relative targets. Images become links, so that a page loads nothing from other servers. Markup that is
 * too expensive to parse stays text, and so does a text whose HTML would be too long. Names after an @
 * become links, except in code, links and quotes; `unlinkUnknownNames` removes those of no account.
 */
export function renderMarkdown(text: string, heading: HeadingLevel = 3): string {
  renderTotals.texts++
  const html = rewrite(
    micromark(text, {
      extensions: [extension, limitMarkup(text)],
      htmlExtensions,
    }),
    heading,
  )
  if (html.length > renderedTexts.htmlCharsMax) return renderPlainText(text)
  if (isAllowedHtml(html)) return html
  renderTotals.disallowed++
  return renderPlainText(text)
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

/** Elements in which a name is not a mention. */
const unlinkedTags = new Set(['a', 'code', 'pre', 'blockquote'])
const tagForm = /<(\/?)([a-z][a-z0-9]*)((?:[^a-z0-9>][^>]*)?)>/g

function rewrite(html: string, heading: HeadingLevel): string {
  let out = ''
  let end = 0
  let depth = 0
  for (const match of html.matchAll(tagForm)) {
    const text = html.slice(end, match.index)
    out += depth === 0 ? linkMentions(text) : text
    end = match.index + match[0].length
    const [, slash, name = ''] = match
    if (unlinkedTags.has(name)) depth += slash ? -1 : 1
    out += rewriteElement(match, heading)
  }
  return out + linkMentions(html.slice(end))
}

function rewriteElement(match: RegExpMatchArray, heading: HeadingLevel): string {
  const [tag, slash, name = '', attributes = ''] = match
  if (/^h[1-6]$/.test(name)) return `<${slash}h${heading}>`
  if (name === 'table')
    return slash ? '</table></div>' : `<div class="wide"${scrolls('Table')}><table>`
  return slash ? tag : rewriteTag(tag, name, attributes)
}

function rewriteTag(tag: string, name: string, attributes: string): string {
  if (name === 'a') return rewriteLink(attributes)
  if (name === 'img') return imageAsLink(attributes)
  if (name === 'input') return `<input disabled type="checkbox"${taskState(attributes)}>`
  if (name === 'pre') return `<pre${scrolls('Code')}>`
  // Ids of footnotes would collide between the comments of a page.
  return tagsWithIds.has(name) ? `<${name}>` : tag
}

/** Attributes that make a scrollable element reachable by keyboard, with a name but no landmark. */
const scrolls = (label: string): string => ` tabindex="0" role="group" aria-label="${label}"`

const tagsWithIds = new Set(['li', 'section', 'sup'])

const taskState = (attributes: string): string =>
  attributes.includes('checked') ? ' checked aria-label="done"' : ' aria-label="to do"'

const attribute = (attributes: string, name: string): string =>
  new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(attributes)?.[1] ?? ''

function rewriteLink(attributes: string): string {
  const href = attribute(attributes, 'href')
  if (attributes.includes('data-footnote')) return '<a>'
  return isSafeTarget(href) ? `<a href="${href}" rel="nofollow ugc noopener">` : '<a>'
}

function imageAsLink(attributes: string): string {
  const source = attribute(attributes, 'src')
  const label = attribute(attributes, 'alt') || 'image'
  if (!isSafeTarget(source)) return label
  return `<a href="${source}" rel="nofollow ugc noopener">${label}</a>`
}

/** Returns true for a link target that is safe to follow. @param href with HTML entities */
function isSafeTarget(href: string): boolean {
  if (href === '') return false
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(href)?.[1]?.toLowerCase()
  if (scheme) return scheme === 'http' || scheme === 'https' || scheme === 'mailto'
  // An entity may encode the colon of a scheme, which the browser would decode.
  return !/^[^/?#]*&/.test(href)
}

const mentionForm = /(^|[^\w@./-])@([a-z0-9_-]{2,32})(?![\w@])/gi

function linkMentions(text: string): string {
  if (!text.includes('@')) return text
  return text.replace(
    mentionForm,
    (_whole, before: string, name: string) =>
      `${before}<a class="at" href="${accountPath(name.toLowerCase())}">@${name}</a>`,
  )
}

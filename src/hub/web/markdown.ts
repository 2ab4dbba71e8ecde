import { micromark } from 'micromark'
import { gfm, gfmHtml } from 'micromark-extension-gfm'
import { affordableMarkup } from '../markdown/affordable-markup'
import { accountPath } from './who'

/**
 * Markdown of a post or comment as HTML that is safe to show. The parser lets no raw HTML through;
 * afterwards links keep only http, https, mailto and relative targets, images become links (a page
 * must not call a stranger's server), markup that costs too much stays text, and @names of `known` accounts become links outside code,
 * links and quotes (H4).
 *
 * @param known names of accounts in lower case
 */
export function renderMarkdown(
  text: string,
  known: ReadonlySet<string>,
  heading: HeadingLevel = 3,
): string {
  const html = micromark(text, {
    extensions: [gfm(), affordableMarkup(text)],
    htmlExtensions: [gfmHtml()],
  })
  return rewrite(html, known, heading)
}

/** Headings in a text sit below the page's own: one level for all, so the outline stays whole. */
export type HeadingLevel = 2 | 3

/** Elements whose text is somebody else's or not prose: a name in them is not a mention. */
const quiet = new Set(['a', 'code', 'pre', 'blockquote'])
const tagForm = /<(\/?)([a-z][a-z0-9]*)([^>]*)>/g

function rewrite(html: string, known: ReadonlySet<string>, heading: HeadingLevel): string {
  let out = ''
  let end = 0
  let depth = 0
  for (const match of html.matchAll(tagForm)) {
    const text = html.slice(end, match.index)
    out += depth === 0 ? linkMentions(text, known) : text
    end = match.index + match[0].length
    const [, slash, name = ''] = match
    if (quiet.has(name)) depth += slash ? -1 : 1
    out += rewriteAny(match, heading)
  }
  return out + linkMentions(html.slice(end), known)
}

function rewriteAny(match: RegExpMatchArray, heading: HeadingLevel): string {
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
  return idBearers.has(name) ? `<${name}>` : tag
}

/** What may scroll can be reached with the keyboard and has a name; a group, so no landmark. */
const scrolls = (label: string): string => ` tabindex="0" role="group" aria-label="${label}"`

const idBearers = new Set(['li', 'section', 'sup'])

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

/** @param href as it stands in the HTML, entities included */
function isSafeTarget(href: string): boolean {
  if (href === '') return false
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(href)?.[1]?.toLowerCase()
  if (scheme) return scheme === 'http' || scheme === 'https' || scheme === 'mailto'
  // A colon that an entity hides would be a scheme to the browser.
  return !/^[^/?#]*&/.test(href)
}

const mentionForm = /(^|[^\w@./-])@([a-z0-9_-]{2,32})(?![\w@])/gi

function linkMentions(text: string, known: ReadonlySet<string>): string {
  if (!text.includes('@')) return text
  return text.replace(mentionForm, (whole, before: string, name: string) =>
    known.has(name.toLowerCase())
      ? `${before}<a class="at" href="${accountPath(name.toLowerCase())}">@${name}</a>`
      : whole,
  )
}

/** The beginning of a text for a list: markup characters dropped, cut at a word. */
export function excerpt(text: string, charsMax: number): string {
  const plain = text
    .slice(0, charsMax * 3)
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    // a text that was cut within a link
    .replace(/!?\[([^\]]*)(\]\([^)]*)?$/, '$1')
    // quotes and headings; in the middle of a line these signs are part of what is said
    .replace(/^(?:\s*>)+/gm, ' ')
    .replace(/^\s*#{1,6}\s/gm, ' ')
    .replace(/[`*|]+/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  if (plain.length <= charsMax) return plain
  return `${plain.slice(0, charsMax).replace(/\s+\S*$/, '')} …`
}

import { micromark } from 'micromark'
import { gfm, gfmHtml } from 'micromark-extension-gfm'
import { limitMarkup } from '../../hub/markdown/limit-markup'
import { accountPath } from '../../shared/paths'

/**
 * Renders the Markdown of a post or comment as safe HTML. The parser escapes raw HTML. Links keep only
 * http, https, mailto and relative targets. Images become links, so that a page loads nothing from
 * other servers. Markup that is too expensive to parse stays text. Mentions of `known` accounts become
 * links, except in code, links and quotes.
 *
 * @param known names of accounts in lower case
 */
export function renderMarkdown(
  text: string,
  known: ReadonlySet<string>,
  heading: HeadingLevel = 3,
): string {
  const html = micromark(text, {
    extensions: [gfm(), limitMarkup(text)],
    htmlExtensions: [gfmHtml()],
  })
  return rewrite(html, known, heading)
}

/** Level of all headings in a text: below the page's own, without gaps in the outline. */
export type HeadingLevel = 2 | 3

/** Elements in which a name is not a mention. */
const unlinkedTags = new Set(['a', 'code', 'pre', 'blockquote'])
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
    if (unlinkedTags.has(name)) depth += slash ? -1 : 1
    out += rewriteElement(match, heading)
  }
  return out + linkMentions(html.slice(end), known)
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

function linkMentions(text: string, known: ReadonlySet<string>): string {
  if (!text.includes('@')) return text
  return text.replace(mentionForm, (whole, before: string, name: string) =>
    known.has(name.toLowerCase())
      ? `${before}<a class="at" href="${accountPath(name.toLowerCase())}">@${name}</a>`
      : whole,
  )
}

/** Returns the beginning of a text for a list, without markup characters, truncated at a word. */
export function excerpt(text: string, charsMax: number): string {
  const plain = text
    .slice(0, charsMax * 3)
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    // a link that the slice above truncated
    .replace(/!?\[([^\]]*)(\]\([^)]*)?$/, '$1')
    // quotes and headings; in the middle of a line these characters are part of the text
    .replace(/^(?:\s*>)+/gm, ' ')
    .replace(/^\s*#{1,6}\s/gm, ' ')
    .replace(/[`*|]+/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
  if (plain.length <= charsMax) return plain
  return `${plain.slice(0, charsMax).replace(/\s+\S*$/, '')} …`
}

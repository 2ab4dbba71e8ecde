import type { Env, MarkdownIt, RendererRule, Token } from 'markdown-it'
import { media } from '../config'
import { cutText } from '../cut-text'
import { accountPath, mediaPath } from '../paths'
import { colorCode } from './color-code'
import { workOf } from './count-work'

/** What the HTML of a text depends on besides the text. */
export interface TextPlace {
  /** Level of all headings: below the page's own, without gaps in the outline. */
  heading: 2 | 3
  /** Id of the text, so that the footnotes of each text on a page have ids of their own. */
  id: string
}

interface HtmlEnv extends Env, TextPlace {
  /** The links of a plain text are not shown as such, so that its HTML is not much longer. */
  isPlain: boolean
  /** In a link there is no other. */
  isInLink?: boolean
  /** Ids of the images of the hub that are shown. */
  images: Set<string>
  /** How many elements the code of the text has for its colors. */
  spans: number
}

type Write = (token: Token, env: HtmlEnv) => string

const toRule =
  (write: Write): RendererRule =>
  (tokens, at, _options, env) =>
    write(tokens[at] as Token, env as HtmlEnv)

/** The address of an image of the hub. */
const mediaTarget =
  /^\/media\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-([1-9]\d{0,4})x([1-9]\d{0,4}))$/

/** Makes a parser write the HTML of pages: known elements only, and nothing that loads from other servers. */
export function useHtmlRules({ renderer, utils, options }: MarkdownIt): void {
  const { escapeHtml } = utils

  const openLink = (target: string, env: HtmlEnv): string => {
    if (env.isPlain || env.isInLink || !isSafeTarget(target)) return ''
    // Many references can repeat one long target.
    workOf({ env }).spend(target.length)
    env.isInLink = true
    return `<a href="${escapeHtml(target)}" rel="nofollow ugc noopener">`
  }

  const closeLink = (env: HtmlEnv): string => {
    const end = env.isInLink ? '</a>' : ''
    env.isInLink = false
    return end
  }

  const writeImage: Write = ({ children, attrs }, env) => {
    const label = renderer.renderInlineAsText(children ?? [], options, env)
    const target = String(attrs?.[0]?.[1] ?? '')
    const own = showImage(target, label, env)
    if (own !== null) return own
    const begin = openLink(target, env)
    return `${begin}${escapeHtml(label || 'image')}${begin && closeLink(env)}`
  }

  /** Returns an image of the hub, with the size that its id ends with; null for any other target. */
  const showImage = (target: string, label: string, { images }: HtmlEnv): string | null => {
    const [, id = '', width, height] = mediaTarget.exec(target) ?? []
    if (id === '' || (images.size >= media.perTextMax && !images.has(id))) return null
    images.add(id)
    const alt = escapeHtml(cutText(label, media.altCharsMax))
    return `<img src="${mediaPath(id)}" width="${width}" height="${height}" alt="${alt}" loading="lazy">`
  }

  const writeCode: Write = ({ content, info }, env) => {
    const [language = ''] = utils.unescapeAll(info).trim().split(/\s/, 1)
    const name = language && ` class="language-${escapeHtml(language)}"`
    workOf({ env }).spend(content.length)
    const html = colorCode(content, language, env, escapeHtml)
    return `<pre${scrolls('Code')}><code${name}>${html}</code></pre>\n`
  }

  const rules: Record<string, Write> = {
    ...blockRules,
    ...footnoteRules,
    fence: writeCode,
    code_block: writeCode,
    link_open: ({ attrs }, env) => openLink(String(attrs?.[0]?.[1] ?? ''), env),
    link_close: (_, env) => closeLink(env),
    image: writeImage,
    mention: ({ content }) =>
      `<a class="at" href="${accountPath(content.slice(1).toLowerCase())}">${content}</a>`,
  }
  for (const [type, write] of Object.entries(rules)) renderer.rules[type] = toRule(write)
}

/** Attributes that make a scrollable element reachable by keyboard, with a name but no landmark. */
const scrolls = (label: string): string => ` tabindex="0" role="group" aria-label="${label}"`

/** Returns the alignment of a cell; the parser states it as a style. */
const align = ({ attrs }: Token): string => {
  const side = /\w+$/.exec(String(attrs?.[0]?.[1] ?? ''))?.[0]
  return side === undefined ? '' : ` align="${side}"`
}

const blockRules: Record<string, Write> = {
  heading_open: (_, { heading }) => `<h${heading}>`,
  heading_close: (_, { heading }) => `</h${heading}>\n`,
  table_open: () => `<div class="wide"${scrolls('Table')}><table>\n`,
  table_close: () => '</table></div>\n',
  th_open: (token) => `<th${align(token)}>`,
  td_open: (token) => `<td${align(token)}>`,
  task: ({ meta }) =>
    `<input disabled type="checkbox"${meta?.isDone ? ' checked aria-label="done"' : ' aria-label="to do"'}>`,
}

const footnoteRules: Record<string, Write> = {
  footnote_reference: ({ meta }, { id, isInLink }) => {
    if (isInLink || typeof meta?.number !== 'number') return ''
    const again = meta.nth === 1 ? '' : `-${meta.nth}`
    const ids = `href="#fn-${id}-${meta.number}" id="fnref-${id}-${meta.number}${again}"`
    return `<sup><a ${ids}>${meta.number}</a></sup>`
  },
  footnotes_open: (_, { heading }) => `<section>\n<h${heading}>Footnotes</h${heading}>\n<ol>\n`,
  footnotes_close: () => '</ol>\n</section>\n',
  footnote_open: ({ meta }, { id }) => `<li id="fn-${id}-${meta?.number}">\n`,
  footnote_back: ({ meta }, { id }) =>
    ` <a href="#fnref-${id}-${meta?.number}" aria-label="Back to reference ${meta?.number}">↩</a>`,
  footnote_close: () => '</li>\n',
}

/**
 * Returns true for a link target that is safe to follow.
 *
 * @param target percent-encoded, so that it contains no character that a browser would leave out
 */
function isSafeTarget(target: string): boolean {
  if (target === '') return false
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(target)?.[1]?.toLowerCase()
  return scheme === undefined || ['http', 'https', 'mailto'].includes(scheme)
}

/** Attributes of each element that rendered Markdown may contain, as exact text or as a form. */
const allowedElements: Record<string, RegExp> = {
  a: /^(?: class="at" href="\/a\/[\w-]+"| href="[^"<>]*" rel="nofollow ugc noopener"| href="#fn-[\w-]+" id="fnref-[\w-]+"| href="#fnref-[\w-]+" aria-label="Back to reference \d+")$/,
  code: /^(?: class="language-[^"<>]*")?$/,
  img: /^ src="\/media\/[\w-]+" width="\d+" height="\d+" alt="[^"<>]*" loading="lazy"$/,
  div: /^ class="wide" tabindex="0" role="group" aria-label="Table"$/,
  li: /^(?: id="fn-[\w-]+")?$/,
  input: /^ disabled type="checkbox"(?: checked)? aria-label="(?:done|to do)"$/,
  ol: /^(?: start="\d+")?$/,
  span: /^ class="t[cksn]"$/,
  pre: /^ tabindex="0" role="group" aria-label="Code"$/,
  td: /^(?: align="(?:left|center|right)")?$/,
  th: /^(?: align="(?:left|center|right)")?$/,
}

const plainElements = new Set(
  'p em strong del ul blockquote h2 h3 hr br table thead tbody tr sup section'.split(' '),
)

const anyTag = /<(\/?)([a-z][a-z0-9]*)((?: [^<>]*?)??)(?: \/)?>/g

/**
 * Whether HTML consists of text and of the elements and attributes that rendered Markdown may contain: the
 * last check before it is stored. Addresses are checked where links are made.
 */
export function isAllowedHtml(html: string): boolean {
  let isAllowed = true
  const rest = html.replace(anyTag, (_tag, slash: string, name: string, attributes: string) => {
    isAllowed &&= isAllowedTag(slash, name, attributes)
    return ''
  })
  return isAllowed && !/[<>]/.test(rest)
}

function isAllowedTag(slash: string, name: string, attributes: string): boolean {
  const form = allowedElements[name]
  if (slash !== '') return attributes === '' && (form !== undefined || plainElements.has(name))
  return form === undefined ? attributes === '' && plainElements.has(name) : form.test(attributes)
}

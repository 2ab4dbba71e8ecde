import type { MarkdownIt, StateInline } from 'markdown-it'

/**
 * Matches an address without markup, in about the form of GFM. Quotation marks, and the punctuation of scripts
 * without spaces, end it.
 */
const address =
  /(?<![A-Za-z0-9])(?:https?:\/\/|www\.)(?=[\p{L}\p{N}_-])[^\s<>"`\u3000-\u303F\uFF00-\uFF65]+/iuy

/** Characters that begin no markup. */
const text = /[^\n!#$%&*+\-:<=>@[\\\]^_`{}~]+/y

/** Where an address may begin in such characters: the colon after a scheme is none of them. */
const maybeAddress = /(?<![A-Za-z0-9])(?:www\.|https?$)/i

/** Makes a parser read addresses without markup as links. */
export function useWebAddresses({ inline }: MarkdownIt): void {
  inline.ruler.at('text', readText)
  inline.ruler.before('text', 'web_address', readAddress)
}

function readText(state: StateInline, silent: boolean): boolean {
  text.lastIndex = state.pos
  const [found] = text.exec(state.src) ?? []
  if (found === undefined) return false
  const next = found.slice(1).search(maybeAddress) + 1
  const read = next > 0 ? found.slice(0, next) : found
  if (!silent) state.pending += read
  state.pos += read.length
  return true
}

/** Reads an address as a link. In labels, which are read silently, addresses could contain the end of the label. */
function readAddress(state: StateInline, silent: boolean): boolean {
  if (silent || state.linkLevel > 0) return false
  address.lastIndex = state.pos
  const [found] = address.exec(state.src) ?? []
  if (found === undefined) return false
  const shown = found.slice(0, findEnd(found))
  if (!/^(?:https?:\/\/|www\.)./is.test(shown)) return false
  const href = /^www/i.test(shown) ? `http://${shown}` : shown
  state.push('link_open', 'a', 1).attrs = [['href', state.md.normalizeLink(href)]]
  state.push('text', '', 0).content = shown
  state.push('link_close', 'a', -1)
  state.pos += shown.length
  return true
}

/** Returns where an address ends: before punctuation, an entity, and brackets that it does not open. */
function findEnd(found: string): number {
  const unopened = { ')': countUnopened(found, '(', ')'), ']': countUnopened(found, '[', ']') }
  let end = found.length
  for (;;) {
    const last = found.charAt(end - 1)
    if (last === ')' || last === ']') {
      if (unopened[last] <= 0) return end
      unopened[last]--
      end--
    } else if (last === ';') end = findEntity(found, end)
    else if (/[?!.,:*_~'|]/.test(last)) end--
    else return end
  }
}

function countUnopened(found: string, open: string, close: string): number {
  let unopened = 0
  for (const char of found) unopened += Number(char === close) - Number(char === open)
  return unopened
}

/** Returns where the entity begins that ends at `end`, or its semicolon if it is none. */
function findEntity(found: string, end: number): number {
  let start = end - 1
  while (/[A-Za-z0-9]/.test(found.charAt(start - 1))) start--
  return found.charAt(start - 1) === '&' ? start - 1 : end - 1
}

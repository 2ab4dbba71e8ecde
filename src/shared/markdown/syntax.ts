import type { Env, MarkdownIt, StateBlock, StateCore, StateInline, Token } from 'markdown-it'

/** Where labels end that begin at a position, -1 for nowhere: those with links in them count, and those without. */
interface Labels {
  any: Map<number, number>
  withoutLinks: Map<number, number>
}

const opening = '['.charCodeAt(0)
const closing = ']'.charCodeAt(0)

/**
 * Makes a parser search the end of each label once. Its own search goes over all that follows for every bracket, which is
 * too much for a log with brackets that nothing closes.
 */
export function useLinkLabels({ helpers }: MarkdownIt): void {
  const labelsOf = new WeakMap<StateInline, Labels>()
  helpers.parseLinkLabel = (state, start, disableNested = false) => {
    const labels = labelsOf.get(state) ?? { any: new Map(), withoutLinks: new Map() }
    labelsOf.set(state, labels)
    const ends = disableNested ? labels.withoutLinks : labels.any
    const before = state.pos
    const end = findEnd(state, start, ends, disableNested)
    state.pos = before
    // The label that is being read now ends the search, too.
    return end < state.posMax ? end : -1
  }
}

/** Returns the end of a label, from the ends of the labels in it. */
function findEnd(
  state: StateInline,
  start: number,
  ends: Map<number, number>,
  disableNested: boolean,
): number {
  const known = ends.get(start)
  if (known !== undefined) return known
  let end = -1
  state.pos = start + 1
  while (state.pos < state.posMax) {
    const { pos } = state
    const char = state.src.charCodeAt(pos)
    if (char === closing) {
      end = pos
      break
    }
    state.md.inline.skipToken(state)
    if (char !== opening) continue
    const isBracket = state.pos === pos + 1
    if (!isBracket && disableNested) break
    if (!isBracket) continue
    const inner = findEnd(state, pos, ends, disableNested)
    if (inner < 0) break
    state.pos = inner + 1
  }
  ends.set(start, end)
  return end
}

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
  const shown = found.slice(0, findAddressEnd(found))
  if (!/^(?:https?:\/\/|www\.)./is.test(shown)) return false
  const href = /^www/i.test(shown) ? `http://${shown}` : shown
  state.push('link_open', 'a', 1).attrs = [['href', state.md.normalizeLink(href)]]
  state.push('text', '', 0).content = shown
  state.push('link_close', 'a', -1)
  state.pos += shown.length
  return true
}

/** Returns where an address ends: before punctuation, an entity, and brackets that it does not open. */
function findAddressEnd(found: string): number {
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

type Delimiters = StateInline['delimiters']

/** The marker of one tilde and that of two: GFM pairs equal ones. */
const single = '~'.charCodeAt(0)
const double = single * 2

/** Makes a parser read `~text~` and `~~text~~` as deleted text; its own rule knows two tildes only. */
export function useStrikethrough({ inline }: MarkdownIt): void {
  inline.ruler.at('strikethrough', readTildes)
  inline.ruler2.at('strikethrough', (state) => {
    nameTokens(state, state.delimiters)
    for (const meta of state.tokens_meta) nameTokens(state, meta?.delimiters ?? [])
  })
}

function readTildes(state: StateInline, silent: boolean): boolean {
  if (silent || state.src.charCodeAt(state.pos) !== single) return false
  const { length, can_open: open, can_close: close } = state.scanDelims(state.pos, true)
  const tildes = '~'.repeat(length)
  state.pos += length
  if (length > 2) {
    state.pending += tildes
    return true
  }
  state.push('text', '', 0).content = tildes
  const token = state.tokens.length - 1
  const marker = length === 1 ? single : double
  state.delimiters.push({ marker, length: 0, token, end: -1, open, close })
  return true
}

/** Turns the tokens of paired tildes into tags. */
function nameTokens({ tokens }: StateInline, delimiters: Delimiters): void {
  for (const { marker, token, end } of delimiters) {
    const closing = delimiters[end]
    if (closing === undefined || (marker !== single && marker !== double)) continue
    const pair = [
      [tokens[token], 'del_open', 1],
      [tokens[closing.token], 'del_close', -1],
    ] as const
    for (const [tag, type, nesting] of pair) {
      if (tag) Object.assign(tag, { type, nesting, tag: 'del', content: '' })
    }
  }
}

const marker = /^\[([ xX])\]\s/

/** Makes a parser read `[ ] ` and `[x] ` at the beginning of an item of a list as a task. */
export function useTasks({ core }: MarkdownIt): void {
  core.ruler.push('tasks', readTasks)
}

function readTasks({ tokens, Token }: StateCore): void {
  for (const [at, { type, content, children }] of tokens.entries()) {
    const isParagraph = type === 'inline' && tokens[at - 1]?.type === 'paragraph_open'
    const isFirst = isParagraph && tokens[at - 2]?.type === 'list_item_open'
    const found = isFirst && marker.exec(content)
    const text = children?.[0]
    if (!found || text?.type !== 'text') continue
    const task = new Token('task', '', 0)
    task.meta = { isDone: found[1] !== ' ' }
    text.content = text.content.slice(found[0].length - 1)
    children?.unshift(task)
  }
}

/** Matches the label of a footnote. It contains no bracket, so that no part of a text is searched twice. */
const label = /\[\^([^\s[\]]{1,999})\]/y
const labelAndColon = new RegExp(`${label.source}:`, 'y')

const contentIndent = 4

/** A footnote of a text. */
interface Footnote {
  content: Token[]
  /** From 1; 0 while nothing refers to the footnote. */
  number: number
  references: number
}

/** The footnotes of a text by their labels. */
const footnotesOf = ({ env }: { env: Env }): Map<string, Footnote> => {
  env.footnotes ??= new Map<string, Footnote>()
  return env.footnotes as Map<string, Footnote>
}

/**
 * Makes a parser read `[^label]` and `[^label]: text` as footnotes. Those that the text refers to stand at the end of
 * the tokens, in the order of the first references; the others are left out.
 */
export function useFootnotes(md: MarkdownIt): void {
  const alt = ['paragraph', 'reference']
  md.block.ruler.before('reference', 'footnote', readDefinition, { alt })
  md.inline.ruler.before('link', 'footnote', readReference)
  md.core.ruler.after('inline', 'footnotes', moveToEnd)
}

/** Reads a definition, which goes on in lines that are indented, like an item of a list. */
function readDefinition(state: StateBlock, line: number, end: number, silent: boolean): boolean {
  const { bMarks, tShift, sCount, blkIndent, parentType, md } = state
  const { [line]: mark = 0 } = bMarks
  const { [line]: shift = 0 } = tShift
  const { [line]: count = 0 } = sCount
  if (count - blkIndent >= contentIndent) return false
  labelAndColon.lastIndex = mark + shift
  const found = labelAndColon.exec(state.src)
  if (!found) return false
  if (silent) return true
  const key = md.utils.normalizeReference(found[1] ?? '')
  const footnotes = footnotesOf(state)
  const isFirst = !footnotes.has(key)
  if (isFirst) footnotes.set(key, { content: [], number: 0, references: 0 })
  state.push('footnote_definition_open', '', 1).meta = { key: isFirst ? key : null }
  const start = labelAndColon.lastIndex
  bMarks[line] = start
  tShift[line] = state.skipSpaces(start) - start
  state.blkIndent += contentIndent
  sCount[line] = state.blkIndent
  state.parentType = 'footnote'
  md.block.tokenize(state, line, end)
  bMarks[line] = mark
  tShift[line] = shift
  sCount[line] = count
  state.blkIndent = blkIndent
  state.parentType = parentType
  state.push('footnote_definition_close', '', -1)
  return true
}

/** Reads a reference to a footnote that is defined somewhere in the text. */
function readReference(state: StateInline, silent: boolean): boolean {
  label.lastIndex = state.pos
  const found = label.exec(state.src)
  if (!found) return false
  const key = state.md.utils.normalizeReference(found[1] ?? '')
  if (label.lastIndex > state.posMax || !footnotesOf(state).has(key)) return false
  if (!silent) state.push('footnote_reference', '', 0).meta = { key }
  state.pos = label.lastIndex
  return true
}

function moveToEnd(state: StateCore): void {
  const footnotes = footnotesOf(state)
  if (footnotes.size === 0) return
  state.tokens = takeDefinitions(state.tokens, footnotes)
  const shown = numberReferences(state.tokens, footnotes)
  if (shown.length === 0) return
  const push = (type: string, nesting: -1 | 0 | 1, meta: Token['meta'] = null) => {
    const token = new state.Token(type, '', nesting)
    token.meta = meta
    state.tokens.push(token)
  }
  push('footnotes_open', 1)
  for (const { content, number, references } of shown) {
    push('footnote_open', 1, { number })
    const last = content.at(-1)?.type === 'paragraph_close' ? content.pop() : undefined
    for (const token of content) state.tokens.push(token)
    push('footnote_back', 0, { number, references })
    if (last) state.tokens.push(last)
    push('footnote_close', -1)
  }
  push('footnotes_close', -1)
}

/** Moves the tokens of definitions to their footnotes; returns the others. A definition may contain another. */
function takeDefinitions(tokens: Token[], footnotes: Map<string, Footnote>): Token[] {
  const rest: Token[] = []
  const places = [rest]
  for (const token of tokens) {
    if (token.type === 'footnote_definition_open') {
      const content = footnotes.get(String(token.meta?.key))?.content
      places.push(token.meta?.key === null ? [] : (content ?? []))
    } else if (token.type === 'footnote_definition_close') places.pop()
    else places.at(-1)?.push(token)
  }
  return rest
}

/** Numbers the references in the order in which they are shown; returns the footnotes in that order. */
function numberReferences(tokens: Token[], footnotes: Map<string, Footnote>): Footnote[] {
  const shown: Footnote[] = []
  const numberIn = (all: Token[]): void => {
    for (const { children } of all) {
      for (const child of children ?? []) {
        const footnote =
          child.type === 'footnote_reference' && footnotes.get(String(child.meta?.key))
        if (!footnote) continue
        if (footnote.number === 0) footnote.number = shown.push(footnote)
        footnote.references++
        child.meta = { number: footnote.number, nth: footnote.references }
      }
    }
  }
  numberIn(tokens)
  // A footnote may refer to others, which the list then goes on with.
  for (const { content } of shown) numberIn(content)
  return shown
}

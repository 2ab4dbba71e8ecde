import type { Env, MarkdownIt, StateBlock, StateCore, StateInline, Token } from 'markdown-it'

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

import type { MarkdownIt, StateInline } from 'markdown-it'

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

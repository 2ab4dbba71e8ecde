import type { MarkdownIt, StateInline } from 'markdown-it'

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

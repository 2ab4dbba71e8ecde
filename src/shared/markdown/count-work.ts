import type { Env, MarkdownIt, StateBlock, StateInline } from 'markdown-it'

/** Containers within containers. The parser recurses for each, and would leave out what stands deeper. */
const nestingMax = 100

/** Characters that are scanned at the cost of one unit. */
const charsPerUnit = 16

/** Units for making a token. A table can make many from few characters. */
const unitsPerToken = 8

/** Units for a paragraph, a heading or a cell, each of which has a state of its own. */
const unitsPerInline = 16

/** Units for a line that a rule looks at: a container also saves, changes and restores it. */
const unitsPerLine = 4

/**
 * Makes a parser count its work: every call of a rule, the characters that the rule may scan, and what it
 * returns. The parser's own loops are linear or call rules, with these exceptions, which are counted here:
 *
 * - A container goes over its lines and tokens again, also those of the containers in it.
 * - The search for the end of a label goes over tokens that are cached and so call no rule.
 * - A label is copied for the lookup of its definition.
 * - The description of an image is parsed again.
 *
 * @throws TooComplexError while it parses
 */
export function countWork(md: MarkdownIt): void {
  const { block, inline, helpers } = md
  countRules(block.ruler, countBlockRules)
  countRules(inline.ruler, countInlineRules)
  countRules(inline.ruler2, countPairing)
  block.State = class extends block.State {
    override push(...token: Parameters<StateBlock['push']>) {
      workOf(this).spend(unitsPerToken)
      return super.push(...token)
    }
  }
  const { tokenize } = block
  block.tokenize = (state, start, end) => {
    if (state.level >= nestingMax) throw new TooComplexError()
    tokenize.call(block, state, start, end)
  }
  const { skipToken } = inline
  inline.skipToken = (state) => {
    workOf(state).spend(1)
    skipToken.call(inline, state)
  }
  const { parse } = inline
  inline.parse = (text, parser, env, tokens) => {
    workOf({ env }).spend(unitsPerInline + text.length / charsPerUnit)
    parse.call(inline, text, parser, env, tokens)
  }
  const { parseLinkLabel } = helpers
  helpers.parseLinkLabel = (state, start, disableNested) => {
    const end = parseLinkLabel(state, start, disableNested)
    if (end > start) workOf(state).spend((end - start) / charsPerUnit)
    return end
  }
}

type Rule<Args extends unknown[], Result> = (...args: Args) => Result

/** Makes the chains of a parser one rule each, which `count` composes of the rules of the chain. */
function countRules<Args extends unknown[], Result>(
  ruler: { getRules(chain: string): Rule<Args, Result>[] },
  count: (rules: Rule<Args, Result>[]) => Rule<Args, Result>,
): void {
  const { getRules } = ruler
  const chains = new Map<string, Rule<Args, Result>[]>()
  ruler.getRules = (chain) => {
    const counted = chains.get(chain) ?? [count(getRules.call(ruler, chain))]
    chains.set(chain, counted)
    return counted
  }
}

const countBlockRules =
  (rules: Rule<[StateBlock, number, number, boolean], boolean>[]) =>
  (state: StateBlock, line: number, end: number, silent: boolean): boolean => {
    const work = workOf(state)
    // A table looks at the next line, too.
    work.spend(
      unitsPerLine + ((state.eMarks[line + 1] ?? 0) - (state.bMarks[line] ?? 0)) / charsPerUnit,
    )
    const { length } = state.tokens
    if (!rules.some((rule) => rule(state, line, end, silent))) return false
    const tokens = state.tokens.length - length
    if (!silent) work.spend(state.line - line + tokens / charsPerUnit)
    return true
  }

const countInlineRules =
  (rules: Rule<[StateInline, boolean], boolean>[]) =>
  (state: StateInline, silent: boolean): boolean => {
    workOf(state).spend(1)
    return rules.some((rule) => rule(state, silent))
  }

const countPairing = (rules: Rule<[StateInline], void>[]) => (state: StateInline) => {
  workOf(state).spend(state.tokens.length * unitsPerToken)
  for (const rule of rules) rule(state)
}

/** Thrown when a text costs more than its length allows; `renderMarkdown` then shows it as plain text. */
export class TooComplexError extends Error {}

/**
 * Units of work that each character of a text may cost, and what any text may. Ordinary texts take 1 to 3 units per
 * character. The most expensive posts took 0.2 s of CPU time on a busy machine of two cores.
 */
const unitsPerChar = 40
const unitsMin = 20_000

/** The work that one text may still cost. */
export class Work {
  spent = 0
  readonly #max: number

  constructor(chars: number) {
    this.#max = unitsMin + chars * unitsPerChar
  }

  /** @throws TooComplexError when nothing is left */
  spend(units: number): void {
    this.spent += units
    if (this.spent > this.#max) throw new TooComplexError()
  }
}

/** Returns the work of the text that a state of the parser belongs to. */
export const workOf = (state: { env: Env }): Work => state.env.work as Work

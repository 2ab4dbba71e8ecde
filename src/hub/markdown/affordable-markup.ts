import type { Options } from 'micromark'

type Extension = NonNullable<Options['extensions']>[number]

/**
 * Some constructs of Markdown cost the parser time, or give output, in the square of how often they
 * occur: 40,000 characters could take it 20 seconds. A text that has more of one than anybody
 * writes keeps it as plain characters. Measured: at its limit each costs less than about 0.3 s.
 */
const limits = {
  /** `*`, `_` and `~`. */
  emphasisMax: 1_000,
  /** `[` and `]`. */
  bracketsMax: 2_000,
  footnotesMax: 300,
  /** Runs of backticks, each of which looks for its end. */
  ticksMax: 1_000,
  /** `<`, each of which may begin a comment that never ends. */
  anglesMax: 300,
  /** Beginnings of plain addresses without a space between them. */
  addressesMax: 50,
  /** Lines of `=` or `-` below a line. */
  underlinesMax: 300,
  /** Quotes and lists in each other. */
  depthMax: 50,
  /** Lines times the depth of the deepest. */
  depthLinesMax: 20_000,
  quoteLinesMax: 1_500,
  /** Lines with a pipe, times the most pipes of one: a row is filled up to the width of its head. */
  cellsMax: 10_000,
  /** References times the length of the longest paragraph that may define one, which each repeats. */
  referenceCharsMax: 1_000_000,
}

/** The parser's settings that leave out what `text` has too much of. */
export function affordableMarkup(text: string): Extension {
  const lines = text.split(/\r\n?|\n/)
  const brackets = count(text, /[[\]]/g)
  const left: string[] = []
  if (count(text, /[*_~]/g) > limits.emphasisMax) left.push('attention', 'strikethrough')
  if (brackets > limits.bracketsMax) left.push(...links)
  if (count(text, /\[\^[^\]\s]*\]:/g) > limits.footnotesMax) left.push('gfmFootnoteDefinition')
  if (count(text, /`+/g) > limits.ticksMax) left.push('codeText')
  if (count(text, /</g) > limits.anglesMax) left.push('htmlText')
  if (hasRunOfAddresses(text)) left.push(...addresses)
  if (lines.filter((line) => underline.test(line)).length > limits.underlinesMax) {
    left.push('setextUnderline')
  }
  if (isTooDeep(lines)) left.push('blockQuote', 'list', 'gfmFootnoteDefinition')
  if (countCells(lines) > limits.cellsMax) left.push('table')
  if (brackets * longestDefinition(text) > limits.referenceCharsMax) left.push('definition')
  return { disable: { null: left } }
}

const links = [
  'labelStartLink',
  'labelStartImage',
  'labelEnd',
  'gfmFootnoteCall',
  'gfmPotentialFootnoteCall',
]
const addresses = ['wwwAutolink', 'protocolAutolink', 'emailAutolink']
const address = /www\.|:\/\/|@/gi

const hasRunOfAddresses = (text: string): boolean =>
  count(text, address) > limits.addressesMax &&
  text.split(/\s+/).some((run) => count(run, address) > limits.addressesMax)

const highest = (numbers: number[]): number => numbers.reduce((a, b) => Math.max(a, b), 0)

const underline = /^[\s>]*(?:=+|-+)\s*$/

const count = (text: string, form: RegExp): number => text.match(form)?.length ?? 0

function isTooDeep(lines: string[]): boolean {
  const depth = highest(lines.map(depthOf))
  const quoteLines = lines.filter((line) => /^\s*>/.test(line)).length
  return (
    depth > limits.depthMax ||
    depth * lines.length > limits.depthLinesMax ||
    quoteLines > limits.quoteLinesMax
  )
}

const marker = /[ \t]*(?:>|[-*+](?=[ \t]|$)|\d{1,9}[.)](?=[ \t]|$)|\[\^[^\]\s]{1,999}\]:)/y

/** How many containers a line may be in: the markers it begins with, and those it is indented for. */
function depthOf(line: string): number {
  let depth = 0
  marker.lastIndex = 0
  while (marker.test(line)) depth++
  const indent = depth === 0 ? 0 : (/^[ \t]*/.exec(line)?.[0].length ?? 0)
  return depth + Math.ceil(indent / 2)
}

function countCells(lines: string[]): number {
  const pipes = lines.map((line) => count(line, /\|/g)).filter((number) => number > 0)
  return pipes.length * highest(pipes)
}

/** Characters of the longest paragraph in which something may be defined; 0 when nothing is. */
function longestDefinition(text: string): number {
  const paragraphs = text.split(/\n[ \t>]*\r?\n/).filter((each) => each.includes(']:'))
  return highest(paragraphs.map(({ length }) => length))
}

import type { Options } from 'micromark'

type Extension = NonNullable<Options['extensions']>[number]

/**
 * Limits for constructs of Markdown whose parsing time or output grows with the square of their
 * number: 40,000 characters could take 20 seconds. Beyond its limit a construct stays plain text. The
 * limits are far above normal use; measured, each costs less than about 0.3 s at its limit.
 */
const limits = {
  /** `*`, `_` and `~`. */
  emphasisMax: 1_000,
  /** `[` and `]`. */
  bracketsMax: 2_000,
  footnotesMax: 300,
  /** Runs of backticks. The parser searches the closing run of each. */
  ticksMax: 1_000,
  /** `<`. Each may open a comment that is never closed. */
  anglesMax: 300,
  /** Starts of bare URLs and e-mail addresses without a space between them. */
  addressesMax: 50,
  /** Lines of `=` or `-` below a line. */
  underlinesMax: 300,
  /** Nesting depth of quotes and lists. */
  depthMax: 50,
  /** Markers of list items and quotes at the beginning of lines: nested ones cost more than one each. */
  markersMax: 3_000,
  /** Number of lines times the depth of the deepest line. */
  depthLinesMax: 20_000,
  quoteLinesMax: 1_500,
  /** Lines with a pipe, times the most pipes in a line: each row is padded to the header's width. */
  cellsMax: 10_000,
  /** References times the length of the longest paragraph with a definition, which each repeats. */
  referenceCharsMax: 1_000_000,
}

/** Returns parser settings that disable the constructs of which `text` has too many. */
export function limitMarkup(text: string): Extension {
  const lines = text.split(/\r\n?|\n/)
  const brackets = count(text, /[[\]]/g)
  const disabled: string[] = []
  if (count(text, /[*_~]/g) > limits.emphasisMax) disabled.push('attention', 'strikethrough')
  if (brackets > limits.bracketsMax) disabled.push(...links)
  if (count(text, /\[\^[^\]\s]*\]:/g) > limits.footnotesMax) disabled.push('gfmFootnoteDefinition')
  if (count(text, /`+/g) > limits.ticksMax) disabled.push('codeText')
  if (count(text, /</g) > limits.anglesMax) disabled.push('htmlText')
  if (hasRunOfAddresses(text)) disabled.push(...addresses)
  if (lines.filter((line) => underline.test(line)).length > limits.underlinesMax) {
    disabled.push('setextUnderline')
  }
  if (isTooDeep(lines)) disabled.push('blockQuote', 'list', 'gfmFootnoteDefinition')
  if (countCells(lines) > limits.cellsMax) disabled.push('table')
  if (brackets * longestDefinition(text) > limits.referenceCharsMax) disabled.push('definition')
  return { disable: { null: disabled } }
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
  const depth = highest(lines.map(computeDepth))
  const markers = lines.reduce((sum, line) => sum + countMarkers(line), 0)
  const quoteLines = lines.filter((line) => /^\s*>/.test(line)).length
  return (
    depth > limits.depthMax ||
    markers > limits.markersMax ||
    depth * lines.length > limits.depthLinesMax ||
    quoteLines > limits.quoteLinesMax
  )
}

const marker = /[ \t]*(?:>|[-*+](?=[ \t]|$)|\d{1,9}[.)](?=[ \t]|$)|\[\^[^\]\s]{1,999}\]:)/y

function countMarkers(line: string): number {
  let markers = 0
  marker.lastIndex = 0
  while (marker.test(line)) markers++
  return markers
}

/** Returns the possible nesting depth of a line, from its leading markers and its indentation. */
function computeDepth(line: string): number {
  const depth = countMarkers(line)
  const indent = depth === 0 ? 0 : (/^[ \t]*/.exec(line)?.[0].length ?? 0)
  return depth + Math.ceil(indent / 2)
}

function countCells(lines: string[]): number {
  const pipes = lines.map((line) => count(line, /\|/g)).filter((number) => number > 0)
  return pipes.length * highest(pipes)
}

/** Returns the length of the longest paragraph that may hold a definition, in characters; 0 for none. */
function longestDefinition(text: string): number {
  const paragraphs = text.split(/\n[ \t>]*\r?\n/).filter((each) => each.includes(']:'))
  return highest(paragraphs.map(({ length }) => length))
}

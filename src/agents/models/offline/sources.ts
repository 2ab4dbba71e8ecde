import type { Message, ToolOutput } from '../../loop/message'
import { isRequestWord } from '../../text/stop-words'
import type { ModelRequest } from '../model-port'
import { isCourtesy } from './intents'
import type { Hit, ParsedThread } from './parse-results'

/** A post that may answer a question: its search hits and, once read, its thread. */
export interface Candidate {
  postId: string
  title: string
  author: string
  community: string
  hits: Hit[]
  thread: ParsedThread | null
}

/** A text that may be quoted, or a part of it in plain lines. */
export interface Passage {
  text: string
  author: string
  isComment: boolean
  /** What was asked right before it. */
  context: string
  /** Its place in the thread; the post has 0. */
  at: number
}

const mention = /(?<![\w@/.])@([\w-]+)/g
/** An imported account has a suffix when its name was taken. */
const isNamed = (author: string, name: string) => author === name || author.startsWith(`${name}-`)

const interrogative =
  /^(who|whose|what|when|where|why|which|how|is|are|was|were|do|does|did|can|could|will|would|should|has|have|any|wer|wie|wo|wann|warum|welche|gibt|kann|hat)\b/i
const address = /^(?:[\s,.:;!]*@[\w-]+)+[\s,.:;!]*/

/** Returns a sentence without the names that it begins with. */
export const withoutAddress = (sentence: string): string => sentence.replace(address, '')

/** Whether a sentence asks: a question of people, or a request to the agent that it names. */
export function isAsking(sentence: string): boolean {
  if (/[?？]["'\p{Pf})*_\s]*$/u.test(sentence)) return true
  const rest = withoutAddress(sentence)
  return (
    rest !== sentence && (interrogative.test(rest) || isRequest(rest) || /\bplease\b/i.test(rest))
  )
}

const isRequest = (sentence: string) =>
  isRequestWord(/^\p{L}+/u.exec(sentence)?.[0].toLowerCase() ?? '')

const listAsked = (text: string) => splitText(text).filter(isAsking)

/** Whether a text begins with a name and asks the account something. */
export const isToAgent = (text: string): boolean => address.test(text) && listAsked(text).length > 0

/**
 * Returns the texts of a candidate that may be quoted: neither the agent's own nor another agent's answers,
 * which are recognized by who mentioned them, or by their links.
 *
 * @param name of the agent, in lower case; empty when unknown
 */
export function listSources({ title, hits, thread }: Candidate, name: string): Passage[] {
  const texts = thread
    ? [{ ...thread.post, content: thread.post.content ?? title }, ...thread.comments]
    : hits.map((hit) => ({ ...hit, content: hit.snippet }))
  const mentioned = new Set(name && [name])
  let context = ''
  return texts.flatMap(({ author: by, author_kind: kind, content, ...hit }, at) => {
    const text = (content ?? '').trim()
    const author = by ?? ''
    const isComment = thread ? at > 0 : 'type' in hit && hit.type === 'comment'
    const isAnswer = [...mentioned].some((each) => isNamed(author.toLowerCase(), each))
    const isReport = isComment && kind === 'agent' && text.includes('](/p/')
    const source = { text, author, isComment, at, context }
    context = listAsked(text).join(' ')
    for (const [, each = ''] of text.matchAll(mention)) mentioned.add(each.toLowerCase())
    const isOwn = name !== '' && isNamed(author.toLowerCase(), name)
    const isQuotable =
      !isOwn && !(isAnswer && isComment && kind !== 'human') && !isReport && !isCourtesy(text)
    return isQuotable && /[\p{L}\p{N}]/u.test(text.replace(mention, '')) ? [source] : []
  })
}

export const passageCharsMax = 420
const shortCharsMax = 160

/** Returns the parts of a candidate that can be quoted: paragraphs, parts of long ones, tables and their rows. */
export const listPassages = (candidate: Candidate, agentName: string): Passage[] =>
  listSources(candidate, agentName).flatMap(({ text, ...source }) => {
    const parts = toBlocks(text).flatMap(splitBlock)
    return parts.map((_, from) => ({ ...source, text: joinParts(parts.slice(from)) }))
  })

/** Lengthens a short part by what follows it, as the answer may come next. */
function joinParts([first = '', ...rest]: string[]): string {
  const [next] = rest
  const isFull = next === undefined || first.length >= shortCharsMax
  if (isFull || first.length + next.length >= passageCharsMax) return first
  return joinParts([`${first}\n${next}`, ...rest.slice(1)])
}

interface Block {
  lines: string[]
  isTable: boolean
}

function splitBlock({ lines, isTable }: Block): string[] {
  const whole = lines.join('\n')
  // What a request gives to work on is a part of it.
  if (address.test(whole) && lines.flatMap(splitSentences).some(isRequest)) return []
  if (isTable) return whole.length <= passageCharsMax ? [...lines, whole] : lines
  // The sentences between two questions; each ends with what follows it: a line or a sentence.
  const runs: string[][] = [[]]
  for (const line of lines) {
    const sentences = splitSentences(line)
    for (const [index, sentence] of sentences.entries()) {
      const end = index < sentences.length - 1 ? ' ' : '\n'
      if (isAsking(sentence)) runs.push([])
      else runs.at(-1)?.push(withoutAddress(sentence) + end)
    }
  }
  return runs.filter((run) => run.length > 0).flatMap(splitRun)
}

/** Returns a run whole, or its parts that are as long as they may be: the answer may go on. */
function splitRun(run: string[]): string[] {
  if (run.join('').length <= passageCharsMax) return [run.join('').trim()]
  return run.slice(0, -1).map((_, from) => {
    let text = ''
    for (const sentence of run.slice(from)) {
      if (text !== '' && text.length + sentence.length > passageCharsMax) break
      text += sentence
    }
    return text.trim()
  })
}

/** A full stop or an ellipsis, with the marks that close after it, before space and a capital. */
const sentenceEnd =
  /(?<!\b(?:Mrs?|Ms|Dr|St|Nr|No|ca|vs)|\s\d{1,2})([.!?…]["'\p{Pf})]*)\s+(?=["'\p{Pi}(¿¡]*[^\p{Ll}\s])/gu

/** Splits a line after sentences, also after full stops of Chinese and Japanese without space. */
export const splitSentences = (line: string): string[] =>
  line
    .replace(sentenceEnd, '$1\n')
    .split(/(?<=[。！？])|\n/u)
    .map((sentence) => sentence.trim())
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence))

/** Returns the sentences of a Markdown text. */
export const splitText = (markdown: string): string[] =>
  toBlocks(markdown).flatMap(({ lines }) => lines.flatMap(splitSentences))

/** Converts Markdown to paragraphs of plain lines. What it quotes, and its code, are left out. */
function toBlocks(markdown: string): Block[] {
  const blocks: Block[] = []
  let head: string[] | null = null
  let isOpen = false
  let isCode = false
  for (const line of markdown.split(/\r?\n/)) {
    const isFence = /^\s*(```|~~~)/.test(line)
    if (isFence) isCode = !isCode
    const isRow = !isCode && /^\s*\|.*\|\s*$/.test(line)
    if (isRow) {
      const cells = line.trim().slice(1, -1).split('|').map(toPlainLine)
      const row = cells.map((cell, at) => (head?.[at] ? `${head[at]}: ${cell}` : cell)).join('; ')
      if (!head) blocks.push({ lines: [], isTable: true })
      else if (/[\p{L}\p{N}]/u.test(cells.join(''))) blocks.at(-1)?.lines.push(row)
      head ??= cells
    } else head = null
    const isText = !isRow && !isFence && !isCode && line.trim() !== '' && !/^\s*>/.test(line)
    if (isText) addLine(blocks, line, isOpen)
    isOpen = isText
  }
  return blocks.filter(({ lines }) => lines.length > 0)
}

/** Adds a line to the paragraph that it continues. A list belongs to the line before it. */
function addLine(blocks: Block[], line: string, isOpen: boolean): void {
  const plain = toPlainLine(line)
  const isItem = /^\s*([-*+]|\d+[.)])\s/.test(line)
  const last = blocks.at(-1)
  const before = last?.lines.at(-1) ?? ''
  if (!last || last.isTable || !(isOpen || isItem)) blocks.push({ lines: [plain], isTable: false })
  else if (isItem || /[.!?:…]$/.test(before)) last.lines.push(plain)
  else last.lines[last.lines.length - 1] = `${before} ${plain}`
}

/** Returns a line of Markdown without markup. */
const toPlainLine = (line: string): string =>
  line
    .replace(/^\s*(?:#{1,6}|[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s)?/, '')
    .replace(/!?\[([^[\]]*)\]\([^()]*\)/g, '$1')
    .replace(/[*`]+|(?<!\w)__?(?=\w)|(?<=\w)__?(?!\w)|~~/g, '')
    .trim()

export interface Call {
  name: string
  arguments: Record<string, unknown>
}

/** The tools of a request, with what they returned to the calls of this task. */
export interface Tools {
  has(name: string): boolean
  hasCalled(name: string): boolean
  /** Returns the result of a call; null when it has not been made, and is made next. */
  use(name: string, args: Call['arguments']): ToolOutput | null
  /** Calls whose results are missing. */
  missing: Call[]
}

/** Returns the tools of a task whose messages are given from its request on. */
export function openTools(messages: Message[], granted: ModelRequest['tools']): Tools {
  const results = messages.flatMap((message) => (message.role === 'tool' ? message.results : []))
  const made = messages.flatMap((message) => (message.role === 'assistant' ? message.calls : []))
  const missing: Call[] = []
  return {
    missing,
    has: (name) => granted.some((each) => each.name === name),
    hasCalled: (name) => made.some((each) => each.name === name),
    use(name, args) {
      const json = JSON.stringify(args)
      const call = made.find((each) => each.name === name && each.arguments === json)
      const result = results.find(({ callId }) => callId === call?.callId) ?? null
      const isNoted = missing.some(
        (each) => each.name === name && JSON.stringify(each.arguments) === json,
      )
      if (!result && !isNoted) missing.push({ name, arguments: args })
      return result
    },
  }
}

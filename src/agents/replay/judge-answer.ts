import type { Judgement } from '../../hub/contract/hub'
import { judgeLimits } from '../../shared/config'
import { shortenText } from '../../shared/cut-text'
import type { FinishReason, ModelAnswer } from '../loop/message'

/** What a judge said of the two answers as they were shown to it. */
export interface JudgeAnswer {
  says: Judgement
  reason: string
}

export const cannotTell = (reason: string): JudgeAnswer => ({
  says: 'cannot_tell',
  reason: shortenText(reason, judgeLimits.reasonCharsMax),
})

/** What a judge may name, without regard to case, spaces and punctuation. */
const winners: Partial<Record<string, Judgement>> = {
  a: 'first',
  answera: 'first',
  b: 'second',
  answerb: 'second',
  same: 'same',
  cannottell: 'cannot_tell',
}

/** Ends after which an answer is not whole. */
const incomplete: Partial<Record<FinishReason, string>> = {
  length: 'The judge’s answer was too long and was truncated.',
  'content-filter': 'The provider of the judge filtered its answer.',
  'tool-calls': 'The judge called a tool, although it has none.',
}

const badForm = 'The judge did not answer in the form that it was asked for.'
/** Each of them is read as the beginning of an object, up to the end of the text. */
const bracesMax = 50

/**
 * Reads the answer of a judge. Whatever stands around its JSON object, and how that is written, does not matter; an answer
 * that names no winner, or more than one, counts as `cannot_tell`.
 */
export function readJudgeAnswer({
  text,
  finish,
}: Pick<ModelAnswer, 'text' | 'finish'>): JudgeAnswer {
  const problem = incomplete[finish]
  if (problem) return cannotTell(problem)
  if (text.trim() === '') return cannotTell('The judge’s answer was empty.')
  if (text.split('{', bracesMax + 2).length > bracesMax + 1) return cannotTell(badForm)
  const objects = findObjects(text).filter((fields) => fields.some(isWinner))
  const named = objects.flat().filter(isWinner).map(toWinner)
  const [says] = named
  if (!says) {
    return cannotTell(named.length > 0 ? 'The judge named something else than an answer.' : badForm)
  }
  if (named.some((each) => each !== says))
    return cannotTell('The judge named more than one winner.')
  const reason = objects
    .flat()
    .find(({ name }) => name === 'reason')
    ?.value.trim()
  return {
    says,
    reason: shortenText(reason || 'The judge gave no reason.', judgeLimits.reasonCharsMax),
  }
}

interface Field {
  /** Lower case. */
  name: string
  value: string
}

const isWinner = ({ name }: Field): boolean => name === 'winner'

const toWinner = ({ value }: Field): Judgement | null =>
  winners[value.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '')] ?? null

/** Returns the fields of all flat objects in a text, which may be written as in JavaScript or Python. */
function findObjects(text: string): Field[][] {
  const objects: Field[][] = []
  for (let at = text.indexOf('{'); at >= 0; ) {
    const read = new ObjectReader(text, at + 1).read()
    if (read) objects.push(read.fields)
    at = text.indexOf('{', read ? read.end : at + 1)
  }
  return objects
}

/** The closing quotes of strings, by their opening ones. */
const quotes: Partial<Record<string, string>> = { '"': '"', "'": "'", '“': '”' }
const escapes: Partial<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' }

/** Reads an object whose values are strings or bare words. Each character is looked at a limited number of times. */
class ObjectReader {
  readonly #text: string
  #at: number

  /** @param at behind its opening brace */
  constructor(text: string, at: number) {
    this.#text = text
    this.#at = at
  }

  /** Returns its fields and the place behind it; null when it is no such object, or is not closed. */
  read(): { fields: Field[]; end: number } | null {
    const fields: Field[] = []
    for (;;) {
      this.#skip(/[\s,;]/)
      if (this.#peek() === '}') return { fields, end: this.#at + 1 }
      const name = this.#readWord(/[\p{L}\p{N}_-]/u)
      this.#skip(/\s/)
      if (name === null || !/[:=]/.test(this.#peek())) return null
      this.#at++
      this.#skip(/\s/)
      const value = this.#readWord(/[^,{}[\]\n"]/)
      if (value === null) return null
      fields.push({ name: name.toLowerCase(), value })
    }
  }

  #peek(): string {
    return this.#text.charAt(this.#at)
  }

  #skip(kind: RegExp): void {
    while (kind.test(this.#peek())) this.#at++
  }

  /** Returns a string, or the characters of a kind; null when there is neither. */
  #readWord(kind: RegExp): string | null {
    const closing = quotes[this.#peek()]
    if (closing !== undefined) return this.#readString(closing)
    const start = this.#at
    this.#skip(kind)
    return this.#at > start ? this.#text.slice(start, this.#at).trim() : null
  }

  #readString(closing: string): string | null {
    let value = ''
    for (this.#at++; this.#at < this.#text.length; this.#at++) {
      const character = this.#peek()
      if (character === closing) {
        this.#at++
        return value
      }
      value += character === '\\' ? this.#readEscape() : character
    }
    return null
  }

  /** Returns the character that is escaped; the reader stands on the last one of the escape. */
  #readEscape(): string {
    this.#at++
    const code = /^u([0-9a-f]{4})/i.exec(this.#text.slice(this.#at, this.#at + 5))?.[1]
    if (code !== undefined) {
      this.#at += 4
      return String.fromCharCode(Number.parseInt(code, 16))
    }
    return escapes[this.#peek()] ?? this.#peek()
  }
}

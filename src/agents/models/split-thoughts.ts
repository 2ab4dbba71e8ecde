import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import * as z from 'zod'
import { RepeatedCallId } from './repeated-call-ids'

/** Names of tags around reasoning that chat templates of open models use. */
const names = ['think', 'thinking', 'thought', 'reasoning']
const openings = names.map((name) => `<${name}>`)
const closings = names.map((name) => `</${name}>`)

type Part = LanguageModelV4StreamPart
type TextPart = Part & { type: 'text-start' | 'text-delta' | 'text-end' }

/** The value of a raw part: what was given as the text of this id until now is reasoning. */
export class TextWasReasoning {
  constructor(readonly id: string) {}
}

/**
 * Converts reasoning that servers of open models leave in the text into reasoning parts, which are never posted: what
 * stands between tags at the start of a text, and what stands before a closing tag whose opening tag was part of the
 * prompt (chat templates of several models begin the answer for the model). Tags further on, and in code, stay text.
 */
export function splitThoughts(stream: ReadableStream<Part>): ReadableStream<Part> {
  const texts = new Map<string, SplitText>()
  return stream.pipeThrough(
    new TransformStream<Part, Part>({
      transform(part, controller) {
        for (const each of split(part, texts)) controller.enqueue(each)
      },
    }),
  )
}

function split(part: Part, texts: Map<string, SplitText>): Part[] {
  if (part.type === 'text-start') texts.set(part.id, new SplitText(part))
  const isTextPart =
    part.type === 'text-start' || part.type === 'text-delta' || part.type === 'text-end'
  return (isTextPart && texts.get(part.id)?.add(part)) || [part]
}

/** One text of an answer. Holds back what may be the start of a tag until more arrives. */
class SplitText {
  readonly #start: Part
  readonly #id: string
  /** `text`: as long as a closing tag may follow; `answer`: as it comes. */
  #state: 'undecided' | 'thinking' | 'text' | 'answer' = 'undecided'
  #closing = ''
  #held = ''
  /** The text that was passed on, while a closing tag may follow. */
  #passed = ''

  constructor(start: Part & { type: 'text-start' }) {
    this.#start = start
    this.#id = start.id
  }

  add(part: TextPart): Part[] {
    if (part.type === 'text-start') return []
    if (this.#state === 'answer') return [part]
    if (part.type === 'text-end') return this.#end(part)
    this.#held += part.delta
    switch (this.#state) {
      case 'undecided':
        return this.#decide()
      case 'thinking':
        return this.#think()
      case 'text':
        return this.#pass()
    }
  }

  #decide(): Part[] {
    const begin = this.#held.trimStart()
    const index = openings.findIndex((opening) => begin.startsWith(opening))
    if (index >= 0) {
      this.#state = 'thinking'
      this.#closing = closings[index] ?? ''
      this.#held = begin.slice(openings[index]?.length)
      return [{ type: 'reasoning-start', id: this.#thoughtsId }, ...this.#think()]
    }
    if (openings.some((opening) => opening.startsWith(begin))) return []
    this.#state = 'text'
    return [this.#start, ...this.#pass()]
  }

  #think(): Part[] {
    const at = this.#held.indexOf(this.#closing)
    if (at < 0)
      return this.#emitThoughts(this.#held.length - countPartial([this.#closing], this.#held))
    const rest = this.#held.slice(at + this.#closing.length)
    const end: Part = { type: 'reasoning-end', id: this.#thoughtsId }
    return [...this.#emitThoughts(at), end, this.#start, ...this.#answer(rest.trimStart())]
  }

  /** Passes text on, until a closing tag in it says that it was no text. */
  #pass(): Part[] {
    const found = findClosing(this.#passed, this.#held)
    if (!found) {
      const chars = this.#held.length - countPartial(closings, this.#held)
      const delta = this.#held.slice(0, chars)
      this.#held = this.#held.slice(chars)
      this.#passed += delta
      return this.#toDeltas(delta)
    }
    if (found.isQuoted) return this.#answer(this.#held)
    const before = this.#toDeltas(this.#held.slice(0, found.at))
    const rest = this.#held.slice(found.at + found.tag.length)
    const mark: Part = { type: 'raw', rawValue: new TextWasReasoning(this.#id) }
    return [...before, mark, this.#start, ...this.#answer(rest.trimStart())]
  }

  /** Passes on the rest of the text, and all that follows. */
  #answer(text: string): Part[] {
    this.#state = 'answer'
    this.#held = ''
    this.#passed = ''
    return this.#toDeltas(text)
  }

  #end(part: Part): Part[] {
    if (this.#state === 'thinking') {
      const thoughts = this.#emitThoughts(this.#held.length)
      return [...thoughts, { type: 'reasoning-end', id: this.#thoughtsId }]
    }
    const start = this.#state === 'undecided' ? [this.#start] : []
    return [...start, ...this.#toDeltas(this.#held), part]
  }

  #emitThoughts(chars: number): Part[] {
    const delta = this.#held.slice(0, chars)
    this.#held = this.#held.slice(chars)
    return delta === '' ? [] : [{ type: 'reasoning-delta', id: this.#thoughtsId, delta }]
  }

  #toDeltas = (delta: string): Part[] =>
    delta === '' ? [] : [{ type: 'text-delta', id: this.#id, delta }]

  get #thoughtsId(): string {
    return `${this.#id}-thoughts`
  }
}

interface Closing {
  tag: string
  at: number
  /** It stands in code or quotes, or has an opening tag: the text speaks of tags. */
  isQuoted: boolean
}

/** Finds the first closing tag. */
function findClosing(before: string, held: string): Closing | null {
  const found = closings
    .map((tag) => ({ tag, at: held.indexOf(tag) }))
    .filter(({ at }) => at >= 0)
    .sort((one, other) => one.at - other.at)[0]
  if (!found) return null
  const text = before + held.slice(0, found.at)
  const isQuoted =
    /[`"'“]$/.test(text) ||
    text.split('```').length % 2 === 0 ||
    text.includes(found.tag.replace('/', ''))
  return { ...found, isQuoted }
}

/** Returns how many characters at the end may be the start of one of the tags. */
function countPartial(tags: string[], text: string): number {
  const at = text.lastIndexOf('<')
  const end = text.slice(at)
  return at >= 0 && tags.some((tag) => tag.startsWith(end)) ? end.length : 0
}

/** Fields that the provider package reads itself. */
const knownFields = ['reasoning_content', 'reasoning']
const thoughtField = /reasoning|thinking|thought/i
/** Beside the thoughts: what proves or counts them. */
const noText = /signature|token|_id$/i

const id = 'other-thoughts'

const chunkSchema = z.object({
  choices: z.array(z.object({ delta: z.record(z.string(), z.unknown()) })).min(1),
})

/**
 * Reads reasoning from every field of a Chat Completions delta whose name says so: servers of open models
 * call it `thinking`, `thought` or `reasoning_text`, and the provider package reads two names only. Takes
 * the stream with the raw chunks in it, and leaves these out.
 */
export function readThoughts(stream: ReadableStream<Part>): ReadableStream<Part> {
  let isOpen = false
  return stream.pipeThrough(
    new TransformStream<Part, Part>({
      transform(part, controller) {
        if (part.type !== 'raw' || part.rawValue instanceof RepeatedCallId) {
          return controller.enqueue(part)
        }
        const delta = findThoughts(part.rawValue)
        if (delta === '') return
        if (!isOpen) controller.enqueue({ type: 'reasoning-start', id })
        isOpen = true
        controller.enqueue({ type: 'reasoning-delta', id, delta })
      },
    }),
  )
}

function findThoughts(chunk: unknown): string {
  const delta = chunkSchema.safeParse(chunk).data?.choices[0]?.delta ?? {}
  if (knownFields.some((name) => typeof delta[name] === 'string' && delta[name] !== '')) return ''
  return Object.entries(delta)
    .filter(([name]) => thoughtField.test(name) && !noText.test(name))
    .map(([, value]) => readText(value))
    .join('')
}

const partSchema = z.object({ text: z.string() })

/** Returns a text, or the texts of a list of parts. */
const readText = (value: unknown): string => {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return partSchema.safeParse(value).data?.text ?? ''
  return value.map(readText).join('')
}

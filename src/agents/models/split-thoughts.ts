import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'

const opening = '<think>'
const closing = '</think>'

type Part = LanguageModelV4StreamPart
type TextPart = Part & { type: 'text-start' | 'text-delta' | 'text-end' }

/**
 * Converts `<think>` tags at the start of a text into reasoning parts, which are never posted. Servers
 * of open models often leave reasoning in the text. Tags further on stay text.
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
  #state: 'undecided' | 'thinking' | 'text' = 'undecided'
  #held = ''

  constructor(start: Part & { type: 'text-start' }) {
    this.#start = start
    this.#id = start.id
  }

  add(part: TextPart): Part[] {
    if (part.type === 'text-start') return []
    if (this.#state === 'text') return [part]
    if (part.type === 'text-end') return this.#end(part)
    this.#held += part.delta
    return this.#state === 'undecided' ? this.#decide() : this.#think()
  }

  #decide(): Part[] {
    const begin = this.#held.trimStart()
    if (begin.startsWith(opening)) {
      this.#state = 'thinking'
      this.#held = begin.slice(opening.length)
      return [{ type: 'reasoning-start', id: this.#thoughtsId }, ...this.#think()]
    }
    return opening.startsWith(begin) ? [] : this.#emitText(this.#held)
  }

  #think(): Part[] {
    const at = this.#held.indexOf(closing)
    if (at < 0) return this.#emitThoughts(this.#held.length - countPartialTag(this.#held))
    const text = this.#held.slice(at + closing.length).trimStart()
    const end: Part = { type: 'reasoning-end', id: this.#thoughtsId }
    return [...this.#emitThoughts(at), end, ...this.#emitText(text)]
  }

  #end(part: Part): Part[] {
    if (this.#state === 'undecided') return [...this.#emitText(this.#held), part]
    const thoughts = this.#emitThoughts(this.#held.length)
    return [...thoughts, { type: 'reasoning-end', id: this.#thoughtsId }]
  }

  #emitThoughts(chars: number): Part[] {
    const delta = this.#held.slice(0, chars)
    this.#held = this.#held.slice(chars)
    return delta === '' ? [] : [{ type: 'reasoning-delta', id: this.#thoughtsId, delta }]
  }

  #emitText(delta: string): Part[] {
    this.#state = 'text'
    this.#held = ''
    const deltas: Part[] = delta === '' ? [] : [{ type: 'text-delta', id: this.#id, delta }]
    return [this.#start, ...deltas]
  }

  get #thoughtsId(): string {
    return `${this.#id}-thoughts`
  }
}

/** Returns how many characters at the end may be the start of the closing tag. */
function countPartialTag(text: string): number {
  for (let chars = closing.length - 1; chars > 0; chars--) {
    if (text.endsWith(closing.slice(0, chars))) return chars
  }
  return 0
}

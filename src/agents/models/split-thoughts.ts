import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'

const opening = '<think>'
const closing = '</think>'

type Part = LanguageModelV4StreamPart
type TextPart = Part & { type: 'text-start' | 'text-delta' | 'text-end' }

/**
 * Servers of open models often leave what a model thinks in its text, between tags at the beginning.
 * Here it becomes reasoning, which is never posted (L25). Tags further on are what the model says.
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
  const isOfText =
    part.type === 'text-start' || part.type === 'text-delta' || part.type === 'text-end'
  return (isOfText && texts.get(part.id)?.take(part)) || [part]
}

/** One text of an answer. What may be the beginning of a tag is held back until more comes. */
class SplitText {
  readonly #start: Part
  readonly #id: string
  #state: 'undecided' | 'thinking' | 'said' = 'undecided'
  #held = ''

  constructor(start: Part & { type: 'text-start' }) {
    this.#start = start
    this.#id = start.id
  }

  take(part: TextPart): Part[] {
    if (part.type === 'text-start') return []
    if (this.#state === 'said') return [part]
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
    return opening.startsWith(begin) ? [] : this.#say(this.#held)
  }

  #think(): Part[] {
    const at = this.#held.indexOf(closing)
    if (at < 0) return this.#tellThoughts(this.#held.length - countTagBegun(this.#held))
    const said = this.#held.slice(at + closing.length).trimStart()
    const end: Part = { type: 'reasoning-end', id: this.#thoughtsId }
    return [...this.#tellThoughts(at), end, ...this.#say(said)]
  }

  #end(part: Part): Part[] {
    if (this.#state === 'undecided') return [...this.#say(this.#held), part]
    const thoughts = this.#tellThoughts(this.#held.length)
    return [...thoughts, { type: 'reasoning-end', id: this.#thoughtsId }]
  }

  #tellThoughts(chars: number): Part[] {
    const delta = this.#held.slice(0, chars)
    this.#held = this.#held.slice(chars)
    return delta === '' ? [] : [{ type: 'reasoning-delta', id: this.#thoughtsId, delta }]
  }

  #say(delta: string): Part[] {
    this.#state = 'said'
    this.#held = ''
    const said: Part[] = delta === '' ? [] : [{ type: 'text-delta', id: this.#id, delta }]
    return [this.#start, ...said]
  }

  get #thoughtsId(): string {
    return `${this.#id}-thoughts`
  }
}

/** How many characters at the end may be the beginning of the closing tag. */
function countTagBegun(text: string): number {
  for (let chars = closing.length - 1; chars > 0; chars--) {
    if (text.endsWith(closing.slice(0, chars))) return chars
  }
  return 0
}

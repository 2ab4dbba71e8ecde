import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import { isObject, toCount, toText } from './repair-stream'

type Part = LanguageModelV4StreamPart

/** The value of a raw part: the provider gave the call that has just begun an id that an earlier one has. */
export class RepeatedCallId {
  /**
   * @param partId the id by which the call's parts are read
   * @param callId what the provider gave
   */
  constructor(
    readonly partId: string,
    readonly callId: string,
  ) {}
}

/**
 * Says which calls of Chat Completions share an id. The package gives the second of them a new one, so that it would
 * run like any other call; the loop answers it with an error. A call without an id keeps the one of the package.
 *
 * @param stream with raw parts, each before what the package read of it
 */
export function findRepeatedIds(stream: ReadableStream<Part>): ReadableStream<Part> {
  const ids = new GivenIds()
  return stream.pipeThrough(
    new TransformStream<Part, Part>({
      transform(part, controller) {
        controller.enqueue(part)
        if (part.type === 'raw') ids.addChunk(part.rawValue)
        if (part.type !== 'tool-input-start') return
        const callId = ids.begin(part)
        if (callId !== part.id)
          controller.enqueue({ type: 'raw', rawValue: new RepeatedCallId(part.id, callId) })
      },
    }),
  )
}

/** The ids that a provider gave its calls. */
class GivenIds {
  /** Of the call at an index, until it has its name. */
  readonly #byIndex = new Map<number, string>()
  readonly #begun = new Set<string>()
  /** Calls that the newest chunk names, with their ids. */
  #named: { name: string; id: string }[] = []

  addChunk(chunk: unknown): void {
    this.#named = []
    const [choice] = isObject(chunk) && Array.isArray(chunk.choices) ? chunk.choices : []
    const delta = isObject(choice) && isObject(choice.delta) ? choice.delta : {}
    for (const call of Array.isArray(delta.tool_calls) ? delta.tool_calls : []) {
      if (isObject(call)) this.#addCall(call)
    }
  }

  #addCall(call: Record<string, unknown>): void {
    const index = toCount(call.index) ?? 0
    const id = toText(call.id) || this.#byIndex.get(index)
    if (!id) return
    this.#byIndex.set(index, id)
    const name = isObject(call.function) ? toText(call.function.name) : null
    if (!name) return
    this.#byIndex.delete(index)
    this.#named.push({ name, id })
  }

  /** Returns the id that the provider gave a call that begins; that of its parts when it gave none. */
  begin({ id: partId, toolName }: Part & { type: 'tool-input-start' }): string {
    const at = this.#named.findIndex(
      ({ name, id }) => name === toolName && (id === partId || this.#begun.has(id)),
    )
    const [given] = at < 0 ? [] : this.#named.splice(at, 1)
    const callId = given?.id ?? partId
    this.#begun.add(callId)
    return callId
  }
}

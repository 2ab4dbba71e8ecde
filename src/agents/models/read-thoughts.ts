import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import * as z from 'zod'

type Part = LanguageModelV4StreamPart

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
 * the stream with the raw chunks in it, and leaves them out.
 */
export function readThoughts(stream: ReadableStream<Part>): ReadableStream<Part> {
  let isOpen = false
  return stream.pipeThrough(
    new TransformStream<Part, Part>({
      transform(part, controller) {
        if (part.type !== 'raw') return controller.enqueue(part)
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

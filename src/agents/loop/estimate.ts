import type { Message } from './message'

/** An answer shorter than this is of no use: without room for it no call is begun. */
export const outputTokensFloor = 64

const charsPerToken = 4
/** What a message costs beside its words. */
const charsPerMessage = 16

/** Tokens of so many characters, before a provider has counted them (L18). */
export const toTokens = (chars: number): number => Math.ceil(chars / charsPerToken)

/** Characters of a message as they count in an estimate (L18). */
export function countChars(message: Message): number {
  if (message.role === 'tool') {
    return message.results.reduce(
      (sum, { text, name }) => sum + text.length + name.length,
      charsPerMessage,
    )
  }
  if (message.role !== 'assistant') return charsPerMessage + message.text.length
  return message.calls.reduce(
    (sum, call) => sum + call.name.length + call.arguments.length,
    charsPerMessage + message.text.length + (message.providerParts?.length ?? 0),
  )
}

export const countAllChars = (messages: Message[]): number => {
  let chars = 0
  for (const message of messages) chars += countChars(message)
  return chars
}

import type { Message } from './message'

/** The shortest useful answer, in tokens. Without space for it no model call is started. */
export const outputTokensFloor = 64

const charsPerToken = 4
/** Characters added for each message, beside its text. */
const charsPerMessage = 16

/** Estimates the tokens of so many characters, before a provider has counted them. */
export const estimateTokensOfChars = (chars: number): number => Math.ceil(chars / charsPerToken)

/** Returns the characters of a message that count in an estimate. */
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

export const countTotalChars = (messages: Message[]): number => {
  let chars = 0
  for (const message of messages) chars += countChars(message)
  return chars
}

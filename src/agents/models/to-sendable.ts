import type { Message, ToolRequest } from '../loop/message'

/**
 * Brings messages into what every provider takes, whoever wrote them: another provider's model, whose calls have other
 * ids and names, or a tool server, whose result has no text. What a model said stays as it is in the journal; only what is
 * sent is changed. The same message is always sent in the same form, so that prompts stay cached.
 */
export const toSendable = (messages: Message[]): Message[] =>
  messages.flatMap((message) => toSendableMessage(message) ?? [])

/** Returns null for a message without anything in it, which providers refuse. */
function toSendableMessage(message: Message): Message | null {
  switch (message.role) {
    case 'system':
      return isBlank(message.text) ? null : message
    case 'user':
      return isBlank(message.text) ? { ...message, text: '(no text)' } : message
    case 'assistant': {
      const calls = message.calls.map(toSendableCall)
      return isBlank(message.text) && calls.length === 0 ? null : { ...message, calls }
    }
    case 'tool': {
      const results = message.results.map((result) => ({
        ...toSendableCall(result),
        text: isBlank(result.text) ? '(no output)' : result.text,
      }))
      return { ...message, results }
    }
  }
}

const isBlank = (text: string): boolean => text.trim() === ''

const toSendableCall = <Call extends Pick<ToolRequest, 'callId' | 'name'>>(call: Call): Call => ({
  ...call,
  callId: toSendableName(call.callId),
  name: toSendableName(call.name),
})

/** Providers take ids and names of these characters, up to this length. */
const nameCharsMax = 64
const otherChars = /[^a-zA-Z0-9_-]/g

/**
 * Returns an id or name that every provider takes. One that had to be changed ends in a hash of what it was, so that two
 * different ones stay different.
 */
function toSendableName(name: string): string {
  const plain = name.replace(otherChars, '_')
  if (plain === name && name !== '' && name.length <= nameCharsMax) return name
  const mark = hash(name)
  return `${plain.slice(0, nameCharsMax - mark.length - 1)}_${mark}`
}

/** FNV-1a over UTF-16 units, in base 36. */
function hash(text: string): string {
  let value = 0x811c9dc5
  for (let at = 0; at < text.length; at++) {
    value = Math.imul(value ^ text.charCodeAt(at), 0x01000193)
  }
  return (value >>> 0).toString(36)
}

/**
 * Joins messages so that roles alternate as templates of many open models require: no user after a tool or a user, no
 * assistant after an assistant without calls.
 */
export function joinTurns(messages: Message[]): Message[] {
  const joined: Message[] = []
  for (const message of messages) {
    const last = joined.at(-1)
    const both = last && joinTwo(last, message)
    if (both) joined[joined.length - 1] = both
    else joined.push(message)
  }
  return joined
}

/** Returns two neighbours as one message; null for two that may follow one another. */
function joinTwo(first: Message, second: Message): Message | null {
  if (second.role === 'user') {
    if (first.role === 'user') return { role: 'user', text: joinTexts(first.text, second.text) }
    const result = first.role === 'tool' ? first.results.at(-1) : undefined
    if (first.role !== 'tool' || !result) return null
    const text = joinTexts(result.text, second.text)
    return { role: 'tool', results: [...first.results.slice(0, -1), { ...result, text }] }
  }
  if (first.role === 'assistant' && second.role === 'assistant' && first.calls.length === 0) {
    return { role: 'assistant', text: joinTexts(first.text, second.text), calls: second.calls }
  }
  return null
}

const joinTexts = (first: string, second: string): string =>
  [first, second].filter((text) => !isBlank(text)).join('\n\n')

/** An escape in JSON: a backslash, a surrogate pair, a lone surrogate or U+0000, any other. */
const escapes =
  /\\\\|\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|\\ud[89a-f][0-9a-f]{2}|\\u0000|\\./gi

/**
 * Replaces half surrogate pairs and U+0000 in a request's JSON by U+FFFD: no text of Unicode has the first, and servers
 * refuse the whole request for either. One place for texts, arguments, names and schemas.
 */
export const toWellFormedJson = (json: string): string =>
  json.replace(escapes, (each) =>
    /^\\u(?:d[89a-f][0-9a-f]{2}|0000)$/i.test(each) ? '\\ufffd' : each,
  )

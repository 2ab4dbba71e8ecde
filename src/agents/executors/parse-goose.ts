import type { ExecutorAction } from './executor'
import { asText, isJson, type Json, readJsonObject } from './read-json'

/** Parses Goose's `--output-format json`: all messages, with the status in `metadata`. */
export function parseGoose(output: string): ExecutorAction {
  const result = readJsonObject(output)
  if (!result || !Array.isArray(result.messages)) {
    return { kind: 'failed', message: 'Goose ended without a result.' }
  }
  const metadata = isJson(result.metadata) ? result.metadata : {}
  const status = asText(metadata.status) ?? 'completed'
  if (status !== 'completed') return { kind: 'failed', message: `Goose ended with ${status}.` }
  const text = result.messages
    .filter(isJson)
    .map(readAnswer)
    .findLast((each) => each !== '')
  // Goose reports only the sum of input and output tokens, so usage is unknown.
  return text === undefined ? { kind: 'nothing' } : { kind: 'reply', text, usage: null }
}

function readAnswer({ role, content }: Json): string {
  if (role !== 'assistant') return ''
  if (typeof content === 'string') return content.trim()
  const parts = Array.isArray(content) ? content.filter(isJson) : []
  return parts
    .flatMap(({ type, text }) => (type === 'text' ? [asText(text) ?? ''] : []))
    .join('\n')
    .trim()
}

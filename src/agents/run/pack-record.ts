import type { LoopEvent } from '../loop/event'

/** A value of an event that mostly says what the rest of it says, and where it is: a path and a key. */
type Copy = [path: string[], key: string, value: unknown]

/** Returns the values of an event that need not be stored while they are these. */
function listCopies(event: LoopEvent): Copy[] {
  switch (event.type) {
    case 'loaded':
      return [
        [['facts', 'answer'], 'requesters', event.facts.requesters?.map(({ name }) => name)],
        // as a record has them
        [['facts', 'session'], 'task', ''],
        [['facts', 'session'], 'gist', ''],
      ]
    case 'model_answered': {
      const { inputTokens, cachedTokens, outputTokens, reasoningTokens, model } = event.charge
      const { calls = [] } = event.answer
      return [
        [['answer'], 'usage', { inputTokens, cachedTokens, outputTokens, reasoningTokens }],
        [['answer'], 'reasoning', ''],
        [['answer'], 'calls', []],
        [['request'], 'model', model],
        [[], 'calls', calls.map(({ callId }) => ({ callId, isSequential: false }))],
      ]
    }
    case 'tool_returned': {
      const { callId, name, durationMs, resultBytes } = event
      return Object.entries({ callId, tool: name, durationMs, resultBytes }).map(
        ([key, value]): Copy => [['audit'], key, value],
      )
    }
    default:
      return []
  }
}

type Values = Record<string, unknown>

/** Returns the object at a path; null when there is none. */
function find(values: Values, path: string[]): Values | null {
  let found: unknown = values
  for (const name of path) found = (found as Values | null | undefined)?.[name]
  return typeof found === 'object' ? (found as Values | null) : null
}

/** Returns an event as it is stored: each fact once. */
export function packEvent(event: LoopEvent): unknown {
  const packed: Values = { ...event }
  for (const [path, key, value] of listCopies(event)) {
    const found = find(packed, path)
    if (!found || JSON.stringify(found[key]) !== JSON.stringify(value)) continue
    // what is copied is changed, and no event
    let into = packed
    for (const name of path) {
      const copied = { ...(into[name] as Values) }
      into[name] = copied
      into = copied
    }
    delete into[key]
  }
  return packed
}

/** Completes an event that was parsed from a record, and returns it. One that was stored whole stays as it is. */
export function unpackEvent(event: LoopEvent): LoopEvent {
  for (const [path, key, value] of listCopies(event)) {
    const into = find(event as unknown as Values, path)
    if (into && value !== undefined && !(key in into)) into[key] = value
  }
  return event
}

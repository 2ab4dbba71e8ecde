import type { ExecutorAction, ExecutorUsage } from './executor'
import { asCount, asText, isJson, type Json, readJsonLines, toMicrousd } from './read-json'

/** Parses OpenCode's `run --format json`: one event per line, with its data in `part`. */
export function parseOpencode(output: string): ExecutorAction {
  const events = readJsonLines(output)
  const failure = events.findLast(({ type }) => type === 'error')
  if (failure) return { kind: 'failed', message: describeFailure(failure) }
  // Only the text of the last step is the answer; earlier text precedes tool calls.
  const lastStep = events.findLastIndex(({ type }) => type === 'step_start')
  const text = events
    .slice(Math.max(0, lastStep))
    .flatMap(({ type, part }) => (type === 'text' && isJson(part) ? [asText(part.text) ?? ''] : []))
    .join('\n')
    .trim()
  if (text !== '') return { kind: 'reply', text, usage: sumUsage(events) }
  if (events.length > 0) return { kind: 'nothing' }
  return { kind: 'failed', message: 'OpenCode ended without a result.' }
}

function describeFailure({ error }: Json): string {
  const { name, data } = isJson(error) ? error : {}
  const message = isJson(data) ? asText(data.message) : null
  return message ?? asText(name) ?? 'OpenCode ended with an error.'
}

function sumUsage(events: Json[]): ExecutorUsage | null {
  const steps = events.flatMap(({ type, part }) =>
    type === 'step_finish' && isJson(part) ? [part] : [],
  )
  if (steps.length === 0) return null
  const sum = (read: (step: Json, tokens: Json, cache: Json) => unknown) =>
    steps.reduce((total, step) => {
      const tokens = isJson(step.tokens) ? step.tokens : {}
      return total + (asCount(read(step, tokens, isJson(tokens.cache) ? tokens.cache : {})) ?? 0)
    }, 0)
  const cached = sum((_step, _tokens, cache) => cache.read)
  return {
    inputTokens: cached + sum((_step, { input }) => input),
    outputTokens: sum((_step, { output }) => output) + sum((_step, { reasoning }) => reasoning),
    costMicrousd: toMicrousd(sum(({ cost }) => cost)),
  }
}

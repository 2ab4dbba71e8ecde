import type { ExecutorAction } from './executor'
import {
  asCount,
  asText,
  isJson,
  type Json,
  readJsonLines,
  readJsonObject,
  toMicrousd,
} from './read-json'

/**
 * Parses Claude Code's output: with `--output-format json` one `result` object, with `stream-json`
 * many lines of which the last is the `result`.
 */
export function parseClaudeCode(output: string): ExecutorAction {
  const lines = readJsonLines(output)
  const single = lines.length === 0 ? readJsonObject(output) : null
  const result = [...lines, ...(single ? [single] : [])].findLast(({ type }) => type === 'result')
  if (!result) return { kind: 'failed', message: 'Claude Code ended without a result.' }
  const text = asText(result.result)?.trim() ?? ''
  if (result.is_error === true || asText(result.subtype)?.startsWith('error')) {
    return { kind: 'failed', message: text || `Claude Code ended with ${result.subtype}.` }
  }
  return text === '' ? { kind: 'nothing' } : { kind: 'reply', text, usage: readUsage(result) }
}

function readUsage({ usage, total_cost_usd }: Json) {
  const counts = isJson(usage) ? usage : {}
  const parts = ['input_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens']
  const input = parts.map((name) => asCount(counts[name])).filter((count) => count !== null)
  return {
    inputTokens: input.length > 0 ? input.reduce((sum, count) => sum + count, 0) : null,
    outputTokens: asCount(counts.output_tokens),
    costMicrousd: toMicrousd(total_cost_usd),
  }
}

import type { ExecutorAction, ExecutorUsage } from './executor'
import { toMicrousd } from './read-json'

/** Matches lines that Aider prints about itself before it starts. */
const preamble =
  /^(Aider v\S+|(Main |Weak |Editor )?[Mm]odels?: .*|Git repo: .*|Repo-map: .*|Added .* to the chat\.?|Using .* as API base.*|Warning: .*|─+)$/

const tokensLine =
  /^Tokens: ([\d.]+[kM]?) sent,(?: .*,)? ([\d.]+[kM]?) received\.(?: Cost: \$[\d.]+ message, \$([\d.]+) session\.)?$/

const failureLine = /^(litellm\.\w+|.*(?:AuthenticationError|API key|RateLimitError).*)/

/**
 * Parses Aider's output, which is not JSON: the answer follows lines about Aider itself and is
 * followed by a line of token counts and a list of edited files.
 */
export function parseAider(output: string): ExecutorAction {
  const lines = output.split('\n').map((line) => line.trimEnd())
  const answerLines = lines.filter((line) => !preamble.test(line) && !tokensLine.test(line))
  const text = answerLines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim()
  const usage = readUsage(lines)
  const failure = usage ? undefined : answerLines.find((line) => failureLine.test(line))
  if (failure) return { kind: 'failed', message: `Aider failed: ${failure.slice(0, 200)}` }
  return text === '' ? { kind: 'nothing' } : { kind: 'reply', text, usage }
}

/** Sums the tokens, which Aider prints per message; it prints the cost as a running total. */
function readUsage(lines: string[]): ExecutorUsage | null {
  const found = lines.flatMap((line) => {
    const match = tokensLine.exec(line)
    return match ? [match] : []
  })
  const last = found.at(-1)
  if (!last) return null
  const sum = (group: number) =>
    found.reduce((total, match) => total + readCount(match[group] ?? '0'), 0)
  return {
    inputTokens: sum(1),
    outputTokens: sum(2),
    costMicrousd: last[3] === undefined ? null : toMicrousd(Number(last[3])),
  }
}

const factors: Record<string, number> = { k: 1_000, M: 1_000_000 }

const readCount = (text: string): number =>
  Math.round(Number.parseFloat(text) * (factors[text.at(-1) ?? ''] ?? 1))

import type { FC } from 'hono/jsx'
import { readTools, sayOutcome, sayTool } from './agent-words'
import { formatCost, formatCount, formatDuration } from './format'
import { Icon } from './icons'
import { activationPath } from './who'

/** The activation that wrote an answer. */
export interface Provenance {
  activationId: string
  outcome: string | null
  /** JSON list of tool names. */
  tools: string
  startedAt: number
  finishedAt: number | null
  tokens: number
  costMicrousd: number
  isPriced: boolean
}

/** The line below an agent's answer: outcome, tools, duration, tokens, cost, link to the run. */
export const ProvenanceLine: FC<{ of: Provenance }> = ({ of }) => {
  const tools = readTools(of.tools)
  const isCompleted = of.outcome === 'completed'
  return (
    <div class="prov">
      <span class={isCompleted ? undefined : 'bad'}>
        <Icon name={isCompleted ? 'check' : 'stop'} />
        {sayOutcome(of.outcome)}
      </span>
      <span>{tools.length > 0 ? tools.map(sayTool).join(', ') : 'no tools'}</span>
      {of.finishedAt !== null && <span>{formatDuration(of.finishedAt - of.startedAt)}</span>}
      <span>{formatCount(of.tokens)}&nbsp;tokens</span>
      <span>{formatCost(of.costMicrousd, of.isPriced, 'thread')}</span>
      <a href={activationPath(of.activationId)}>View run</a>
    </div>
  )
}

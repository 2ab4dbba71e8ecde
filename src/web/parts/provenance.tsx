import type { FC } from 'hono/jsx'
import { formatOutcome, formatToolName } from '../../hub/traces/run-labels'
import { formatCost, formatCount, formatDuration } from '../../shared/format'
import { activationPath, connectPath } from '../../shared/paths'
import { Icon } from './icons'

/** The activation that wrote an answer. */
export interface Provenance {
  activationId: string
  outcome: string | null
  /** As `provider/model`. */
  model: string
  /** The coding agent that used the model; null: none. */
  program: string | null
  /** What the run could not do; null when nothing is known. */
  unmet: string | null
  /** Remote servers where the reader can connect the account that the run missed. */
  accountsMissing: readonly string[]
  /** Path of the answer. */
  path: string
  /** Names of the tools that were used. */
  tools: readonly string[]
  startedAt: number
  finishedAt: number | null
  tokens: number
  costMicrousd: number
  isPriced: boolean
}

/** The line below an agent's answer: outcome, model, tools, what it could not do, duration, tokens, cost, link to the run. */
export const ProvenanceLine: FC<{ of: Provenance }> = ({ of }) => {
  const isCompleted = of.outcome === 'completed'
  return (
    <div class="prov">
      <span class={isCompleted ? undefined : 'bad'}>
        <Icon name={isCompleted ? 'check' : 'stop'} />
        {formatOutcome(of.outcome)}
      </span>
      <span>{of.program === null ? of.model : `${of.program} with ${of.model}`}</span>
      <span>{of.tools.length > 0 ? of.tools.map(formatToolName).join(', ') : 'no tools'}</span>
      {of.finishedAt !== null && <span>{formatDuration(of.finishedAt - of.startedAt)}</span>}
      <span>{formatCount(of.tokens)}&nbsp;tokens</span>
      <span>{formatCost(of.costMicrousd, of.isPriced, 'thread')}</span>
      {of.unmet !== null && <span class="bad">{of.unmet}</span>}
      {of.accountsMissing.map((service) => (
        <a href={`${connectPath(service)}?next=${encodeURIComponent(of.path)}`}>
          Connect your account at {service}
        </a>
      ))}
      <a href={activationPath(of.activationId)}>View run</a>
    </div>
  )
}

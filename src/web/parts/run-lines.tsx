import type { FC } from 'hono/jsx'
import { formatToolName } from '../../hub/rules/traces'
import type { ActivationRow } from '../../hub/runs/list-queries'
import { formatOutcome, formatTask, freeRunLabel, isFreeRun } from '../../hub/runs/run-labels'
import { approvals as limits } from '../../shared/config'
import { formatCost, formatCount, formatDuration } from '../../shared/format'
import { activationPath, connectPath } from '../../shared/paths'
import { AccountLink } from './links'
import { TableHead } from './lists'
import { Icon } from './meter'
import { RelativeTime } from './times'

interface ActivationTableProps {
  /** With requesters where the list shows who asked. */
  rows: (ActivationRow & { requesters?: readonly string[] })[]
  now: number
  /** Shows the agent's name; not needed on the page of one agent. */
  hasAgent?: boolean
  /** Id of a form with which runs that have ended are chosen, as its field `run`. */
  chosenIn?: string | undefined
}

export const ActivationTable: FC<ActivationTableProps> = (props) => {
  const { rows, now, hasAgent = false, chosenIn } = props
  return (
    <table class="tbl fold">
      <TableHead
        columns={[
          'Run',
          hasAgent && 'Agent',
          'Started',
          'Trigger',
          'Outcome',
          { right: 'Duration' },
          { right: 'Tokens' },
          { right: 'Cost' },
        ]}
      />
      <tbody>
        {rows.map((row) => (
          <tr data-row>
            <td>
              {chosenIn !== undefined && row.state === 'done' && (
                <>
                  <input
                    type="checkbox"
                    name="run"
                    value={row.id}
                    form={chosenIn}
                    aria-label={`Choose ${row.postTitle ?? formatTask(row.task)}`}
                  />{' '}
                </>
              )}
              <a class="plain" href={activationPath(row.id)}>
                <bdi>{row.postTitle ?? formatTask(row.task)}</bdi>
              </a>
            </td>
            {hasAgent && (
              <td>
                <AccountLink name={row.agentName} kind="agent" />
              </td>
            )}
            <td class="nb" data-l="Started">
              <RelativeTime at={row.startedAt} now={now} />
            </td>
            <td class={row.requesters ? 'whole' : 'nb'} data-l="Trigger">
              {formatTask(row.task)}
              {row.requesters && row.requesters.length > 0 && ` by ${row.requesters.join(', ')}`}
            </td>
            <td data-l="Outcome">
              <Outcome row={row} />
            </td>
            <td class="r" data-l="Duration">
              {formatDuration((row.finishedAt ?? now) - row.startedAt)}
            </td>
            <td class="r" data-l="Tokens">
              {row.state === 'done' && !isFreeRun(row) && formatCount(row.tokens)}
            </td>
            <td class="r" data-l="Cost">
              {row.state === 'done' &&
                (isFreeRun(row)
                  ? freeRunLabel
                  : formatCost(row.costMicrousd, row.isPriced, 'thread'))}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

const Outcome: FC<{ row: ActivationRow }> = ({ row }) => {
  if (row.state === 'running') return <span class="lit">running</span>
  if (row.state === 'parked') return <>waiting</>
  if (row.outcome === 'completed') return <>completed</>
  return <span class="warn">{formatOutcome(row.outcome)}</span>
}

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

/** The line below an agent's answer: outcome, model, tools, what it could not do, duration, tokens, cost. */
export const ProvenanceLine: FC<{ of: Provenance }> = ({ of }) => {
  const isCompleted = of.outcome === 'completed'
  return (
    <div class="prov">
      <span class={isCompleted ? undefined : 'bad'}>
        <Icon name={isCompleted ? 'check' : 'stop'} />
        {formatOutcome(of.outcome)}
      </span>
      {!isFreeRun(of) && (
        <span>{of.program === null ? of.model : `${of.program} with ${of.model}`}</span>
      )}
      <span>{of.tools.length > 0 ? of.tools.map(formatToolName).join(', ') : 'no tools'}</span>
      {of.finishedAt !== null && <span>{formatDuration(of.finishedAt - of.startedAt)}</span>}
      {isFreeRun(of) ? (
        <span>{freeRunLabel}</span>
      ) : (
        <>
          <span>{formatCount(of.tokens)}&nbsp;tokens</span>
          <span>{formatCost(of.costMicrousd, of.isPriced, 'thread')}</span>
        </>
      )}
      {of.unmet !== null && <span class="bad">{of.unmet}</span>}
      {of.accountsMissing.map((service) => (
        <a href={`${connectPath(service)}?next=${encodeURIComponent(of.path)}`}>
          Connect your account at {service}
        </a>
      ))}
    </div>
  )
}

interface PendingApprovalProps {
  agentName: string
  /** Names of the tools that require approval. */
  tools: readonly string[]
  /** True for an admin, who can approve or deny. */
  canDecide: boolean
  /** For a requester, who can decide; empty for others. */
  deciders?: readonly string[]
  /** The run waits for its model provider, not for an approval. */
  isAwaitingProvider: boolean
}

/**
 * Says which tools an agent is waiting to use, with a link to the approvals for an admin, or that it
 * waits for its model provider.
 */
export const PendingApproval: FC<PendingApprovalProps> = ({
  agentName,
  tools,
  canDecide: mayDecide,
  deciders = [],
  isAwaitingProvider,
}) =>
  isAwaitingProvider ? (
    <AwaitedProvider agentName={agentName} />
  ) : (
    <>
      <p class="do">
        {agentName} is waiting for approval
        {tools.length > 0 && ` to use ${tools.map(formatToolName).join(', ')}`}
      </p>
      <p class="meta up">
        {mayDecide ? (
          <a href="/approvals">Review request</a>
        ) : (
          `The run continues when ${formatDeciders(deciders)} approves or denies the request. Waiting costs nothing.`
        )}
      </p>
    </>
  )

/** Formats who can decide, such as `@ada or @bo`. */
export function formatDeciders(names: readonly string[]): string {
  if (names.length === 0) return 'an admin'
  const shown = names.slice(0, limits.decidersShown).map((name) => `@${name}`)
  return [...shown, ...(names.length > shown.length ? ['another admin'] : [])].join(' or ')
}

const AwaitedProvider: FC<{ agentName: string }> = ({ agentName }) => (
  <>
    <p class="do">{agentName} is waiting for its model provider, which is down</p>
    <p class="meta up">
      The run continues when the provider answers. Waiting costs nothing. See{' '}
      <a href="/m/agent-errors">m/agent-errors</a>.
    </p>
  </>
)

import type { FC } from 'hono/jsx'
import { formatPayers } from '../../hub/budgets/budget-labels'
import type { AgentPromise, OwnAccount, Preview } from '../../hub/previews/preview-view'
import { formatToolName } from '../../hub/traces/run-labels'
import { formatCount, formatMoney, formatPlural } from '../../shared/format'
import { connectPath } from '../../shared/paths'
import { AccountLink } from '../parts/account-link'

const headlines: Record<AgentPromise['consequence'], string> = {
  starts: 'answers',
  joins: 'reads it in its present run',
  waits: 'answers later',
  refuses: 'can only say that a budget is used up',
  not_woken: 'is not woken',
}

/** Says what posting a text does: which agents answer, with what, for whom and at what cost, or why not. */
export const PromiseSection: FC<{ of: Preview }> = ({ of }) => (
  <section class="up3" id="promise" aria-label="What posting does">
    {of.refusal !== null && (
      <p class="crit">
        <strong>Not posted:</strong> {of.refusal}
      </p>
    )}
    {of.agents.length === 0 && of.refusal === null && <p class="meta">This wakes no agent.</p>}
    {of.agents.map((each) => (
      <AgentLine of={each} />
    ))}
    {of.notified.length > 0 && (
      <p class="meta up">Notifies {of.notified.map((name) => `@${name}`).join(', ')}.</p>
    )}
  </section>
)

const AgentLine: FC<{ of: AgentPromise }> = ({ of }) => (
  <div class="up2" data-promise={of.consequence}>
    <p class="by">
      <AccountLink name={of.name} kind="agent" /> <strong>{headlines[of.consequence]}</strong>
      {of.reason !== null && <span>{of.reason}</span>}
    </p>
    {of.consequence !== 'not_woken' && of.consequence !== 'joins' && (
      <div class="meta">
        <p>
          For @{of.requester}, with {of.model}. {formatApprovals(of)} {formatCost(of)}
        </p>
        {of.accounts.map((account) => (
          <AccountLine of={account} requester={of.requester} />
        ))}
        <ToolNames names={of.tools} />
      </div>
    )}
  </div>
)

/** Whose account calls at a server use; without one they fail. */
const AccountLine: FC<{ of: OwnAccount; requester: string }> = ({ of, requester }) =>
  of.isConnected ? (
    <p>
      At {of.service} it acts as @{requester}, with your connected account.
    </p>
  ) : (
    <p>
      At {of.service} it acts as @{requester}, and no account is connected there.{' '}
      <a class="ul" href={connectPath(of.service)}>
        Connect your account at {of.service}
      </a>
    </p>
  )

/** The tools that the agent may use: their number, with the names behind it. */
const ToolNames: FC<{ names: string[] }> = ({ names }) =>
  names.length > 0 && (
    <details class="up">
      <summary>It may use {formatPlural(names.length, 'tool', 'tools')}</summary>
      <p>{names.map(formatToolName).join(', ')}</p>
    </details>
  )

function formatApprovals({ tools, needsApproval }: AgentPromise): string {
  if (tools.length === 0) return 'It may use no tools.'
  const asks = needsApproval.map(({ tool, calls }) =>
    calls === 'all' ? formatToolName(tool) : `some calls of ${formatToolName(tool)}`,
  )
  return asks.length === 0 ? '' : `Approval is required for ${asks.join(', ')}.`
}

function formatCost(promise: AgentPromise): string {
  const { reservedMicrousd, mostMicrousd, tokensMax, paidBy, consequence } = promise
  if (consequence === 'refuses') return 'No model is called.'
  const tokens = tokensMax === null ? null : `${formatCount(tokensMax)} tokens`
  const payers = formatPayers(paidBy)
  if (mostMicrousd > 0) {
    const most = [formatMoney(mostMicrousd, 'thread'), ...(tokens === null ? [] : [tokens])]
    const first =
      reservedMicrousd > 0 ? `at most ${formatMoney(reservedMicrousd, 'thread')}` : 'nothing'
    return `The first model call costs ${first}, the run at most ${most.join(' or ')}: what its budgets leave (${payers}).`
  }
  // Nothing is left while the run waits; a model without a price costs nothing.
  if (consequence === 'waits') return `Budgets that pay: ${payers}.`
  return tokens === null
    ? 'The run costs nothing.'
    : `The run costs nothing, and uses at most ${tokens}.`
}

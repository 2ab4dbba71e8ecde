import type { FC } from 'hono/jsx'
import { computeUsedShares } from '../../hub/budgets/levels'
import type { PageBudget } from '../../hub/budgets/page-queries'
import { canEditAgent } from '../../hub/definitions/may-edit'
import { mergePolicy } from '../../hub/grants/queries'
import type { FeedbackRow } from '../../hub/run-feedback/queries'
import { isOfflineModel } from '../../hub/traces/run-labels'
import { formatPeriod, formatPlural, formatShare } from '../../shared/format'
import type { AccountId } from '../../shared/ids'
import { accountPath } from '../../shared/paths'
import { formatBudgetConsequence, formatBudgetUsage } from '../budgets/budget-list'
import type { PageViewer } from '../frame/frame'
import { AccountLink } from '../parts/account-link'
import { Meter, Status } from '../parts/meter'
import { RelativeTime } from '../parts/relative-time'
import { AgentFeedback } from './agent-feedback'
import type { AgentCard } from './page-queries'

export interface AgentSidebarProps {
  name: string
  /** The member who owns the agent. */
  ownerId: AccountId | null
  /** Admins and the owner can edit the definition. */
  viewer: PageViewer | null
  agent: AgentCard
  budget: PageBudget | null
  /** What people think of its answers of the last days. */
  feedback: FeedbackRow[]
  now: number
}

/** Sidebar of an agent's page: budget, grants, definition, feedback. */
export const AgentSidebar: FC<AgentSidebarProps> = (props) => {
  const { name, ownerId, viewer, agent, budget, feedback, now } = props
  return (
    <>
      <BudgetBlock budget={budget} />
      <GrantBlock agent={agent} />
      <section class="block">
        <h2>Definition</h2>
        <dl class="def">
          <dt>Version</dt>
          <dd class="num">
            {agent.definitionVersion}
            {agent.definitionAt !== null && (
              <>
                , <RelativeTime at={agent.definitionAt} now={now} />
              </>
            )}
          </dd>
          {agent.ownerName !== null && (
            <>
              <dt>Owner</dt>
              <dd>
                <AccountLink name={agent.ownerName} kind="human" />
              </dd>
            </>
          )}
          <dt>Model</dt>
          <dd>
            {agent.model}
            {isOfflineModel(agent.model) && (
              <p class="meta">
                The built-in offline model searches and quotes posts at no cost.{' '}
                <a href={viewer?.isAdmin ? '/models' : '/docs#models'}>Use another model</a>
              </p>
            )}
          </dd>
        </dl>
        {viewer !== null && (
          <p class="up3">
            <a class="ul" href={`${accountPath(name)}/knows`}>
              What {name} knows
            </a>
          </p>
        )}
        <Warnings warnings={agent.warnings} />
        {viewer !== null && canEditAgent(viewer, ownerId) && (
          <p class="acts up3">
            <a class="btn" href={`${accountPath(name)}/edit`}>
              Edit
            </a>
            <a class="btn" href={`${accountPath(name)}/versions`}>
              Versions
            </a>
            <a class="btn" href={`${accountPath(name)}/schedules`}>
              Schedules
            </a>
          </p>
        )}
      </section>
      <AgentFeedback rows={feedback} now={now} />
    </>
  )
}

const BudgetBlock: FC<{ budget: PageBudget | null }> = ({ budget }) => {
  const share = budget && computeUsedShares(budget)
  return (
    <section class="block">
      <h2>
        Budget{budget ? `, ${formatPeriod(budget.period)}` : ''}
        {budget && share && <Status level={budget.level} />}
      </h2>
      {budget && share && (
        <>
          <p class="row up3 num">
            <b>{formatShare(share.used)}</b> <span class="meta">{formatBudgetUsage(budget)}</span>
          </p>
          <Meter share={share.used} reserved={share.reserved} label="Budget" budget={budget} />
        </>
      )}
      <p class="meta up2">
        {budget
          ? formatBudgetConsequence(budget)
          : 'No limit of its own. The hub’s budget applies.'}{' '}
        <a href="/budgets">All budgets</a>
      </p>
    </section>
  )
}

const GrantBlock: FC<{ agent: AgentCard }> = ({ agent }) => {
  const { requested, allowed, denied } = mergePolicy({
    ...agent,
    requesters: [{ name: '', role: 'member' }],
  })
  return (
    <section class="block">
      <h2>Requested grants</h2>
      <ul class="list">
        {requested?.map((grant) => (
          <li>
            <code>{grant}</code>
            <span class="r">{denied.includes(grant) ? 'denied' : ''}</span>
          </li>
        ))}
      </ul>
      <p class="meta">
        Allowed on this hub: {allowed.join(', ') || 'nothing'}.
        {denied.length > 0 && ` Denied: ${denied.join(', ')}.`} Denied grants take precedence.
      </p>
    </section>
  )
}

const Warnings: FC<{ warnings: unknown }> = (props) => {
  const warnings = listWarnings(props.warnings)
  return warnings.length === 0 ? null : (
    <details class="up3">
      <summary class="meta">{formatPlural(warnings.length, 'warning', 'warnings')}</summary>
      <ul class="list tall">
        {warnings.map(({ path, message }) => (
          <li>
            <code>{path}</code>
            <p>{message}</p>
          </li>
        ))}
      </ul>
    </details>
  )
}

const listWarnings = (stored: unknown): { path: string; message: string }[] =>
  Array.isArray(stored)
    ? stored.map((each) => ({
        path: String(each?.path ?? ''),
        message: String(each?.message ?? ''),
      }))
    : []

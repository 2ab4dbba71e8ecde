import type { FC } from 'hono/jsx'
import type { ResumePromise } from '../../hub/activations/resume-view'
import { leadTexts, statusLabels } from '../../hub/approvals/approval-labels'
import type { VisibleApproval } from '../../hub/approvals/redact-approval'
import { formatToolName } from '../../hub/traces/run-labels'
import { formatPlural } from '../../shared/format'
import { ErrorSummary } from '../form/error-summary'
import type { FormProblem } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { RelativeTime } from '../parts/relative-time'
import { ApprovalStep } from './approval-step'
import { groupByStep } from './group-by-step'

export interface ApprovalsPageProps {
  frame: Frame
  /** Newest first. */
  pending: VisibleApproval[]
  decided: VisibleApproval[]
  /** Names of those who can decide. */
  deciders: string[]
  problem: FormProblem | null
  /** What resuming each run would cost, by its id. */
  promises: ReadonlyMap<string, ResumePromise>
}

/** Lists the calls that require approval, each with its arguments and buttons, and recent decisions. */
export const ApprovalsPage: FC<ApprovalsPageProps> = ({
  frame,
  pending,
  decided,
  deciders,
  problem,
  promises,
}) => (
  <Layout frame={frame} title="Approvals" place="approvals">
    <h1>Approvals</h1>
    <p class="lede">{selectLeadText(pending)}</p>
    <ErrorSummary problem={problem} />
    {pending.length === 0 && <Empty />}
    {groupByStep(pending).map((calls) => (
      <div class="block">
        {calls.length > 1 && <h2>{formatPlural(calls.length, 'call', 'calls')} of one step</h2>}
        <ApprovalStep
          calls={calls}
          now={frame.now}
          canDecide={frame.viewer?.isAdmin === true}
          viewerName={frame.viewer?.name ?? null}
          deciders={deciders}
          next="/approvals"
          promises={promises}
        />
      </div>
    ))}
    {decided.length > 0 && <Decided rows={decided} now={frame.now} />}
  </Layout>
)

function selectLeadText(pending: VisibleApproval[]): string {
  if (pending.length === 0) return leadTexts.nothingPending
  return pending.every(({ isRedacted }) => isRedacted) ? leadTexts.requester : leadTexts.approver
}

const Empty: FC = () => (
  <div class="empty">
    <p>
      <strong>Calls that require approval appear here.</strong>
      Choose these calls in the{' '}
      <a class="ul" href="/policy">
        policy
      </a>
      : a grant such as <code>github:*</code>, a tier such as <code>tier:write</code>, or a tool
      such as <code>tool:hub_create_post</code>.
    </p>
  </div>
)

const Decided: FC<{ rows: VisibleApproval[]; now: number }> = ({ rows, now }) => (
  <section class="up6" aria-labelledby="decided">
    <h2 id="decided">Recent decisions</h2>
    <ul class="list">
      {rows.map((row) => (
        <li>
          <div class="by">
            <AccountLink name={row.agentName} kind={row.agentKind} />
            <span>{formatToolName(row.tool)}</span>
            <strong>{statusLabels[row.status]}</strong>
            {row.scope === 'activation' && <span>for its run</span>}
            {row.decidedBy && <span>by {row.decidedBy}</span>}
            {row.decidedAt !== null && <RelativeTime at={row.decidedAt} now={now} />}
          </div>
          {row.note && <p>{row.note}</p>}
        </li>
      ))}
    </ul>
  </section>
)

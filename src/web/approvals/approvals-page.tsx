import type { FC } from 'hono/jsx'
import { leadTexts, statusLabels } from '../../hub/approvals/approval-labels'
import { escapeInvisible } from '../../hub/approvals/format-arguments'
import type { VisibleApproval } from '../../hub/approvals/redact-approval'
import { tierLabels } from '../../hub/grants/policy-labels'
import { formatToolName } from '../../hub/traces/run-labels'
import { approvals as limits } from '../../shared/config'
import { formatDuration, formatExact, toIso } from '../../shared/format'
import { activationPath, postPath } from '../../shared/paths'
import { ErrorSummary } from '../form/error-summary'
import type { FormProblem } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { RelativeTime } from '../parts/relative-time'
import { ArgumentsBlock } from './arguments-block'

export interface ApprovalsPageProps {
  frame: Frame
  /** Newest first. */
  pending: VisibleApproval[]
  decided: VisibleApproval[]
  problem: FormProblem | null
}

/** Lists the calls that require approval, each with its arguments and buttons, and recent decisions. */
export const ApprovalsPage: FC<ApprovalsPageProps> = ({ frame, pending, decided, problem }) => (
  <Layout frame={frame} title="Approvals" place="approvals">
    <h1>Approvals</h1>
    <p class="lede">{selectLeadText(pending)}</p>
    <ErrorSummary problem={problem} />
    {pending.length === 0 && <Empty />}
    {pending.map((row) => (
      <Pending row={row} now={frame.now} canDecide={frame.viewer?.isAdmin === true} />
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

const Pending: FC<{ row: VisibleApproval; now: number; canDecide: boolean }> = (props) => {
  const { row, now, canDecide } = props
  return (
    <article class="up5" data-row>
      <div class="by">
        <AccountLink name={row.agentName} kind={row.agentKind} />
        <span>requests to use</span>
        <strong>{formatToolName(row.tool)}</strong>
        <RelativeTime at={row.createdAt} now={now} />
      </div>
      {row.isRedacted ? (
        <p class="meta up2">Arguments are shown only to admins and the agent’s owner.</p>
      ) : (
        <ArgumentsBlock parts={row.showArguments(2)} />
      )}
      <dl class="def">
        <dt>Grant</dt>
        <dd>
          <code>{escapeInvisible(row.grant)}</code>, {tierLabels[row.tier].effect}
        </dd>
        <dt>Requested in</dt>
        <dd>
          <Place row={row} />
        </dd>
        <dt>Expires</dt>
        <dd>
          <time datetime={toIso(row.expiresAt)} title={formatExact(row.expiresAt)}>
            in {formatDuration(row.expiresAt - now)}
          </time>
          ; then denied
        </dd>
      </dl>
      {canDecide ? <DecisionForm row={row} /> : <p class="meta up2">Waiting for an admin.</p>}
    </article>
  )
}

const Place: FC<{ row: VisibleApproval }> = ({ row }) => {
  const run = row.activationId ?? row.runId
  return (
    <>
      {row.postId && (
        <a class="ul" href={postPath(row.postId)}>
          {row.postTitle}
        </a>
      )}
      {row.postId && run && ' · '}
      {run && (
        <a class="ul" href={activationPath(run)}>
          run so far
        </a>
      )}
      {run && !row.activationId && ' · '}
      {!row.activationId &&
        `external call; its caller repeats the call ${run ? 'in this run ' : ''}after approval`}
    </>
  )
}

const approvalPath = (id: string): string => `/approvals/${encodeURIComponent(id)}`

const DecisionForm: FC<{ row: VisibleApproval }> = ({ row }) => {
  const field = `note-${row.row}`
  return (
    <form class="form up3" method="post" action={approvalPath(row.id)}>
      <label for={field}>Note for the agent (optional)</label>
      <input id={field} name="note" maxlength={limits.noteCharsMax} autocomplete="off" />
      <div class="acts">
        <button type="submit" class="btn go" name="decision" value="approve">
          Approve once
        </button>
        {row.activationId && (
          <button type="submit" class="btn" name="decision" value="approve_activation">
            Approve this tool for the run
          </button>
        )}
        <button type="submit" class="btn" name="decision" value="deny">
          Deny
        </button>
      </div>
      {row.activationId && (
        <p class="meta">
          For the run: also its other calls of {formatToolName(row.tool)} with the grant{' '}
          <code>{escapeInvisible(row.grant)}</code>, whatever their arguments.
        </p>
      )}
    </form>
  )
}

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

import type { FC } from 'hono/jsx'
import type { ResumePromise } from '../../hub/activations/resume-view'
import { formatReason } from '../../hub/approvals/approval-labels'
import { escapeInvisible } from '../../hub/approvals/format-arguments'
import type { VisibleApproval } from '../../hub/approvals/redact-approval'
import { tierLabels } from '../../hub/grants/policy-labels'
import { formatToolName } from '../../hub/traces/run-labels'
import { approvals as limits } from '../../shared/config'
import { formatDuration, formatExact, formatPlural, toIso } from '../../shared/format'
import { activationPath, postPath } from '../../shared/paths'
import { AccountLink } from '../parts/account-link'
import { formatDeciders } from '../parts/pending-approval'
import { RelativeTime } from '../parts/relative-time'
import { approvalPath, rulePath } from './approval-paths'
import { ArgumentsBlock } from './arguments-block'
import { ResumeLine } from './resume-line'

interface StepProps {
  /** The calls of one step. */
  calls: VisibleApproval[]
  now: number
  canDecide: boolean
  viewerName: string | null
  /** Names of those who can decide. */
  deciders: readonly string[]
  /** The page to return to. */
  next: string
  /** What resuming each run would cost, by its id. */
  promises: ReadonlyMap<string, ResumePromise>
}

/** Shows the calls of one step, each with its decision, and one decision for all below them. */
export const ApprovalStep: FC<StepProps> = (props) => {
  const { calls, canDecide } = props
  return (
    <>
      {calls.map((row) => (
        <Call {...props} row={row} />
      ))}
      {canDecide && calls.length > 1 && <AllForm {...props} />}
    </>
  )
}

const Call: FC<StepProps & { row: VisibleApproval }> = (props) => {
  const { row, now, canDecide } = props
  const promise = props.promises.get(row.activationId ?? '')
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
        {promise && (
          <ResumeLine
            of={promise}
            tool={row.tool}
            agentName={row.agentName}
            viewerName={props.viewerName}
            canDecide={canDecide}
          />
        )}
        <Reasons row={row} isAdmin={canDecide} />
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
      {canDecide ? (
        <DecisionForm {...props} />
      ) : (
        <p class="meta up2">Waiting for {formatDeciders(props.deciders)}.</p>
      )}
    </article>
  )
}

/** Says why the call requires approval, with a link to the rule for those who may change it. */
const Reasons: FC<{ row: VisibleApproval; isAdmin: boolean }> = ({ row, isAdmin }) =>
  row.reasons.length > 0 && (
    <>
      <dt>Why</dt>
      <dd>
        {row.reasons.map((reason) => escapeInvisible(formatReason(reason))).join(' ')}
        {isAdmin && row.reasons.some(({ kind }) => kind === 'policy') && (
          <>
            {' '}
            <a class="ul" href={`/policy/${encodeURIComponent(row.agentName)}#require_approval`}>
              Edit policy
            </a>
          </>
        )}
      </dd>
    </>
  )

const Place: FC<{ row: VisibleApproval }> = ({ row }) => {
  const run = row.activationId ?? row.runId
  return (
    <>
      {row.postId && (
        <a class="ul" href={postPath(row.postId)}>
          <bdi>{row.postTitle}</bdi>
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
        `external call; its caller has to repeat it ${run ? 'in this run ' : ''}after approval`}
    </>
  )
}

const DecisionForm: FC<StepProps & { row: VisibleApproval }> = ({ row, next }) => {
  const field = `note-${row.row}`
  return (
    <form class="form decide up3" method="post" action={approvalPath(row.id)}>
      <input type="hidden" name="next" value={next} />
      <div>
        <label for={field}>Note for the agent (optional)</label>
        <input id={field} name="note" maxlength={limits.noteCharsMax} autocomplete="off" />
      </div>
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
        <a class="ul" href={rulePath(row.id)}>
          Approve, and don’t ask again…
        </a>
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

/** One decision for exactly the calls that the page shows. */
const AllForm: FC<StepProps> = ({ calls, next }) => {
  const [first] = calls
  const field = `note-all-${first?.row ?? 0}`
  const count = formatPlural(calls.length, 'call', 'calls')
  return (
    <form class="form up5" method="post" action="/approvals">
      <input type="hidden" name="next" value={next} />
      <input type="hidden" name="ids" value={JSON.stringify(calls.map(({ id }) => id))} />
      <div>
        <label for={field}>Note for all {count} of this step (optional)</label>
        <input id={field} name="note" maxlength={limits.noteCharsMax} autocomplete="off" />
      </div>
      <div class="acts">
        <button type="submit" class="btn go" name="decision" value="approve">
          Approve all {count}
        </button>
        <button type="submit" class="btn" name="decision" value="deny">
          Deny all {count}
        </button>
      </div>
    </form>
  )
}

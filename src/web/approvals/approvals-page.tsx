import type { Child, FC } from 'hono/jsx'
import type { HeldProgress } from '../../hub/agents/held-queries'
import { formatReason, leadTexts, statusLabels } from '../../hub/approvals/actions'
import {
  type ArgumentPart,
  escapeInvisible,
  type VisibleApproval,
} from '../../hub/approvals/arguments'
import { formatPayers } from '../../hub/budgets/usage-view'
import { tierLabels } from '../../hub/grants/policy'
import { formatToolName } from '../../hub/rules/traces'
import { isCostShown, type ResumePromise } from '../../hub/runs/resume-queries'
import { approvals as limits } from '../../shared/config'
import { formatDuration, formatExact, formatMoney, formatPlural, toIso } from '../../shared/format'
import { activationPath, connectPath, postPath } from '../../shared/paths'
import { heldPath } from '../agents/agent-paths'
import { ErrorSummary, Submit } from '../form/fields'
import type { FormProblem } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountLink, TextLink } from '../parts/links'
import { formatDeciders } from '../parts/run-lines'
import { RelativeTime } from '../parts/times'

interface ApprovalsPageProps {
  frame: Frame
  /** Newest first. */
  pending: VisibleApproval[]
  decided: VisibleApproval[]
  /** Saved changes of agents that wait for the viewer, the oldest first. */
  held: HeldProgress[]
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
  held,
  deciders,
  problem,
  promises,
}) => (
  <Layout frame={frame} title="Approvals" place="approvals">
    <h1>Approvals</h1>
    <p class="lede">{selectLeadText(pending)}</p>
    <ErrorSummary problem={problem} />
    {held.length > 0 && <HeldChanges rows={held} now={frame.now} />}
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

/** Lists changes of agents that have not passed their trial, or of which people have to compare answers. */
const HeldChanges: FC<{ rows: HeldProgress[]; now: number }> = ({ rows, now }) => (
  <section class="block" aria-labelledby="held">
    <h2 id="held">Changes of agents</h2>
    <ul class="list">
      {rows.map(({ name, problem, peopleCases, savedBy, savedAt }) => (
        <li>
          <div>
            <p class="by">
              <AccountLink name={name} kind="agent" />
              <span>saved by</span>
              <AccountLink {...savedBy} />
              <RelativeTime at={savedAt} now={now} />
            </p>
            <p>
              {problem === null
                ? `People have to compare ${formatPlural(peopleCases, 'case', 'cases')}.`
                : `Not applied: ${problem}`}{' '}
              <a href={heldPath(name)}>Look at the change</a>
            </p>
          </div>
        </li>
      ))}
    </ul>
  </section>
)

const Empty: FC = () => (
  <div class="empty">
    <p>
      <strong>Calls that require approval appear here.</strong>
      Choose these calls in the <TextLink href="/policy">policy</TextLink>: a grant such as{' '}
      <code>github:*</code>, a tier such as <code>tier:write</code>, or a tool such as{' '}
      <code>tool:hub_create_post</code>.
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
            {row.decidedBy && <span>by {row.decidedBy.name}</span>}
            {row.decidedAt !== null && <RelativeTime at={row.decidedAt} now={now} />}
          </div>
          {row.note && <p>{row.note}</p>}
        </li>
      ))}
    </ul>
  </section>
)

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
            <TextLink href={`/policy/${encodeURIComponent(row.agentName)}#require_approval`}>
              Edit policy
            </TextLink>
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
        <TextLink href={postPath(row.postId)}>
          <bdi>{row.postTitle}</bdi>
        </TextLink>
      )}
      {row.postId && run && ' · '}
      {run && <TextLink href={activationPath(run)}>run so far</TextLink>}
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
        <input id={field} name="note" data-max={limits.noteCharsMax} autocomplete="off" />
      </div>
      <div class="acts">
        <Submit isMain name="decision" value="approve">
          Approve once
        </Submit>
        {row.activationId && (
          <Submit name="decision" value="approve_activation">
            Approve this tool for the run
          </Submit>
        )}
        <Submit name="decision" value="deny">
          Deny
        </Submit>
        <TextLink href={rulePath(row.id)}>Approve, and don’t ask again…</TextLink>
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
        <input id={field} name="note" data-max={limits.noteCharsMax} autocomplete="off" />
      </div>
      <div class="acts">
        <Submit isMain name="decision" value="approve">
          Approve all {count}
        </Submit>
        <Submit name="decision" value="deny">
          Deny all {count}
        </Submit>
      </div>
    </form>
  )
}

/** Shows the arguments of a call whole; each masked secret opens without a script. */
export const ArgumentsBlock: FC<{ parts: ArgumentPart[] }> = ({ parts }) => (
  <div class="code up2" dir="ltr">
    {parts.map((part) => showPart(part))}
  </div>
)

function showPart(part: ArgumentPart): Child {
  if (part.kind === 'text') return part.isRightToLeft ? <bdi>{part.text}</bdi> : part.text
  return (
    <details class="secret">
      <summary>{part.mask}</summary>
      <span>{part.text}</span>
    </details>
  )
}

/** Who acts on whose behalf when a call is approved, what the run can cost at most, and which budgets pay. */
const ResumeLine: FC<{
  of: ResumePromise
  tool: string
  agentName: string
  viewerName: string | null
  canDecide: boolean
}> = ({ of, tool, agentName, viewerName, canDecide }) => {
  const names = of.requesters.map(({ name }) => `@${name}`).join(', ')
  const account = of.findAccount(tool)
  return (
    <>
      <dt>Acts</dt>
      <dd>
        {agentName} for {names || 'the hub'}
        {account && `, as ${names} at ${account.service}`}
        {account && !account.isConnected && (
          <>
            {', where no account is connected. '}
            {viewerName !== null && of.requesters.some(({ name }) => name === viewerName) && (
              <TextLink href={connectPath(account.service)}>
                Connect your account at {account.service}
              </TextLink>
            )}
          </>
        )}
      </dd>
      <dt>Cost</dt>
      <dd>{isCostShown(of, canDecide) ? formatCost(of) : `Paid by ${formatPayers(of.paidBy)}.`}</dd>
    </>
  )
}

function formatCost({
  isExhausted,
  reservedMicrousd,
  freeMicrousd,
  paidBy,
}: ResumePromise): string {
  const payers = formatPayers(paidBy)
  if (isExhausted) return `A budget is used up, so no model is called (${payers}).`
  if (freeMicrousd <= 0) return `No money is left until other runs end (${payers}).`
  const first =
    reservedMicrousd > 0 ? `at most ${formatMoney(reservedMicrousd, 'thread')}` : 'nothing'
  return `The next model call costs ${first}, the rest of the run at most ${formatMoney(freeMicrousd, 'thread')}: what its budgets leave (${payers}).`
}

/**
 * Groups pending approvals by the step of the run that requested them, each step in the order of its calls.
 * A run waits with the calls of one step only; a call of an external program is a step of its own.
 */
function groupByStep(rows: readonly VisibleApproval[]): VisibleApproval[][] {
  const groups = Map.groupBy(rows, ({ id, activationId }) => activationId ?? id)
  return [...groups.values()].map((calls) => calls.toSorted((a, b) => a.row - b.row))
}

const approvalPath = (id: string): string => `/approvals/${encodeURIComponent(id)}`

/** Path of the form that approves a call and creates a standing rule. */
export const rulePath = (id: string): string => `${approvalPath(id)}/rule`

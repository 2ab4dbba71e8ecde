import type { FC } from 'hono/jsx'
import { approvals as limits } from '../../config'
import { sayTool } from '../web/agent-words'
import { Ago } from '../web/ago'
import { formatDuration, formatExact, toIso } from '../web/format'
import type { FormProblem, Frame } from '../web/frame'
import { Layout } from '../web/layout'
import { Problem } from '../web/problem'
import { activationPath, postPath, Who } from '../web/who'
import type { SeenApproval } from './hide-call'
import { prettyArguments } from './pretty-arguments'

export interface ApprovalsPageProps {
  frame: Frame
  /** Newest first. */
  pending: SeenApproval[]
  decided: SeenApproval[]
  problem: FormProblem | null
}

const tierWords = {
  read: 'reads only',
  write: 'writes',
  destructive: 'destructive: may not be undone',
} as const

const statusWords = {
  pending: 'waits',
  approved: 'approved',
  denied: 'denied',
  expired: 'expired',
  cancelled: 'stopped',
} as const

/** What agents may do only when a person says so: exactly what would run, and the buttons. */
export const ApprovalsPage: FC<ApprovalsPageProps> = ({ frame, pending, decided, problem }) => (
  <Layout frame={frame} title="Approvals" place="approvals">
    <h1>Approvals</h1>
    <p class="lede">{sayWaiting(pending)}</p>
    <Problem problem={problem} />
    {pending.length === 0 && <Empty />}
    {pending.map((row) => (
      <Pending row={row} now={frame.now} mayDecide={frame.viewer?.isAdmin === true} />
    ))}
    {decided.length > 0 && <Decided rows={decided} now={frame.now} />}
  </Layout>
)

function sayWaiting(pending: SeenApproval[]): string {
  if (pending.length === 0) return 'Nothing waits for a decision.'
  return pending.every(({ isRedacted }) => isRedacted)
    ? 'What you asked for waits here for an admin. Until one decides, its agent does other work.'
    : 'Each call is shown exactly as it would run, but for what looks like a key. Until you decide, its agent does other work.'
}

const Empty: FC = () => (
  <div class="empty">
    <p>
      <strong>Agents ask here before they use what you reserve.</strong>
      Say what needs a person’s yes in the{' '}
      <a class="ul" href="/policy">
        policy
      </a>{' '}
      (<code>require_approval</code> in the API): a grant such as <code>github:*</code>, a kind such
      as <code>tier:write</code>, or one tool such as <code>tool:hub_create_post</code>.
    </p>
  </div>
)

const Pending: FC<{ row: SeenApproval; now: number; mayDecide: boolean }> = (props) => {
  const { row, now, mayDecide } = props
  return (
    <article class="up5" data-row>
      <div class="by">
        <Who name={row.agentName} kind={row.agentKind} />
        <span>wants to use</span>
        <strong>{sayTool(row.tool)}</strong>
        <Ago at={row.createdAt} now={now} />
      </div>
      {row.isRedacted ? (
        <p class="meta up2">Its arguments are shown to admins and the agent’s owner.</p>
      ) : (
        <pre class="up2">{prettyArguments(row.arguments)}</pre>
      )}
      <dl class="def">
        <dt>Grant</dt>
        <dd>
          <code>{row.grant}</code>, {tierWords[row.tier]}
        </dd>
        <dt>Asked in</dt>
        <dd>
          <Place row={row} />
        </dd>
        <dt>Expires</dt>
        <dd>
          <time datetime={toIso(row.expiresAt)} title={formatExact(row.expiresAt)}>
            in {formatDuration(row.expiresAt - now)}
          </time>
          , as denied
        </dd>
      </dl>
      {mayDecide ? <DecisionForm row={row} /> : <p class="meta up2">An admin decides.</p>}
    </article>
  )
}

const Place: FC<{ row: SeenApproval }> = ({ row }) => (
  <>
    {row.postId && (
      <a class="ul" href={postPath(row.postId)}>
        {row.postTitle}
      </a>
    )}
    {row.postId && row.activationId && ' · '}
    {row.activationId ? (
      <a class="ul" href={activationPath(row.activationId)}>
        what it did so far
      </a>
    ) : (
      'a call from outside, which must be repeated once it is approved'
    )}
  </>
)

const approvalPath = (id: string): string => `/approvals/${encodeURIComponent(id)}`

const DecisionForm: FC<{ row: SeenApproval }> = ({ row }) => {
  const field = `note-${row.row}`
  return (
    <form class="form up3" method="post" action={approvalPath(row.id)}>
      <label for={field}>A note for the agent, if you like</label>
      <input id={field} name="note" maxlength={limits.noteCharsMax} autocomplete="off" />
      <div class="acts">
        <button type="submit" class="btn go" name="decision" value="approve">
          Approve once
        </button>
        {row.activationId && (
          <button type="submit" class="btn" name="decision" value="approve_activation">
            Approve for this activation
          </button>
        )}
        <button type="submit" class="btn" name="decision" value="deny">
          Deny
        </button>
      </div>
    </form>
  )
}

const Decided: FC<{ rows: SeenApproval[]; now: number }> = ({ rows, now }) => (
  <section class="up6" aria-labelledby="decided">
    <h2 id="decided">Decided lately</h2>
    <ul class="list">
      {rows.map((row) => (
        <li>
          <div class="by">
            <Who name={row.agentName} kind={row.agentKind} />
            <span>{sayTool(row.tool)}</span>
            <strong>{statusWords[row.status]}</strong>
            {row.scope === 'activation' && <span>for its activation</span>}
            {row.decidedBy && <span>by {row.decidedBy}</span>}
            {row.decidedAt !== null && <Ago at={row.decidedAt} now={now} />}
          </div>
          {row.note && <p>{row.note}</p>}
        </li>
      ))}
    </ul>
  </section>
)

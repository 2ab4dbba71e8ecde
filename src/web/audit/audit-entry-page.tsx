import type { FC } from 'hono/jsx'
import { formatArguments } from '../../hub/approvals/format-arguments'
import type { CallContents } from '../../hub/audit/call-contents'
import type { AuditRow } from '../../hub/audit/list-queries'
import { formatToolName } from '../../hub/traces/run-labels'
import { formatBytes, formatExact, formatSpan } from '../../shared/format'
import { activationPath } from '../../shared/paths'
import { AdminTabs } from '../frame/admin-tabs'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { AccountLink } from '../parts/account-link'
import { RelativeTime } from '../parts/relative-time'
import { formatOutcome } from './audit-labels'
import { DecisionLabel, TaskLink } from './audit-page'

export interface AuditEntryPageProps {
  frame: Frame
  row: AuditRow
  contents: CallContents
}

/** Shows a tool call with its arguments and its result. */
export const AuditEntryPage: FC<AuditEntryPageProps> = ({ frame, row, contents: texts }) => {
  const isAdmin = frame.viewer?.isAdmin === true
  return (
    <Layout
      frame={frame}
      title={`${formatToolName(row.tool)} by ${row.accountName}`}
      place="admin"
      sheet="admin"
    >
      <AdminTabs here="audit" isAdmin={isAdmin} />
      <h1>{formatToolName(row.tool)}</h1>
      <div class="by up2">
        <AccountLink name={row.accountName} kind={row.accountKind} />
        <RelativeTime at={row.at} now={frame.now} />
        <span>
          <DecisionLabel row={row} />, {formatOutcome(row)}
        </span>
      </div>
      <Facts row={row} />
      <Texts row={row} texts={texts} />
    </Layout>
  )
}

const Facts: FC<{ row: AuditRow }> = ({ row }) => (
  <dl class="def up4">
    <dt>Grant</dt>
    <dd>{row.grant ? <code>{row.grant}</code> : 'not checked'}</dd>
    {row.reason !== null && (
      <>
        <dt>Reason</dt>
        <dd>
          <Reason text={row.reason} />
        </dd>
      </>
    )}
    <dt>Task</dt>
    <dd>
      <TaskLink row={row} />
    </dd>
    <dt>Time</dt>
    <dd>
      {formatExact(row.at)}
      {row.durationMs !== null && `, took ${formatSpan(row.durationMs)}`}
    </dd>
    {row.resultBytes !== null && (
      <>
        <dt>Result size</dt>
        <dd>{formatBytes(row.resultBytes)}</dd>
      </>
    )}
    <dt>Arguments hash</dt>
    <dd class="rules">
      <code>{row.argumentsHash || 'none'}</code>
    </dd>
  </dl>
)

/** Shows the reason that the caller received, with a link to the line of the policy that it names. */
const Reason: FC<{ text: string }> = ({ text }) => {
  const [, reason = text, path] =
    /^(.*?)(\/policy\/[\w%.~-]+#(?:allowed|denied))$/s.exec(text) ?? []
  return (
    <>
      {reason}
      {path && (
        <a class="ul" href={path}>
          {path}
        </a>
      )}
    </>
  )
}

/** Links to the page on which an admin opens a private run. */
const ClosedRun: FC<{ id: string | null }> = ({ id }) => (
  <>
    The run is private to others.{' '}
    {id !== null && (
      <a class="ul" href={activationPath(id)}>
        Open it as admin
      </a>
    )}{' '}
    to see arguments and result.
  </>
)

const Texts: FC<{ row: AuditRow; texts: CallContents }> = ({ row, texts }) => (
  <>
    <section class="block">
      <h2>Arguments</h2>
      {texts.arguments === null ? (
        <p class="meta">
          {texts.isClosed ? (
            <ClosedRun id={row.activationId} />
          ) : row.activationId === null ? (
            'The arguments were not stored. Compare the hash to find calls with the same arguments.'
          ) : (
            'The arguments are in the trace of the run, which is not stored yet or was deleted.'
          )}
        </p>
      ) : (
        <pre class="up3" tabindex={0}>
          {formatArguments(texts.arguments)}
        </pre>
      )}
    </section>
    {texts.result !== null && (
      <section class="block">
        <h2>Result</h2>
        <pre class="up3" tabindex={0}>
          {texts.result}
        </pre>
      </section>
    )}
  </>
)

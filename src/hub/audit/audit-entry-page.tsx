import type { FC } from 'hono/jsx'
import { prettyArguments } from '../approvals/pretty-arguments'
import { AdminTabs } from '../web/admin-tabs'
import { sayTool } from '../web/agent-words'
import { Ago } from '../web/ago'
import { formatBytes, formatExact, formatSpan } from '../web/format'
import type { Frame } from '../web/frame'
import { Layout } from '../web/layout'
import { Who } from '../web/who'
import { DecisionOf, TaskOf } from './audit-page'
import { sayEnd } from './audit-words'
import type { AuditRow } from './list-queries'
import type { CallTexts } from './read-detail'

export interface AuditEntryPageProps {
  frame: Frame
  row: AuditRow
  texts: CallTexts
}

/** Shows a tool call with its arguments and its result. */
export const AuditEntryPage: FC<AuditEntryPageProps> = ({ frame, row, texts }) => {
  const isAdmin = frame.viewer?.isAdmin === true
  return (
    <Layout
      frame={frame}
      title={`${sayTool(row.tool)} by ${row.accountName}`}
      place="admin"
      sheet="admin"
    >
      <AdminTabs here="audit" isAdmin={isAdmin} />
      <h1>{sayTool(row.tool)}</h1>
      <div class="by up2">
        <Who name={row.accountName} kind={row.accountKind} />
        <Ago at={row.at} now={frame.now} />
        <span>
          <DecisionOf row={row} />, {sayEnd(row)}
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
      <TaskOf row={row} />
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

const Texts: FC<{ row: AuditRow; texts: CallTexts }> = ({ row, texts }) => (
  <>
    <section class="block">
      <h2>Arguments</h2>
      {texts.arguments === null ? (
        <p class="meta">
          {row.activationId === null
            ? 'The arguments were not stored. Compare the hash to find calls with the same arguments.'
            : 'The arguments are in the trace of the run, which is not stored yet or was deleted.'}
        </p>
      ) : (
        <pre class="up3" tabindex={0}>
          {prettyArguments(texts.arguments)}
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

import type { FC } from 'hono/jsx'
import type { Edge, RunRow, RunTotals } from '../../hub/activations/run-list-queries'
import type { RunView } from '../../hub/run-views/queries'
import { runLists } from '../../shared/config'
import { formatCost, formatCount, formatExact } from '../../shared/format'
import { runsPath } from '../../shared/paths'
import { ErrorSummary } from '../form/error-summary'
import type { FormProblem } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { ActivationTable } from '../parts/activation-table'
import { EmptyList } from '../parts/empty-list'
import { Icon } from '../parts/icons'
import { Pager } from '../parts/pager'
import { RunFilterForm, type RunFilterValues } from './run-filter-form'
import { type RunViewFormState, RunViews } from './run-views'

export interface RunsPageProps {
  frame: Frame
  rows: RunRow[]
  /** Absent unless they were asked for: they read all runs of the filter. */
  totals: RunTotals | undefined
  /** Where the totals end; undefined when they are complete. */
  totalsEdge: Edge | undefined
  views: RunView[]
  values: RunFilterValues
  /** The values of the form as a query string. */
  query: string
  /** Cursor of the next page; null on the last one. */
  next: string | null
  problem: FormProblem | null
  viewForm: RunViewFormState
}

/** Lists runs, with the totals of the filter if they were asked for. */
export const RunsPage: FC<RunsPageProps> = (props) => {
  const { frame, rows, query, next } = props
  return (
    <Layout frame={frame} title="Runs" place="budgets" sheet="admin">
      <div class="head">
        <div>
          <h1>Runs</h1>
          <p class="lede">Runs of all agents, newest first. Runs private to others are left out.</p>
        </div>
        <div class="acts">
          <a class="btn" href={`/runs?${query}${query && '&'}totals=1`}>
            Totals
          </a>
          <a class="btn" href={`/runs.csv${query && `?${query}`}`} download>
            <Icon name="download" />
            CSV
          </a>
        </div>
      </div>
      <ErrorSummary problem={props.problem} />
      <RunViews
        viewer={frame.viewer}
        views={props.views}
        query={props.problem ? '' : query}
        form={props.viewForm}
      />
      <div class="up4">
        <RunFilterForm typed={props.values} />
      </div>
      {props.totals && <Totals totals={props.totals} edge={props.totalsEdge} />}
      {rows.length === 0 ? (
        <EmptyList
          things="runs"
          unfiltered={query === '' ? null : runsPath()}
          more={next === null ? '' : 'Earlier runs can match.'}
        >
          Mention an agent in a post to see its runs here.
        </EmptyList>
      ) : (
        <div class="up4">
          <ActivationTable rows={rows} now={frame.now} hasAgent />
        </div>
      )}
      <Pager href={next && `/runs?${query}${query && '&'}cursor=${next}`}>Older runs</Pager>
    </Layout>
  )
}

const Totals: FC<{ totals: RunTotals; edge: Edge | undefined }> = ({ totals, edge }) => (
  <>
    <dl class="facts">
      <div>
        <dt>Runs</dt>
        <dd>{formatCount(totals.runs)}</dd>
      </div>
      <div>
        <dt>Cost</dt>
        <dd>{formatCost(totals.costMicrousd, totals.isPriced, 'budget')}</dd>
      </div>
      <div>
        <dt>Tokens</dt>
        <dd>{formatCount(totals.tokens)}</dd>
      </div>
      <div>
        <dt>Model calls</dt>
        <dd>{formatCount(totals.modelCalls)}</dd>
      </div>
    </dl>
    {edge && (
      <p class="meta up2">
        Totals and CSV cover the newest {formatCount(runLists.scannedMax)} runs, since{' '}
        {formatExact(edge.at)}. Set “Before” for earlier ones.
      </p>
    )}
  </>
)

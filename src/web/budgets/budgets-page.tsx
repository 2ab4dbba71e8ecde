import type { FC } from 'hono/jsx'
import type { ActivationRow } from '../../hub/activations/page-queries'
import type { ArchiveView } from '../../hub/archive/archive-view'
import { computeForecast } from '../../hub/budgets/forecast'
import { thresholds } from '../../hub/budgets/levels'
import type { PageBudget } from '../../hub/budgets/page-queries'
import type { RequesterSpending } from '../../hub/budgets/requester-view'
import type { SeriesDay, UsageSeries, UsageTotal } from '../../hub/budgets/usage-queries'
import { formatUsageQuery, type UsageView } from '../../hub/budgets/usage-view'
import { formatDay } from '../../shared/format'
import { runsPath } from '../../shared/paths'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { ActivationTable } from '../parts/activation-table'
import { Icon } from '../parts/icons'
import { ArchivedCalls } from './archived-calls'
import { BudgetFacts } from './budget-facts'
import { BudgetList } from './budget-list'
import { newBudgetPath } from './budget-paths'
import { ChartPatterns } from './chart-colors'
import { composeChart } from './chart-data'
import { CumulativeSpend, hasCumulativeSpend } from './cumulative-spend'
import { RequesterSection } from './requester-section'
import { SpendSection } from './spend-section'

export interface BudgetsPageProps {
  frame: Frame
  view: UsageView
  budgets: PageBudget[]
  series: UsageSeries[]
  total: UsageTotal | undefined
  days: SeriesDay[]
  /** Null for anonymous viewers. */
  requesters: RequesterSpending | null
  activations: ActivationRow[]
  /** Files of older model calls; empty for others than admins. */
  archives: ArchiveView[]
}

export const BudgetsPage: FC<BudgetsPageProps> = (props) => {
  const { frame, view, budgets, series, total, days, requesters, activations, archives } = props
  const isAdmin = frame.viewer?.isAdmin === true
  // The main budget of the hub is the first one.
  const main = budgets.find(({ scope }) => scope === 'hub')
  const forecast = main && computeForecast(main, frame.now)
  const chart = composeChart(view, series, days)
  return (
    <Layout frame={frame} title="Budgets" place="budgets" sheet="chart">
      <ChartPatterns />
      <div class="head">
        <div>
          <h1>Budgets</h1>
          <p class="lede">{formatMainPeriod(main)}</p>
        </div>
        <div class="acts">
          {isAdmin && (
            <a class="btn" href={newBudgetPath}>
              New budget
            </a>
          )}
          <a class="btn" href={`/budgets.csv${formatUsageQuery(view)}`} download>
            <Icon name="download" />
            CSV
          </a>
        </div>
      </div>
      {main && forecast && <BudgetFacts budget={main} forecast={forecast} now={frame.now} />}
      {main && forecast && hasCumulativeSpend({ view, budget: main, forecast }) && (
        <CumulativeSpend
          view={view}
          budget={main}
          forecast={forecast}
          series={chart.series}
          days={days}
        />
      )}
      <section class="block">
        <h2>
          Budgets <span class="meta">marks: {thresholds.join(', ')}, in %</span>
        </h2>
        {!isAdmin && <p class="meta up">Only admins can create and edit budgets.</p>}
        <BudgetList budgets={budgets} now={frame.now} isAdmin={isAdmin} />
        <p class="meta">
          The hub has its own limits, which agent budgets need not add up to. Forecasts continue the
          run rate and ignore limits.
        </p>
      </section>
      {requesters && <RequesterSection spending={requesters} isAdmin={isAdmin} />}
      <SpendSection view={view} chart={chart} rows={series} total={total} budgets={budgets} />
      <section class="block">
        <h2>
          Latest runs{' '}
          <a class="meta" href={runsPath()}>
            All runs
          </a>
        </h2>
        {activations.length === 0 ? (
          <NoRuns />
        ) : (
          <ActivationTable rows={activations} now={frame.now} hasAgent />
        )}
      </section>
      <ArchivedCalls archives={archives} />
    </Layout>
  )
}

const formatMainPeriod = (hub: PageBudget | undefined): string =>
  hub?.startsAt && hub.endsAt
    ? `Current ${hub.period} of the hub: ${formatDay(hub.startsAt)} to ${formatDay(hub.endsAt)}, time zone ${hub.timezone}.`
    : 'What agents can spend, and what they have spent.'

const NoRuns: FC = () => (
  <div class="empty">
    <p>
      <strong>No runs yet.</strong>
      Mention an agent in a post to see its runs and their cost here.
    </p>
  </div>
)

import type { FC } from 'hono/jsx'
import { computeForecast, type Forecast, findRateStart } from '../../hub/budgets/forecast'
import type { PageBudget, RoleAccounts } from '../../hub/budgets/page-queries'
import type { PastWindow } from '../../hub/budgets/requester-queries'
import type { SeriesDay, UsageSeries, UsageTotal } from '../../hub/budgets/usage-queries'
import {
  explorationLabels,
  formatBudgetOwner,
  formatUsageQuery,
  periodLabels,
  periodOptions,
  type RequesterSpending,
  scopeLabels,
  spendingLabels,
  type UsageView,
  weekdayLabels,
} from '../../hub/budgets/usage-view'
import type { ArchiveView } from '../../hub/operations/archive-view'
import { computeUsedShares, thresholds, toUsableLimit } from '../../hub/rules/budget-levels'
import type { ActivationRow } from '../../hub/runs/list-queries'
import { archiving } from '../../shared/config'
import {
  capitalize,
  formatBudgetMoney,
  formatCount,
  formatDay,
  formatMoney,
  formatPeriod,
  formatPlural,
  formatShare,
} from '../../shared/format'
import { communityPath, runsPath } from '../../shared/paths'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { Block } from '../parts/block'
import { AccountLink, TextLink } from '../parts/links'
import { TableHead } from '../parts/lists'
import { Icon, Meter, Status } from '../parts/meter'
import { ActivationTable } from '../parts/run-lines'
import { budgetPath, deleteBudgetPath, newBudgetPath } from './budget-paths'
import { ChartPatterns, CumulativeSpend, composeChart, hasCumulativeSpend } from './spend-chart'
import { RequesterSection, SpendSection } from './spend-section'

interface BudgetsPageProps {
  frame: Frame
  view: UsageView
  budgets: PageBudget[]
  series: UsageSeries[]
  total: UsageTotal | undefined
  days: SeriesDay[]
  /** Null for anonymous viewers. */
  requesters: RequesterSpending | null
  /** Windows of the hub's main budget that have ended. */
  ended: PastWindow[]
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
          All budgets <span class="meta">marks: {thresholds.join(', ')}</span>
        </h2>
        {!isAdmin && <p class="meta up">Only admins can create and edit budgets.</p>}
        <BudgetList budgets={budgets} now={frame.now} isAdmin={isAdmin} />
      </section>
      {requesters && (
        <RequesterSection
          spending={requesters}
          ended={props.ended}
          isAdmin={isAdmin}
          isOffline={frame.isOffline}
        />
      )}
      <SpendSection
        view={view}
        chart={chart}
        total={total}
        budgets={budgets}
        rows={series}
        isOffline={frame.isOffline}
      />
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

/** Formats spending, as `$48.62 of $58.00, 0 of 900 tokens`. */
export function formatBudgetUsage(budget: PageBudget): string {
  const { limitMicrousd, limitTokens } = budget
  const uses = [
    ...(limitMicrousd === null
      ? []
      : [
          `${formatBudgetMoney(budget.spentMicrousd, limitMicrousd)} of ${formatBudgetMoney(limitMicrousd, limitMicrousd)}`,
        ]),
    ...(limitTokens === null
      ? []
      : [`${formatCount(budget.spentTokens)} of ${formatCount(limitTokens)} tokens`]),
  ]
  if (uses.length > 0) return `${budget.accounts ? 'at most ' : ''}${uses.join(', ')}`
  return `${formatMoney(budget.spentMicrousd, 'budget')}, no limit`
}

/** Returns what the state of a budget means for agents, as one or two sentences. */
export function formatBudgetConsequence(budget: PageBudget): string {
  if (budget.endsAt === null) return 'No period is open now, so nothing can be spent.'
  const exploration = explorationLabels[budget.scope]
  switch (budget.level) {
    case 'warning':
      return `At ${formatShare(budget.throttleShare)} ${exploration} pauses.`
    case 'throttle':
      return `${capitalize(exploration)} is paused. Mentions are answered while the rest of the budget pays for them.`
    case 'critical':
      return formatCritical(budget, computeUsedShares(budget)?.used ?? 1, budget.endsAt)
    default:
      return 'Nothing is paused.'
  }
}

function formatCritical(budget: PageBudget, used: number, endsAt: number): string {
  if (budget.isRefusing) return formatRefusing(budget)
  const until = `until ${formatDay(endsAt)}.`
  if (budget.allowsCritical && used < 1) return `Only critical tasks run ${until}`
  return `${spendingLabels[budget.scope]} ${until}`
}

export const BudgetName: FC<{ budget: PageBudget }> = ({ budget }) => {
  const { name, kind, community, scope, scopeId } = budget
  if (name !== null) {
    const link = <AccountLink name={name} kind={kind ?? 'agent'} />
    if (scope !== 'requester') return link
    return (
      <>
        requests by {link}
        {budget.ownedAgents.length > 0 && (
          <span class="meta"> and all runs of {budget.ownedAgents.join(', ')}</span>
        )}
      </>
    )
  }
  if (community !== null) return <a href={communityPath(community.name)}>m/{community.name}</a>
  if (scope === 'community') return <b>{formatBudgetOwner(budget)}</b>
  return <b>{scope === 'hub' ? scopeLabels.hub : `${scopeLabels[scope]} ${scopeId}`.trim()}</b>
}

/** Formats the period, as `monthly`, with reset day and time zone unless they are the default. */
export function formatBudgetPeriod({ period, resetDay, timezone }: PageBudget): string {
  const from =
    period === 'week'
      ? ` from ${weekdayLabels[resetDay - 1] ?? resetDay}`
      : period === 'month' && resetDay > 1
        ? ` from day ${resetDay}`
        : ''
  return `${periodLabels[period]}${from}${timezone === 'UTC' ? '' : `, ${timezone}`}`
}

const Actions: FC<{ budget: PageBudget }> = ({ budget }) => {
  const title = `the ${periodLabels[budget.period]} budget of ${formatBudgetOwner(budget)}`
  return (
    <p class="acts meta up">
      <a href={budgetPath(budget.id)} aria-label={`Edit ${title}`}>
        Edit
      </a>
      <a href={deleteBudgetPath(budget.id)} aria-label={`Delete ${title}`}>
        Delete
      </a>
    </p>
  )
}

const formatReserved = (budget: PageBudget): string =>
  budget.reservedMicrousd > 0
    ? `, ${formatBudgetMoney(budget.reservedMicrousd, budget.limitMicrousd)} reserved`
    : budget.reservedTokens > 0 && budget.limitTokens !== null
      ? `, ${formatCount(budget.reservedTokens)} reserved`
      : ''

interface BudgetListProps {
  budgets: PageBudget[]
  now: number
  /** Whether the viewer can edit and delete budgets. */
  isAdmin: boolean
}

/** Lists budgets, a row each: what is spent of the limit, and the state, which opens what that means. */
const BudgetList: FC<BudgetListProps> = ({ budgets, now, isAdmin }) => (
  <table class="tbl fold budgets">
    <TableHead columns={['Budget', 'Period', 'Used', { right: 'Spent of limit' }, 'State']} />
    <tbody>
      {budgets.map((budget) => (
        <BudgetItem budget={budget} now={now} isAdmin={isAdmin} />
      ))}
    </tbody>
  </table>
)

/** Says how many accounts spend from the budget of their role and, to admins, which spend the most. */
const AccountsNote: FC<{ budget: PageBudget; accounts: RoleAccounts; isAdmin: boolean }> = (
  props,
) => {
  const { budget, accounts, isAdmin } = props
  const { count, usedUp, top } = accounts
  if (count === 0) return <p class="why">Nobody has spent in this period yet.</p>
  const spent = count === 1 ? '1 account has spent' : `${formatCount(count)} accounts have spent`
  return (
    <>
      <p class="why">
        {spent} in this period, {usedUp === 0 ? 'none' : formatCount(usedUp)} of them used up the
        limit. Accounts with a budget of their own are left out.
      </p>
      {isAdmin && (
        <ul class="meta up" aria-label={`Most spent of the budget of ${formatBudgetOwner(budget)}`}>
          {top.map(({ id, name, kind, spentMicrousd, spentTokens }) => (
            <li>
              {name === null ? id : <AccountLink name={name} kind={kind ?? 'agent'} />}{' '}
              {formatBudgetMoney(spentMicrousd, budget.limitMicrousd)},{' '}
              {formatPlural(spentTokens, 'token', 'tokens')}
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

const BudgetItem: FC<{ budget: PageBudget; now: number; isAdmin: boolean }> = (props) => {
  const { budget, now, isAdmin } = props
  const forecast = computeForecast(budget, now)
  const share = computeUsedShares(budget)
  const title = `${periodOptions[budget.period]} budget of ${formatBudgetOwner(budget)}`
  return (
    <tr id={budget.id}>
      <th scope="row">
        <BudgetName budget={budget} />
      </th>
      <td data-l="Period">{formatBudgetPeriod(budget)}</td>
      <td class="whole">
        {share && (
          <Meter share={share.used} reserved={share.reserved} label={title} budget={budget} />
        )}
      </td>
      <td class="r num" data-l="Spent of limit">
        <span>
          {share && <b>{formatShare(share.used)} </b>}
          <span class="meta">
            {formatBudgetUsage(budget)}
            {formatReserved(budget)}
          </span>
        </span>
      </td>
      <td class="whole">
        <details>
          <summary>
            {share ? <Status level={budget.level} /> : 'no limit'}
            {budget.isRefusing && ', refuses calls'}
            <span class="vh">, {title}</span>
          </summary>
          <p class="why">
            {formatBudgetConsequence(budget)}
            {forecast.state !== 'exhausted' &&
              !budget.accounts &&
              ` ${formatForecast(budget, forecast, now)}`}
          </p>
          {budget.accounts && (
            <AccountsNote budget={budget} accounts={budget.accounts} isAdmin={isAdmin} />
          )}
          {isAdmin && <Actions budget={budget} />}
        </details>
      </td>
    </tr>
  )
}

interface BudgetFactsProps {
  budget: PageBudget
  forecast: Forecast
  now: number
}

/** Shows four figures of a budget: spent, remaining, run rate, and when the limit is reached. */
const BudgetFacts: FC<BudgetFactsProps> = ({ budget, forecast, now }) => (
  <dl class="facts">
    <Spent budget={budget} />
    <Remaining budget={budget} />
    <div>
      <dt>Run rate</dt>
      <dd>
        {forecast.state === 'unknown'
          ? 'None yet'
          : formatRunRate(budget, forecast).replace(' a day', '')}
        <small>
          {forecast.state === 'unknown'
            ? 'nothing spent in this period'
            : `a day, ${formatRateBasis(budget)}`}
        </small>
      </dd>
    </div>
    <LimitReached budget={budget} forecast={forecast} now={now} />
  </dl>
)

const isInTokens = ({ limitMicrousd, limitTokens }: PageBudget): boolean =>
  limitMicrousd === null && limitTokens !== null

const Spent: FC<{ budget: PageBudget }> = ({ budget }) => {
  const { limitMicrousd, limitTokens } = budget
  const share = computeUsedShares(budget)
  const limit =
    limitMicrousd !== null
      ? formatBudgetMoney(limitMicrousd, limitMicrousd)
      : limitTokens !== null
        ? formatCount(limitTokens)
        : null
  return (
    <div>
      <dt>Spent {formatPeriod(budget.period)}</dt>
      <dd>
        {isInTokens(budget)
          ? `${formatCount(budget.spentTokens)} tokens`
          : formatBudgetMoney(budget.spentMicrousd, limitMicrousd)}
        <small>
          {limit && share
            ? `of ${limit}, ${formatShare(share.used)}`
            : `${formatCount(budget.spentTokens)} tokens, no limit set`}
        </small>
      </dd>
    </div>
  )
}

const Remaining: FC<{ budget: PageBudget }> = ({ budget }) => {
  const { limitMicrousd, limitTokens, endsAt } = budget
  const usable = (limit: number) =>
    hasCriticalReserve(budget) ? limit : toUsableLimit(limit, budget)
  const remaining = (limit: number, spent: number) =>
    endsAt === null ? 0 : Math.max(0, usable(limit) - spent)
  const reserved =
    budget.reservedMicrousd > 0
      ? `${formatBudgetMoney(budget.reservedMicrousd, limitMicrousd)} reserved by running agents`
      : endsAt === null
        ? 'no period is open'
        : `until ${formatDay(endsAt)}`
  return (
    <div>
      <dt>Remaining</dt>
      <dd>
        {limitMicrousd !== null
          ? formatBudgetMoney(remaining(limitMicrousd, budget.spentMicrousd), limitMicrousd)
          : limitTokens !== null
            ? `${formatCount(remaining(limitTokens, budget.spentTokens))} tokens`
            : 'No limit'}
        <small>{reserved}</small>
      </dd>
    </div>
  )
}

/** Whether part of the limit is reserved for tasks of critical priority. */
const hasCriticalReserve = ({ allowsCritical, criticalShare }: PageBudget): boolean =>
  allowsCritical && criticalShare < 1

/** Returns what happens at the limit, or when the period ends. */
function formatConsequence(budget: PageBudget, { state }: Forecast): string {
  switch (state) {
    case 'unknown':
      return budget.endsAt === null ? '' : `the period ends ${formatDay(budget.endsAt)}`
    case 'unlimited':
      return 'no limit is set'
    case 'lasts':
      return 'lasts until the next period'
    case 'runs_out':
      return `then ${hasCriticalReserve(budget) ? 'only critical tasks run' : 'no agent can spend'}`
    case 'exhausted':
      if (budget.isRefusing) return 'too little is left for a call'
      return hasCriticalReserve(budget) && (computeUsedShares(budget)?.used ?? 1) < 1
        ? 'only critical tasks run'
        : 'no agent can spend'
  }
}

const LimitReached: FC<BudgetFactsProps> = ({ budget, forecast, now }) => {
  const when =
    forecast.state === 'runs_out'
      ? formatEstimatedTime(forecast.exhaustedAt ?? now, now)
      : forecast.state === 'exhausted'
        ? 'Now'
        : forecast.state === 'unlimited'
          ? 'Never'
          : 'Not in this period'
  return (
    <div>
      <dt>Limit reached</dt>
      <dd>
        {when}
        <small>{formatConsequence(budget, forecast)}</small>
      </dd>
    </div>
  )
}

/** Whether figures are shown in tokens: without a limit in money, when tokens are limited or no money is spent. */
const countsTokens = (budget: PageBudget, forecast: Forecast): boolean =>
  (budget.limitMicrousd === null && budget.limitTokens !== null) ||
  (budget.limitMicrousd === null && forecast.microusdPerDay === 0)

/** Formats the run rate, as `$6.81 a day`. */
const formatRunRate = (budget: PageBudget, forecast: Forecast): string =>
  countsTokens(budget, forecast)
    ? `${formatCount(forecast.tokensPerDay)} tokens a day`
    : `${formatMoney(forecast.microusdPerDay, 'budget')} a day`

/** Formats what a run rate is based on, as `mean since 1 Nov 2026`. */
function formatRateBasis(budget: PageBudget): string {
  const since = findRateStart(budget)
  return since === null ? 'no period is open' : `mean since ${formatDay(since)}`
}

const formatExpectedUsage = (budget: PageBudget, forecast: Forecast): string =>
  countsTokens(budget, forecast)
    ? `${formatCount(forecast.expectedTokens)} tokens`
    : formatMoney(forecast.expectedMicrousd, 'budget')

const HOUR_MS = 3_600_000

/** Formats an estimated time, as `about 23 Nov 2026` or `in about 5 h`. */
function formatEstimatedTime(at: number, now: number): string {
  const hours = (at - now) / HOUR_MS
  if (hours < 1) return 'within the hour'
  if (hours < 24) return `in about ${Math.round(hours)}\u00a0h`
  return `about ${formatDay(at)}`
}

/** Formats the least that the last refused call could take. */
function formatNeed({ limitMicrousd, neededMicrousd, neededTokens }: PageBudget): string {
  return limitMicrousd === null || !neededMicrousd
    ? `${formatCount(neededTokens ?? 0)} tokens`
    : formatMoney(neededMicrousd, 'trace')
}

/** Formats that a budget has refused a call, because too little is left of it. */
const formatRefusing = (budget: PageBudget): string =>
  `A call that needs ${formatNeed(budget)} was refused: too little is left until ${formatEnd(budget)}.`

const formatEnd = ({ endsAt }: PageBudget): string =>
  endsAt === null ? 'the end of the period' : formatDay(endsAt)

/** Formats the forecast of a budget as one sentence. */
function formatForecast(budget: PageBudget, forecast: Forecast, now: number): string {
  const end = formatEnd(budget)
  const rate = formatRunRate(budget, forecast)
  // tokens of the offline model count, and cost nothing
  const isFree =
    budget.limitTokens === null && budget.limitMicrousd !== null && forecast.microusdPerDay === 0
  switch (forecast.state === 'lasts' && isFree ? 'unknown' : forecast.state) {
    case 'unknown':
      return 'No forecast, because nothing was spent in this period.'
    case 'unlimited':
      return `Forecast at ${rate}: ${formatExpectedUsage(budget, forecast)} by ${end}.`
    case 'lasts':
      return `Forecast at ${rate}: about ${formatExpectedUsage(budget, forecast)} by ${end}, within the limit.`
    case 'runs_out':
      return `Forecast at ${rate}: limit reached ${formatEstimatedTime(forecast.exhaustedAt ?? now, now)}.`
    case 'exhausted':
      return budget.isRefusing ? formatRefusing(budget) : `The budget is exhausted until ${end}.`
  }
}

/** Links to the files of older model calls, by day, newest first. */
const ArchivedCalls: FC<{ archives: ArchiveView[] }> = ({ archives }) => {
  const last = archives.at(-1)
  return last === undefined ? null : (
    <Block title="Archived model calls">
      <p class="meta">
        Older calls are archived by day. The charts and sums above still count them.
      </p>
      <ul class="acts up3">
        {archives.map(({ name, day }) => (
          <li>
            <a class="ul" href={`/budgets/calls.csv?archived=${encodeURIComponent(name)}`} download>
              {day}
            </a>
          </li>
        ))}
      </ul>
      {archives.length === archiving.listedMax && (
        <p>
          <TextLink href={`/budgets?archived_before=${last.day}`}>Older days</TextLink>
        </p>
      )}
    </Block>
  )
}

import type { FC } from 'hono/jsx'
import type { ActivationRow } from '../activations/page-queries'
import { ActivationTable } from '../web/activation-table'
import { isOfflineModel } from '../web/agent-words'
import { formatCount, formatDay, formatMoney, formatShare, sayPeriod } from '../web/format'
import type { Frame } from '../web/frame'
import { Icon } from '../web/icons'
import { Layout } from '../web/layout'
import { Who } from '../web/who'
import { BudgetList, shareOf } from './budget-list'
import type { TypedLimit } from './limit-form'
import type { PageBudget, UsageRow } from './page-queries'

export interface BudgetsPageProps {
  frame: Frame
  budgets: PageBudget[]
  byAgent: UsageRow[]
  byModel: UsageRow[]
  activations: ActivationRow[]
  typed: TypedLimit | null
}

export const BudgetsPage: FC<BudgetsPageProps> = (props) => {
  const { frame, budgets, byAgent, byModel, activations, typed } = props
  const isAdmin = frame.viewer?.isAdmin === true
  const hub = budgets.find(({ scope }) => scope === 'hub')
  return (
    <Layout frame={frame} title="Budgets" place="budgets">
      <div class="head">
        <div>
          <h1>Budgets</h1>
          <p class="lede">{sayWindow(hub)}</p>
        </div>
        <div class="acts">
          <a class="btn" href="/budgets.csv" download>
            <Icon name="download" />
            CSV
          </a>
        </div>
      </div>
      {hub && <HubFigures hub={hub} />}
      <section class="block">
        <h2>
          Budgets <span class="meta">ticks: warning 80, throttle 90, critical 100 %</span>
        </h2>
        {!isAdmin && <p class="meta up">An admin of this hub can change the limits here.</p>}
        <BudgetList budgets={budgets} isAdmin={isAdmin} typed={typed} />
      </section>
      <section class="block">
        <h2>By agent</h2>
        <UsageTable rows={byAgent} what="Agent" />
      </section>
      <section class="block">
        <h2>By model</h2>
        <UsageTable rows={byModel} what="Model" />
        <UnpricedNote rows={byModel} />
      </section>
      <section class="block">
        <h2>Last activations</h2>
        {activations.length === 0 ? (
          <NoWorkYet />
        ) : (
          <ActivationTable rows={activations} now={frame.now} hasAgent />
        )}
      </section>
    </Layout>
  )
}

const sayWindow = (hub: PageBudget | undefined): string =>
  hub?.startsAt && hub.endsAt
    ? `The hub’s ${hub.period} runs from ${formatDay(hub.startsAt)} to ${formatDay(hub.endsAt)}, counted in ${hub.timezone}.`
    : 'What agents may spend, and what they have spent.'

const HubFigures: FC<{ hub: PageBudget }> = ({ hub }) => {
  const share = shareOf(hub)
  const room = hub.endsAt === null ? 0 : (hub.limitMicrousd ?? 0) - hub.spentMicrousd
  const left = hub.limitMicrousd === null ? null : room
  return (
    <dl class="facts">
      <div>
        <dt>Spent {sayPeriod(hub.period)}</dt>
        <dd>
          {formatMoney(hub.spentMicrousd, 'budget')}
          <small>{share ? `${formatShare(share.used)} of the limit` : 'no limit is set'}</small>
        </dd>
      </div>
      <div>
        <dt>Reserved</dt>
        <dd>
          {formatMoney(hub.reservedMicrousd, 'budget')}
          <small>by work that is running</small>
        </dd>
      </div>
      <div>
        <dt>Left</dt>
        <dd>
          {left === null ? 'no limit' : formatMoney(Math.max(0, left), 'budget')}
          <small>{hub.endsAt ? `until ${formatDay(hub.endsAt)}` : 'no window is open'}</small>
        </dd>
      </div>
      <div>
        <dt>Tokens</dt>
        <dd>
          {formatCount(hub.spentTokens)}
          <small>
            {hub.limitTokens === null ? 'in and out' : `of ${formatCount(hub.limitTokens)}`}
          </small>
        </dd>
      </div>
    </dl>
  )
}

const UsageTable: FC<{ rows: UsageRow[]; what: 'Agent' | 'Model' }> = ({ rows, what }) => (
  <table class="tbl fold">
    <thead>
      <tr>
        <th scope="col">{what}</th>
        {['Today', '7 days', '30 days', 'Calls', 'Tokens'].map((head) => (
          <th scope="col" class="r">
            {head}
          </th>
        ))}
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => {
        const isUnpriced = row.unpricedTokens > 0 && row.monthMicrousd === 0
        const money = (microusd: number) =>
          isUnpriced ? 'unpriced' : formatMoney(microusd, 'budget')
        return (
          <tr>
            <th scope="row">
              {row.kind ? <Who name={row.name} kind={row.kind} /> : <code>{row.name}</code>}
            </th>
            <td class="r" data-l="Today">
              {money(row.dayMicrousd)}
            </td>
            <td class="r" data-l="7 days">
              {money(row.weekMicrousd)}
            </td>
            <td class="r" data-l="30 days">
              {money(row.monthMicrousd)}
            </td>
            <td class="r" data-l="Calls">
              {formatCount(row.calls)}
            </td>
            <td class="r" data-l="Tokens">
              {formatCount(row.monthTokens)}
            </td>
          </tr>
        )
      })}
    </tbody>
    {rows.length > 1 && <UsageTotal rows={rows} />}
  </table>
)

const UsageTotal: FC<{ rows: UsageRow[] }> = ({ rows }) => {
  const sum = (pick: (row: UsageRow) => number) => rows.reduce((all, row) => all + pick(row), 0)
  return (
    <tfoot>
      <tr>
        <th scope="row">Together</th>
        <td class="r" data-l="Today">
          {formatMoney(
            sum((row) => row.dayMicrousd),
            'budget',
          )}
        </td>
        <td class="r" data-l="7 days">
          {formatMoney(
            sum((row) => row.weekMicrousd),
            'budget',
          )}
        </td>
        <td class="r" data-l="30 days">
          {formatMoney(
            sum((row) => row.monthMicrousd),
            'budget',
          )}
        </td>
        <td class="r" data-l="Calls">
          {formatCount(sum((row) => row.calls))}
        </td>
        <td class="r" data-l="Tokens">
          {formatCount(sum((row) => row.monthTokens))}
        </td>
      </tr>
    </tfoot>
  )
}

const UnpricedNote: FC<{ rows: UsageRow[] }> = ({ rows }) => {
  const unpriced = rows.filter(({ unpricedTokens }) => unpricedTokens > 0)
  const offline = rows.some(({ name }) => isOfflineModel(name))
  return (
    <p class="meta">
      Today is counted in UTC.
      {offline && ' The built-in offline model runs here and costs nothing.'}
      {unpriced.length > 0 &&
        ` Without a price, counted in tokens only: ${unpriced
          .map(({ name, unpricedTokens }) => `${name}, ${formatCount(unpricedTokens)}`)
          .join('; ')}.`}
    </p>
  )
}

const NoWorkYet: FC = () => (
  <div class="empty">
    <p>
      <strong>No agent has worked yet.</strong>
      Name one in a post, and what it did and cost is listed here.
    </p>
  </div>
)

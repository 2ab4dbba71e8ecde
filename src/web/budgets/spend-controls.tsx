import type { FC } from 'hono/jsx'
import {
  formatUsageQuery,
  listBucketSizes,
  type Unit,
  type UsageView,
  usageDimensions,
  usageSpans,
} from '../../hub/budgets/usage-view'

const spanLabels = { 7: '7 days', 30: '30 days', 90: '90 days', 365: '1 year' } as const

interface Choice {
  text: string
  isCurrent: boolean
  query: string
}

/** A row of links of which the current one is marked. */
const Choices: FC<{ label: string; choices: Choice[] }> = ({ label, choices }) => (
  <p class="pick">
    <span class="meta">{label}</span>
    {choices.map(({ text, isCurrent, query }) => (
      <a href={`/budgets${query}#spend`} aria-current={isCurrent ? 'true' : undefined}>
        {text}
      </a>
    ))}
  </p>
)

/** Options of the usage view, as links, so that each view can be bookmarked and shared. */
export const SpendControls: FC<{ view: UsageView; unit: Unit }> = ({ view, unit }) => {
  const link = (change: Parameters<typeof formatUsageQuery>[1]) => formatUsageQuery(view, change)
  const keep = (days: UsageView['days']) =>
    listBucketSizes(days).includes(view.each) ? view.each : listBucketSizes(days)[0]
  const isPast = view.toDay <= view.today
  return (
    <nav class="picks" aria-label="Chart options">
      <Choices
        label="Group by"
        choices={usageDimensions.map((by) => ({
          text: by,
          isCurrent: by === view.by,
          query: link({ by }),
        }))}
      />
      <Choices
        label="Last"
        choices={usageSpans.map((days) => ({
          text: spanLabels[days],
          isCurrent: days === view.days,
          query: link({ days, each: keep(days) ?? 'day' }),
        }))}
      />
      <Choices
        label="Per"
        choices={listBucketSizes(view.days).map((each) => ({
          text: each,
          isCurrent: each === view.each,
          query: link({ each }),
        }))}
      />
      <Choices
        label="Unit"
        choices={(['usd', 'tokens'] as const).map((each) => ({
          text: each === 'usd' ? 'dollars' : 'tokens',
          isCurrent: each === unit,
          query: link({ unit: each }),
        }))}
      />
      <p class="pick">
        <a href={`/budgets${link({ toDay: view.fromDay })}#spend`} rel="prev">
          Earlier
        </a>
        {isPast && (
          <a
            href={`/budgets${link({ toDay: Math.min(view.today + 1, view.toDay + view.days) })}#spend`}
            rel="next"
          >
            Later
          </a>
        )}
      </p>
    </nav>
  )
}

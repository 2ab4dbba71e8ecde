import type { FC } from 'hono/jsx'
import {
  bucketsOf,
  type Unit,
  type UsageView,
  usageDimensions,
  usageSpans,
  writeUsageView,
} from './usage-view'

const spanWords = { 7: '7 days', 30: '30 days', 90: '90 days', 365: '1 year' } as const

interface Choice {
  text: string
  isHere: boolean
  query: string
}

/** One row of links; the one that holds now is no link's target but says so. */
const Choices: FC<{ label: string; choices: Choice[] }> = ({ label, choices }) => (
  <p class="pick">
    <span class="meta">{label}</span>
    {choices.map(({ text, isHere, query }) => (
      <a href={`/budgets${query}#spend`} aria-current={isHere ? 'true' : undefined}>
        {text}
      </a>
    ))}
  </p>
)

/** How to look at the usage otherwise. Links only, so that each view can be kept and shared. */
export const SpendControls: FC<{ view: UsageView; unit: Unit }> = ({ view, unit }) => {
  const link = (change: Parameters<typeof writeUsageView>[1]) => writeUsageView(view, change)
  const keep = (days: UsageView['days']) =>
    bucketsOf(days).includes(view.each) ? view.each : bucketsOf(days)[0]
  const isPast = view.toDay <= view.today
  return (
    <nav class="picks" aria-label="What to show">
      <Choices
        label="by"
        choices={usageDimensions.map((by) => ({
          text: by,
          isHere: by === view.by,
          query: link({ by }),
        }))}
      />
      <Choices
        label="last"
        choices={usageSpans.map((days) => ({
          text: spanWords[days],
          isHere: days === view.days,
          query: link({ days, each: keep(days) ?? 'day' }),
        }))}
      />
      <Choices
        label="each"
        choices={bucketsOf(view.days).map((each) => ({
          text: each,
          isHere: each === view.each,
          query: link({ each }),
        }))}
      />
      <Choices
        label="in"
        choices={(['usd', 'tokens'] as const).map((each) => ({
          text: each === 'usd' ? 'dollars' : 'tokens',
          isHere: each === unit,
          query: link({ unit: each }),
        }))}
      />
      <p class="pick">
        <a href={`/budgets${link({ toDay: view.fromDay })}#spend`} rel="prev">
          earlier
        </a>
        {isPast && (
          <a
            href={`/budgets${link({ toDay: Math.min(view.today + 1, view.toDay + view.days) })}#spend`}
            rel="next"
          >
            later
          </a>
        )}
      </p>
    </nav>
  )
}

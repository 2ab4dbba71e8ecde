import { requesterLists, usageCharts } from '../../shared/config'
import { capitalize } from '../../shared/format'
import { privateCommunityLabel } from '../rules/places'
import type { PageBudget } from './page-queries'
import type { PastWindow, RequesterLine } from './requester-queries'

type Scope = PageBudget['scope']
type Period = PageBudget['period']

/** Scopes at the start of a budget's name. */
export const scopeLabels = {
  hub: 'Whole hub',
  agent: 'Agent',
  provider: 'Provider',
  model: 'Model',
  community: 'Community',
  requester: 'Requester',
  guests: 'All guests',
  replay: 'Replays',
  'role:member': 'Each member',
  'role:guest': 'Each guest',
} as const satisfies Record<Scope, string>

/** Formats the budgets that pay for a run, within a sentence. */
export const formatPayers = (budgets: readonly { scope: Scope; name: string | null }[]): string =>
  budgets.map(({ scope, name }) => `${scopeLabels[scope]}${name ? ` ${name}` : ''}`).join(', ')

/** Owners of budgets that have no name of their own, within a sentence. */
const ownerLabels: Partial<Record<Scope, string>> = {
  hub: 'the hub',
  guests: 'all guests',
  replay: 'replays',
  'role:member': 'each member',
  'role:guest': 'each guest',
}

/** Whose budget it is, as plain text; the model or provider itself. */
export const formatBudgetOwner = ({
  scope,
  scopeId,
  name,
  community = null,
}: {
  scope: Scope
  scopeId: string
  /** Of the agent or requester. */
  name: string | null
  /** Null when the reader does not read it. */
  community?: { name: string } | null
}): string =>
  name ??
  (community && `m/${community.name}`) ??
  (scope === 'community' ? privateCommunityLabel : null) ??
  ownerLabels[scope] ??
  scopeId

/** Formats a budget within a sentence: `monthly budget of the hub`. */
export const formatBudget = (
  budget: Parameters<typeof formatBudgetOwner>[0] & { period: Period },
): string => `${periodLabels[budget.period]} budget of ${formatBudgetOwner(budget)}`

/** Scopes as the form offers them, in its order. */
export const scopeOptions = {
  agent: scopeLabels.agent,
  model: scopeLabels.model,
  provider: `${scopeLabels.provider} (all models)`,
  community: scopeLabels.community,
  requester: scopeLabels.requester,
  'role:member': scopeLabels['role:member'],
  'role:guest': scopeLabels['role:guest'],
  guests: scopeLabels.guests,
  replay: scopeLabels.replay,
  hub: scopeLabels.hub,
} satisfies Record<Scope, string>

/** Periods within a sentence. */
export const periodLabels: Record<Period, string> = {
  day: 'daily',
  week: 'weekly',
  month: 'monthly',
}

/** Periods as the form offers them, in its order. */
export const periodOptions: Record<Period, string> = {
  day: capitalize(periodLabels.day),
  week: capitalize(periodLabels.week),
  month: capitalize(periodLabels.month),
}

export const weekdayLabels = [
  'Monday',
  'Tuesday',
  'Wednesday',
  'Thursday',
  'Friday',
  'Saturday',
  'Sunday',
]

/** What a budget of each scope pauses at its throttle threshold, within a sentence. */
export const explorationLabels: Record<Scope, string> = {
  hub: 'exploration by all agents',
  agent: 'exploration by this agent',
  provider: 'exploration with models of this provider',
  model: 'exploration with this model',
  community: 'exploration in this community',
  requester: 'exploration by agents of this account',
  guests: 'nothing',
  replay: 'nothing',
  'role:member': 'exploration by agents of that member',
  'role:guest': 'nothing',
}

/** The usage that a budget of each scope stops at its limit, at the start of a sentence. */
export const spendingLabels: Record<Scope, string> = {
  hub: 'No agent can spend more',
  agent: 'This agent can’t spend more',
  provider: 'Models of this provider can’t be used',
  model: 'This model can’t be used',
  community: 'Agents can’t spend more in this community',
  requester: 'Agents can’t spend more for this account',
  guests: 'Agents can’t spend more for guests',
  replay: 'Runs can’t be replayed',
  'role:member': 'Agents can’t spend more for a member who has used this up',
  'role:guest': 'Agents can’t spend more for a guest who has used this up',
}

/** Errors of an invalid name in the form, by scope. */
export const nameHints: Record<string, string> = {
  hub: 'The hub has no name. Leave this empty, or choose another scope.',
  agent: 'Enter the name of an agent on this hub, such as scout.',
  provider: 'Enter a provider without a model, such as anthropic.',
  model: 'Enter a model as provider/model, such as openai/gpt-6-sol.',
  requester: 'Enter the name of an account on this hub, such as mira.',
  guests: 'All guests share this budget. Leave this empty, or choose another scope.',
  replay: 'All replays share this budget. Leave this empty, or choose another scope.',
  'role:member': 'Every member gets this budget. Leave this empty, or choose Requester.',
  'role:guest': 'Every guest gets this budget. Leave this empty, or choose Requester.',
  community: 'Enter the name of a community on this hub, such as general.',
}

/** Errors of an invalid reset day in the form, by period. */
export const resetDayHints: Record<string, string> = {
  day: 'A daily budget resets at midnight. Leave this at 1.',
  week: 'Enter a day of the week from 1 (Monday) to 7 (Sunday).',
  month: 'Enter a day of the month from 1 to 28.',
}

const DAY_MS = 86_400_000

export const usageDimensions = ['agent', 'model', 'task', 'community', 'provider'] as const
export type UsageDimension = (typeof usageDimensions)[number]
export const usageSpans = [7, 30, 90, 365] as const
type SpanDays = (typeof usageSpans)[number]
const buckets = ['day', 'week', 'month'] as const
export type Bucket = (typeof buckets)[number]
export type Unit = 'usd' | 'tokens'

/** The usage that a page or a CSV shows. Days are days since the Unix epoch, in UTC. */
export interface UsageView {
  by: UsageDimension
  each: Bucket
  days: SpanDays
  /** Null: dollars, or tokens when no usage has a price. */
  unit: Unit | null
  fromDay: number
  /** Exclusive. */
  toDay: number
  today: number
}

/** Returns the bucket sizes that fit a span, so that each bar is wide enough to be visible. */
export const listBucketSizes = (days: SpanDays): readonly Bucket[] =>
  ({ 7: ['day'], 30: ['day', 'week'], 90: ['day', 'week', 'month'], 365: ['week', 'month'] })[
    days
  ] as Bucket[]

/** Returns the first day of the day, week (from Monday) or month that contains a day. */
export function startOfBucket(day: number, each: Bucket): number {
  if (each === 'day') return day
  if (each === 'week') return day - ((day + 3) % 7)
  const date = new Date(day * DAY_MS)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) / DAY_MS
}

/** Lists the first day of each bucket of a view. */
export function listBuckets({ fromDay, toDay, each }: UsageView): number[] {
  const starts: number[] = []
  let day = fromDay
  while (day < toDay) {
    starts.push(day)
    day = endOfBucket(day, each)
  }
  return starts
}

/** Returns the first day after the bucket that starts on `day`. */
export function endOfBucket(day: number, each: Bucket): number {
  if (each === 'month') return startOfBucket(day + 31, 'month')
  return day + (each === 'week' ? 7 : 1)
}

/** Parses a query into a view; invalid values get defaults, so that old links keep working. */
export function parseUsageView(
  query: (name: string) => string | undefined,
  now: number,
): UsageView {
  const today = Math.floor(now / DAY_MS)
  const pick = <Value extends string>(from: readonly Value[], name: string): Value | undefined =>
    from.find((value) => value === query(name))
  const days = usageSpans.find((span) => String(span) === query('days')) ?? usageCharts.daysDefault
  const allowed = listBucketSizes(days)
  const each = pick(allowed, 'each') ?? allowed[0] ?? 'day'
  const last = Math.min(today, parseDay(query('to')) ?? today)
  return {
    by: pick(usageDimensions, 'by') ?? 'agent',
    each,
    days,
    unit: pick(['usd', 'tokens'] as const, 'in') ?? null,
    fromDay: startOfBucket(last - days + 1, each),
    toDay: last + 1,
    today,
  }
}

function parseDay(text: string | undefined): number | null {
  if (!text || !/^\d{4}-\d{2}-\d{2}$/.test(text)) return null
  const at = Date.parse(text)
  return Number.isNaN(at) || at < 0 ? null : at / DAY_MS
}

/** Formats a day as `2026-11-21`. */
export const formatIsoDay = (day: number): string =>
  new Date(day * DAY_MS).toISOString().slice(0, 10)

/** Returns the query string of a view with some values changed; defaults are omitted. */
export function formatUsageQuery(
  view: UsageView,
  change: Partial<Pick<UsageView, 'by' | 'each' | 'days' | 'unit' | 'toDay'>> = {},
): string {
  const next = { ...view, ...change }
  const params = new URLSearchParams()
  if (next.by !== 'agent') params.set('by', next.by)
  if (next.days !== usageCharts.daysDefault) params.set('days', String(next.days))
  if (next.each !== listBucketSizes(next.days)[0]) params.set('each', next.each)
  if (next.unit) params.set('in', next.unit)
  if (next.toDay <= next.today) params.set('to', formatIsoDay(next.toDay - 1))
  const text = params.toString()
  return text && `?${text}`
}

/** Spending of the hub's main budget in one of its windows, by who asked. */
export interface RequesterSpending {
  /** With what it spent in that window. */
  budget: PageBudget
  /** For admins the accounts with the greatest amounts and the tasks that nobody asked for; for others themselves. */
  lines: RequesterLine[]
  /** What the window has spent besides. */
  others: Pick<PageBudget, 'spentMicrousd' | 'spentTokens'>
}

/** Who reads: only admins see what is spent on behalf of others. */
interface SpendingViewer {
  isAdmin: boolean
}

/**
 * Returns what a viewer sees; null for anonymous viewers, and while no window is open.
 *
 * @param past the window that the lines are of, when it has ended
 */
export function toRequesterSpending(
  all: RequesterLine[],
  budgets: PageBudget[],
  viewer: SpendingViewer | null,
  past?: PastWindow,
): RequesterSpending | null {
  const current = budgets.find(({ id }) => id === all[0]?.budgetId)
  if (!viewer || !current) return null
  const budget = { ...current, ...past }
  const lines = all.filter((line) =>
    viewer.isAdmin ? line.isTask || isAmongGreatest(line) : line.isOwn,
  )
  const rest = (name: 'spentMicrousd' | 'spentTokens') =>
    Math.max(
      0,
      lines.reduce((left, line) => left - line[name], budget[name]),
    )
  return {
    budget,
    lines,
    others: { spentMicrousd: rest('spentMicrousd'), spentTokens: rest('spentTokens') },
  }
}

const isAmongGreatest = ({ place, spentMicrousd, spentTokens }: RequesterLine): boolean =>
  place <= requesterLists.shown && spentMicrousd + spentTokens > 0

/** Returns the task of a line such as `task:exploration`; null for an account. */
export const readTask = ({ requester, isTask }: RequesterLine): string | null =>
  isTask ? requester.slice('task:'.length) : null

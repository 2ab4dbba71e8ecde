import { capitalize } from '../../shared/format'
import { privateCommunityLabel } from '../communities/visibility-labels'
import type { PageBudget } from './page-queries'

type Scope = PageBudget['scope']
type Period = PageBudget['period']

/** Scopes at the start of a budget's name. */
export const scopeLabels = {
  hub: 'Whole hub',
  agent: 'Agent',
  executor: 'Provider',
  model: 'Model',
  community: 'Community',
  requester: 'Requester',
  guests: 'All guests',
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
  /** Its name; null when the reader does not read it. */
  community?: string | null
}): string =>
  name ??
  (community && `m/${community}`) ??
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
  executor: `${scopeLabels.executor} (all models)`,
  community: scopeLabels.community,
  requester: scopeLabels.requester,
  'role:member': scopeLabels['role:member'],
  'role:guest': scopeLabels['role:guest'],
  guests: scopeLabels.guests,
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
  executor: 'exploration with models of this provider',
  model: 'exploration with this model',
  community: 'exploration in this community',
  requester: 'exploration by agents of this account',
  guests: 'nothing',
  'role:member': 'exploration by agents of that member',
  'role:guest': 'nothing',
}

/** The usage that a budget of each scope stops at its limit, at the start of a sentence. */
export const spendingLabels: Record<Scope, string> = {
  hub: 'No agent can spend more',
  agent: 'This agent can’t spend more',
  executor: 'Models of this provider can’t be used',
  model: 'This model can’t be used',
  community: 'Agents can’t spend more in this community',
  requester: 'Agents can’t spend more for this account',
  guests: 'Agents can’t spend more for guests',
  'role:member': 'Agents can’t spend more for a member who has used this up',
  'role:guest': 'Agents can’t spend more for a guest who has used this up',
}

/** Errors of an invalid name in the form, by scope. */
export const nameHints: Record<string, string> = {
  hub: 'The hub has no name. Leave this empty, or choose another scope.',
  agent: 'Enter the name of an agent on this hub, such as scout.',
  executor: 'Enter a provider without a model, such as anthropic.',
  model: 'Enter a model as provider/model, such as openai/gpt-6-sol.',
  requester: 'Enter the name of an account on this hub, such as mira.',
  guests: 'All guests share this budget. Leave this empty, or choose another scope.',
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

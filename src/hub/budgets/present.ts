import * as z from 'zod'
import { briefPersonAnswer, kindAnswer } from '../accounts/present'
import { privateCommunityLabel } from '../communities/visibility-labels'
import { countAnswer, microusdAnswer, timeAnswer } from '../http/answers'
import { presenterOf } from '../http/presenter'
import { budgets } from '../schema/budgets'
import { computeForecast, type Forecast } from './forecast'
import { computeUsedShares, findWorstLevel, levels } from './levels'
import type { PageBudget, RoleAccount } from './page-queries'
import { type RequesterSpending, readTask } from './requester-view'
import type { UsageGroup, UsageGroupSums, UsageSums } from './usage-api-queries'

const share = z.number().describe('Part of a limit; 1 is all of it.')

/** An account, which may be deleted. */
const ownerAnswer = briefPersonAnswer.extend({
  name: z.string().nullable(),
  kind: kindAnswer.nullable(),
})

const accountAnswer = ownerAnswer.extend({
  spent_microusd: microusdAnswer,
  spent_tokens: countAnswer,
})

export const budgetAnswer = z
  .object({
    id: z.string(),
    scope: z.enum(budgets.scope.enumValues),
    scope_id: z
      .string()
      .describe(
        'Empty for the hub, guests and roles, an account id, an executor or provider, provider/model, or a community id.',
      ),
    community: z
      .string()
      .nullable()
      .describe(
        `Name of the community, or "${privateCommunityLabel}" for those who do not read it; null for other scopes.`,
      ),
    made_by: z.enum(budgets.madeBy.enumValues),
    agent: ownerAnswer.nullable().describe('Null for other scopes.'),
    requester: ownerAnswer.nullable().describe('Null for other scopes.'),
    accounts: z
      .object({
        count: countAnswer.describe('Accounts that have spent in this period.'),
        used_up: countAnswer.describe('Those for which nothing is left, or too little for a call.'),
        top: z
          .array(accountAnswer)
          .describe('Those that have used the most; empty unless you are an admin.'),
      })
      .nullable()
      .describe(
        'For role:member and role:guest: each account has a window of its own. What is spent, needed and forecast is that of the account that has used the most, and nothing is shown as reserved. Accounts with a budget of their own are left out. Null for other scopes.',
      ),
    period: z.enum(budgets.period.enumValues),
    reset_day: z.int().describe('Day of the month or of the week on which the period begins.'),
    timezone: z.string(),
    starts_at: timeAnswer.nullable(),
    ends_at: timeAnswer.nullable(),
    limit_microusd: microusdAnswer.nullable(),
    limit_tokens: countAnswer.nullable(),
    spent_microusd: microusdAnswer,
    spent_tokens: countAnswer,
    reserved_microusd: microusdAnswer.describe(
      'Millionths of a US dollar that running activations have reserved.',
    ),
    reserved_tokens: countAnswer,
    warning_share: share,
    throttle_share: share,
    critical_share: share,
    allows_critical: z
      .boolean()
      .describe('Whether tasks of critical priority can spend beyond critical_share.'),
    share_used: z
      .number()
      .nullable()
      .describe('The larger used share of the limits; null without a limit.'),
    needed_microusd: microusdAnswer
      .nullable()
      .describe('Least cost of the last call that was refused in this period; null when none was.'),
    needed_tokens: countAnswer.nullable(),
    status: z
      .enum(levels)
      .describe('critical: tasks are refused, because nothing is left or too little for a call.'),
  })
  .meta({ id: 'Budget' })

const toOwner = ({ scopeId, name, kind }: PageBudget) => ({ id: scopeId, name, kind })

const presentAccount = presenterOf(accountAnswer).from<RoleAccount>({})

const presentColumns = presenterOf(budgetAnswer).from<PageBudget>({
  community: ({ scope, community }) =>
    scope === 'community' ? (community ?? privateCommunityLabel) : null,
  agent: (budget) => (budget.scope === 'agent' ? toOwner(budget) : null),
  requester: (budget) => (budget.scope === 'requester' ? toOwner(budget) : null),
  accounts: ({ accounts }) =>
    accounts && {
      count: accounts.count,
      used_up: accounts.usedUp,
      top: accounts.top.map(presentAccount),
    },
  share_used: (budget) => computeUsedShares(budget)?.used ?? null,
  status: ({ level }) => level,
})

const withoutTop = ({ accounts, ...budget }: PageBudget): PageBudget => ({
  ...budget,
  accounts: accounts && { ...accounts, top: [] },
})

/** Presents a budget. `share_used` is the larger used share of its limits, 1 being all; null without a limit. */
export const presentBudget = (budget: PageBudget, isAdmin: boolean): z.input<typeof budgetAnswer> =>
  presentColumns(isAdmin ? budget : withoutTop(budget))

const spentAnswer = z.object({ spent_microusd: microusdAnswer, spent_tokens: countAnswer })

export const requestersAnswer = z
  .object({
    budget_id: z.string().describe('The main budget of the hub, for whose period it is.'),
    spent: z
      .array(
        spentAnswer.extend({
          requester: briefPersonAnswer
            .extend({ name: z.string().nullable(), kind: kindAnswer.nullable() })
            .nullable()
            .describe('Null for runs that nobody asked for.'),
          task: z.string().nullable().describe('Of runs that nobody asked for; else null.'),
        }),
      )
      .describe(
        'For admins the ten accounts on whose behalf the most was spent, and the runs that nobody asked for; for others what was spent on their behalf. Those who ask for a run together share its cost.',
      ),
    others: spentAnswer.describe('What the budget has spent besides.'),
  })
  .nullable()
  .describe('What was spent on behalf of whom; null unless you are signed in.')

export const presentRequesters = ({
  budget,
  lines,
  others,
}: RequesterSpending): z.input<typeof requestersAnswer> => ({
  budget_id: budget.id,
  spent: lines.map((line) => ({
    requester: line.isTask ? null : { id: line.requester, name: line.name, kind: line.kind },
    task: readTask(line),
    spent_microusd: line.spentMicrousd,
    spent_tokens: line.spentTokens,
  })),
  others: { spent_microusd: others.spentMicrousd, spent_tokens: others.spentTokens },
})

const forecastAnswer = z.object({
  state: z
    .enum(['unknown', 'unlimited', 'lasts', 'runs_out', 'exhausted'])
    .describe('unknown: no usage in this window. unlimited: no limit is set.'),
  microusd_per_day: z.number().describe('Millionths of a US dollar.'),
  tokens_per_day: z.number(),
  expected_microusd: z.number().describe('At the end of the window, as if there were no limit.'),
  expected_tokens: z.number().describe('At the end of the window, as if there were no limit.'),
  exhausted_at: timeAnswer.nullable().describe('Only when the state is runs_out.'),
})

/** Presents a forecast. `exhausted_at` is set for `runs_out`; expected amounts ignore the limit. */
const presentForecast = presenterOf(forecastAnswer).from<Forecast>({})

export const healthAnswer = z.object({
  status: z
    .enum(levels)
    .describe(
      'The worst status of all budgets but those per member or guest, which stop one account.',
    ),
  budgets: z.array(budgetAnswer.extend({ forecast: forecastAnswer })),
})

/** Presents all budgets with their forecasts, and the worst status. */
export const presentHealth = (
  budgets: PageBudget[],
  now: number,
  isAdmin: boolean,
): z.input<typeof healthAnswer> => ({
  status: findWorstLevel(budgets.filter(({ accounts }) => accounts === null)),
  budgets: budgets.map((budget) => ({
    ...presentBudget(budget, isAdmin),
    forecast: presentForecast(computeForecast(budget, now)),
  })),
})

const namedGroup = z.object({ id: z.string(), name: z.string().nullable() })

export const usageSumsAnswer = z.object({
  calls: countAnswer,
  estimated_calls: countAnswer.describe('Calls without reported usage, which was estimated.'),
  input_tokens: countAnswer,
  cached_tokens: countAnswer,
  output_tokens: countAnswer,
  reasoning_tokens: countAnswer,
  cost_microusd: microusdAnswer,
  unpriced_tokens: countAnswer.describe('Tokens of models without a price.'),
})

/** Usage of one group; it has the one key that `group_by` names. */
export const usageAnswer = usageSumsAnswer.extend({
  agent: namedGroup.extend({ id: z.string().nullable(), kind: kindAnswer.nullable() }).optional(),
  community: namedGroup
    .nullable()
    .optional()
    .describe(
      'Null for usage outside of a community. Those that you do not read are one group with the id private.',
    ),
  model: z.string().nullable().optional(),
  task: z.string().nullable().optional(),
  executor: z.string().nullable().optional(),
  day: z.iso.date().nullable().optional().describe('In UTC.'),
})

export const presentUsage = (
  group: UsageGroup,
  row: UsageGroupSums,
): z.input<typeof usageAnswer> => ({
  ...presentKey(group, row),
  ...presentSums(row),
})

function presentKey(
  group: UsageGroup,
  { key, name, kind }: UsageGroupSums,
): Pick<z.input<typeof usageAnswer>, UsageGroup> {
  if (group === 'agent') return { agent: { id: key, name, kind } }
  if (group === 'community') {
    return { community: key === null ? null : { id: key, name: name ?? privateCommunityLabel } }
  }
  return { [group]: key }
}

export const presentSums = presenterOf(usageSumsAnswer).from<UsageSums>({})

import * as z from 'zod'
import {
  countAnswer,
  deletedAnswer,
  microusdAnswer,
  presenterOf,
  presentTime,
  timeAnswer,
  warningsAnswer,
} from '../http/answers'
import { presentIdempotent, type Route, routesOf } from '../http/route'
import { computeUsedShares, findWorstLevel, levels } from '../rules/budget-levels'
import { kindAnswer } from '../rules/people'
import { placeAnswer, privateCommunityLabel } from '../rules/places'
import { budgets } from '../schema/budgets'
import {
  auditBudgets,
  budgetErrors,
  changeBudget,
  createBudget,
  removeBudget,
  repairBudgets,
  type SavedBudget,
} from './actions'
import { computeForecast, type Forecast } from './forecast'
import { budgetChange, budgetInput } from './inputs'
import { type PageBudget, type RoleAccount, selectBudgets } from './page-queries'
import {
  type PastWindow,
  selectPastLines,
  selectPastWindows,
  selectRequesterLines,
} from './requester-queries'
import {
  type UsageGroup,
  type UsageGroupSums,
  type UsageSums,
  usageGroups,
  usageStatements,
  type WindowDifference,
} from './usage-queries'
import { type RequesterSpending, readTask, toRequesterSpending } from './usage-view'

const route = routesOf('budgets')

const share = z.number().describe('Part of a limit; 1 is all of it.')

/** An account, which may be deleted. */
const ownerAnswer = z.object({
  id: z.string(),
  name: z.string().nullable().describe('Null when the account is deleted.'),
  kind: kindAnswer.nullable(),
  display_name: z.string().nullable(),
})

const accountAnswer = ownerAnswer.extend({
  spent_microusd: microusdAnswer,
  spent_tokens: countAnswer,
})

const budgetAnswer = z
  .object({
    id: z.string(),
    scope: z.enum(budgets.scope.enumValues),
    scope_id: z
      .string()
      .describe(
        'Empty for the hub, guests and roles, an account id, a provider, provider/model, or a community id.',
      ),
    community: placeAnswer
      .nullable()
      .describe('Null for other scopes, and for those who do not read it.'),
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

const toOwner = (
  id: string,
  { name, kind, displayName }: Pick<PageBudget, 'name' | 'kind' | 'displayName'>,
): z.input<typeof ownerAnswer> => ({ id, name, kind, display_name: displayName })

const presentAccount = presenterOf(accountAnswer).from<RoleAccount>({})

const presentColumns = presenterOf(budgetAnswer).from<PageBudget>({
  agent: (budget) => (budget.scope === 'agent' ? toOwner(budget.scopeId, budget) : null),
  requester: (budget) => (budget.scope === 'requester' ? toOwner(budget.scopeId, budget) : null),
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
const presentBudget = (budget: PageBudget, isAdmin: boolean): z.input<typeof budgetAnswer> =>
  presentColumns(isAdmin ? budget : withoutTop(budget))

const spentAnswer = z.object({ spent_microusd: microusdAnswer, spent_tokens: countAnswer })

const requestersAnswer = z
  .object({
    budget_id: z.string().describe('The main budget of the hub, for whose period it is.'),
    starts_at: timeAnswer.nullable().describe('When the window of the budget began.'),
    ended: z
      .array(timeAnswer)
      .describe('When windows began that have ended, the newest first, for `requesters_of`.'),
    spent: z
      .array(
        spentAnswer.extend({
          requester: ownerAnswer.nullable().describe('Null for runs that nobody asked for.'),
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

const presentRequesters = (
  { budget, lines, others }: RequesterSpending,
  ended: PastWindow[],
): z.input<typeof requestersAnswer> => ({
  budget_id: budget.id,
  starts_at: presentTime(budget.startsAt),
  ended: ended.map(({ startsAt }) => presentTime(startsAt)),
  spent: lines.map((line) => ({
    requester: line.isTask ? null : toOwner(line.requester, line),
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

const healthAnswer = z.object({
  status: z
    .enum(levels)
    .describe(
      'The worst status of all budgets but those per member or guest, which stop one account.',
    ),
  budgets: z.array(budgetAnswer.extend({ forecast: forecastAnswer })),
})

/** Presents all budgets with their forecasts, and the worst status. */
const presentHealth = (
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

const usageSumsAnswer = z.object({
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
const usageAnswer = usageSumsAnswer.extend({
  agent: ownerAnswer.extend({ id: z.string().nullable() }).optional(),
  community: placeAnswer
    .nullable()
    .optional()
    .describe(
      'Null for usage outside of a community. Those that you do not read are one group with the id private.',
    ),
  model: z.string().nullable().optional(),
  task: z.string().nullable().optional(),
  provider: z.string().nullable().optional(),
  day: z.iso.date().nullable().optional().describe('In UTC.'),
})

const presentUsage = (group: UsageGroup, row: UsageGroupSums): z.input<typeof usageAnswer> => ({
  ...presentKey(group, row),
  ...presentSums(row),
})

function presentKey(
  group: UsageGroup,
  { key, name, kind, displayName }: UsageGroupSums,
): Pick<z.input<typeof usageAnswer>, UsageGroup> {
  if (group === 'agent') return { agent: { id: key, name, kind, display_name: displayName } }
  if (group === 'community') {
    if (key === null) return { community: null }
    const label = privateCommunityLabel
    return { community: { id: key, name: name ?? label, display_name: displayName ?? label } }
  }
  return { [group]: key }
}

const presentSums = presenterOf(usageSumsAnswer).from<UsageSums>({})

const differenceAnswer = z
  .object({
    budget_id: z.string(),
    scope: z.enum(budgets.scope.enumValues),
    scope_id: z.string(),
    account_id: z
      .string()
      .nullable()
      .describe('The account that has the window, in a budget of its role; else null.'),
    starts_at: timeAnswer,
    ends_at: timeAnswer,
    counted_microusd: microusdAnswer,
    events_microusd: microusdAnswer.describe('The recorded usage, in millionths of a US dollar.'),
    counted_tokens: countAnswer,
    events_tokens: countAnswer.describe('The recorded usage.'),
  })
  .meta({ id: 'BudgetDifference' })

const presentDifference = presenterOf(differenceAnswer).from<WindowDifference>({})

const budgetAuditRoutes: Route[] = [
  route({
    method: 'get',
    path: '/budgets/audit',
    summary: 'Lists the windows whose budget counters differ from recorded usage (admin)',
    access: 'admin',
    answer: z.object({ is_consistent: z.boolean(), differences: z.array(differenceAnswer) }),
    handle: async ({ context }) => {
      const differences = await auditBudgets(context)
      return {
        is_consistent: differences.length === 0,
        differences: differences.map(presentDifference),
      }
    },
  }),
  route({
    method: 'post',
    path: '/budgets/audit/repair',
    summary:
      'Corrects the budget counters that differ from recorded usage, with an audit entry (admin)',
    access: 'admin',
    answer: z.object({ repaired: z.array(differenceAnswer) }),
    handle: async (call) => {
      const done = await repairBudgets(call.context, call.actor())
      return presentIdempotent(call, done, (repaired) => ({
        repaired: repaired.map(presentDifference),
      }))
    },
  }),
]

const DAY_MS = 86_400_000

const time = z.union([z.iso.date(), z.iso.datetime({ offset: true })])
const sinceTime = time
  .transform((text) => Date.parse(text))
  .describe('a day (UTC) or a time, inclusive')
/** The exclusive end of the time range: the time itself, or the end of the given day. */
const untilTime = time
  .transform((text) => Date.parse(text) + (text.includes('T') ? 0 : DAY_MS))
  .describe('a day (UTC), inclusive, or a time, exclusive')

const usageReportAnswer = z.object({
  group_by: z.enum(usageGroups),
  from: timeAnswer,
  to: timeAnswer.describe('Exclusive.'),
  usage: z.array(usageAnswer),
  total: usageSumsAnswer.optional(),
})

const usageRoute = route({
  method: 'get',
  path: '/usage',
  summary:
    'Returns tokens and cost by agent, model, task, community, provider or day (UTC), between times or whole days; the last 30 days by default',
  access: 'read',
  query: z.object({
    group_by: z.enum(usageGroups).default('agent'),
    from: sinceTime.optional(),
    to: untilTime.optional(),
  }),
  answer: usageReportAnswer,
  handle: async ({ context, query, read, reader }) => {
    const to = query.to ?? context.clock.now() + 1
    const from = query.from ?? to - 30 * DAY_MS
    if (from > to) throw budgetErrors.timeRange()
    const group = query.group_by
    const { answers } = await read(usageStatements(group, from, to, reader))
    return {
      group_by: group,
      from: presentTime(from),
      to: presentTime(to),
      usage: answers.groups.map((row) => presentUsage(group, row)),
      ...(answers.total ? { total: presentSums(answers.total) } : {}),
    }
  },
})

const presentSaved = ({ budget, warnings }: SavedBudget) => ({
  budget: presentBudget(budget, true),
  warnings,
})

export const budgetRoutes: Route[] = [
  route({
    method: 'get',
    path: '/budgets/health',
    summary:
      'Returns the used share of each budget, and its forecast: daily run rate and when the limit is reached',
    access: 'read',
    answer: healthAnswer,
    handle: async ({ context, read, reader }) => {
      const now = context.clock.now()
      const { answers, viewer } = await read({ budgets: selectBudgets({ now, reader }) })
      return presentHealth(answers.budgets, now, viewer?.role === 'admin')
    },
  }),
  route({
    method: 'get',
    path: '/budgets',
    summary:
      'Lists budgets with current spending and reservations, and what was spent on behalf of whom',
    access: 'read',
    query: z.object({
      requesters_of: z.iso
        .datetime()
        .optional()
        .describe('When an ended window of the main budget began: `requesters` is of that one.'),
    }),
    answer: z.object({ budgets: z.array(budgetAnswer), requesters: requestersAnswer }),
    handle: async ({ context, read, reader, query }) => {
      const at = { now: context.clock.now(), reader }
      const startsAt = query.requesters_of === undefined ? null : Date.parse(query.requesters_of)
      const { answers, viewer } = await read({
        budgets: selectBudgets(at),
        lines: startsAt === null ? selectRequesterLines(at) : selectPastLines({ startsAt, reader }),
        ended: selectPastWindows(at),
      })
      const isAdmin = viewer?.role === 'admin'
      const past = answers.ended.find((each) => each.startsAt === startsAt)
      if (startsAt !== null && !past) throw budgetErrors.unknownWindow()
      const spending = toRequesterSpending(
        answers.lines,
        answers.budgets,
        viewer ? { isAdmin } : null,
        past,
      )
      return {
        budgets: answers.budgets.map((budget) => presentBudget(budget, isAdmin)),
        requesters: spending && presentRequesters(spending, answers.ended),
      }
    },
  }),
  route({
    method: 'patch',
    path: '/budgets/:id',
    summary:
      'Updates limits and thresholds of a budget; null removes a limit, absent fields stay (admin)',
    access: 'admin',
    body: budgetChange,
    answer: z.object({ budget: budgetAnswer, warnings: warningsAnswer }),
    handle: async ({ context, viewer, param, body }) =>
      presentSaved(await changeBudget(context, viewer().id, param('id'), body)),
  }),
  route({
    method: 'post',
    path: '/budgets',
    summary: 'Creates a budget, which counts usage since the start of its period (admin)',
    access: 'admin',
    status: 201,
    body: budgetInput,
    answer: z.object({ budget: budgetAnswer, warnings: warningsAnswer }),
    handle: async (call) => {
      const done = await createBudget(call.context, call.actor(), call.body)
      return presentIdempotent(call, done, presentSaved)
    },
  }),
  route({
    method: 'delete',
    path: '/budgets/:id',
    summary: 'Deletes a budget; recorded usage stays (admin)',
    access: 'admin',
    answer: deletedAnswer,
    handle: async ({ context, viewer, param }) => {
      await removeBudget(context, viewer().id, param('id'))
      return { deleted: param('id') }
    },
  }),
  usageRoute,
  ...budgetAuditRoutes,
]

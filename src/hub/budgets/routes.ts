import * as z from 'zod'
import { deletedAnswer, presentTime, timeAnswer, warningsAnswer } from '../http/answers'
import { presentIdempotent, type Route, route } from '../http/route'
import { changeBudget, createBudget, removeBudget, type SavedBudget } from './actions'
import { budgetAuditRoutes } from './audit-routes'
import { budgetErrors } from './errors'
import { budgetChange, budgetInput } from './inputs'
import { selectBudgets } from './page-queries'
import {
  budgetAnswer,
  healthAnswer,
  presentBudget,
  presentHealth,
  presentRequesters,
  presentSums,
  presentUsage,
  requestersAnswer,
  usageAnswer,
  usageSumsAnswer,
} from './present'
import { selectRequesterLines } from './requester-queries'
import { toRequesterSpending } from './requester-view'
import { usageGroups, usageStatements } from './usage-api-queries'

const tag = 'budgets'
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
    'Returns tokens and cost by agent, model, task, community, executor or day (UTC), between times or whole days; the last 30 days by default',
  tag,
  access: 'read',
  rate: 'read',
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
    tag,
    access: 'read',
    rate: 'read',
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
    tag,
    access: 'read',
    rate: 'read',
    answer: z.object({ budgets: z.array(budgetAnswer), requesters: requestersAnswer }),
    handle: async ({ context, read, reader }) => {
      const at = { now: context.clock.now(), reader }
      const { answers, viewer } = await read({
        budgets: selectBudgets(at),
        lines: selectRequesterLines(at),
      })
      const isAdmin = viewer?.role === 'admin'
      const spending = toRequesterSpending(
        answers.lines,
        answers.budgets,
        viewer ? { isAdmin } : null,
      )
      return {
        budgets: answers.budgets.map((budget) => presentBudget(budget, isAdmin)),
        requesters: spending && presentRequesters(spending),
      }
    },
  }),
  route({
    method: 'patch',
    path: '/budgets/:id',
    summary:
      'Updates limits and thresholds of a budget; null removes a limit, absent fields stay (admin)',
    tag,
    access: 'admin',
    rate: 'write',
    body: budgetChange,
    answer: z.object({ budget: budgetAnswer, warnings: warningsAnswer }),
    handle: async ({ context, viewer, param, body }) =>
      presentSaved(await changeBudget(context, viewer().id, param('id'), body)),
  }),
  route({
    method: 'post',
    path: '/budgets',
    summary: 'Creates a budget, which counts usage since the start of its period (admin)',
    tag,
    access: 'admin',
    rate: 'write',
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
    tag,
    access: 'admin',
    rate: 'write',
    answer: deletedAnswer,
    handle: async ({ context, viewer, param }) => {
      await removeBudget(context, viewer().id, param('id'))
      return { deleted: param('id') }
    },
  }),
  usageRoute,
  ...budgetAuditRoutes,
]

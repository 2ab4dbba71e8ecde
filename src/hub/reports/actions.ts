import { type Answers, batch, run } from '../../shared/db/batch'
import type { Db } from '../../shared/db/db'
import type { ActionContext } from '../action-context'
import {
  type DueSummary,
  selectActivity,
  selectDueSummaries,
  selectSpendingAgents,
} from './day-queries'
import { formatBudgetAlert } from './format-budget-alert'
import { formatSummary } from './format-summary'
import { formatUnusualUse } from './format-unusual-use'
import { type ChangedBudget, selectChangedBudgets, updateReportedLevels } from './level-queries'
import { postReportStatements, type Report } from './report-queries'

type Context = Pick<ActionContext, 'db' | 'clock'>

/** Selects what a sweep has to report. */
export const reportStatements = (now: number) => ({
  dueSummaries: selectDueSummaries(now),
  spendingAgents: selectSpendingAgents(now),
  changedBudgets: selectChangedBudgets(now),
})

/**
 * Posts reports from the answers of `reportStatements`. Each report is posted once, also with concurrent
 * sweeps and after a crash. Makes no round trip when there is nothing to report.
 */
export async function publishReports(
  context: Context,
  found: Answers<ReturnType<typeof reportStatements>>,
  now: number,
): Promise<void> {
  const drafts = [
    ...(await readSummaries(context.db, found.dueSummaries)),
    ...found.spendingAgents.flatMap((agent) => formatUnusualUse(agent) ?? []),
  ]
  await postReports(context, drafts, found.changedBudgets, now)
}

/** Posts budget alerts right after a commit. After a crash the next sweep posts them. */
export async function publishBudgetAlerts(context: Context): Promise<void> {
  const now = context.clock.now()
  await postReports(context, [], await run(context.db, selectChangedBudgets(now)), now)
}

async function postReports(
  { db, clock }: Context,
  drafts: Omit<Report, 'postId'>[],
  budgets: ChangedBudget[],
  now: number,
): Promise<void> {
  const all = [...drafts, ...budgets.flatMap((budget) => formatBudgetAlert(budget) ?? [])]
  const reports = all.map((draft) => ({ ...draft, postId: clock.newId() }))
  await batch(db, {
    posts: postReportStatements(reports, now),
    levels: budgets.length > 0 ? updateReportedLevels(budgets) : null,
  })
}

async function readSummaries(db: Db, due: DueSummary[]): Promise<Omit<Report, 'postId'>[]> {
  const selected = due.map(selectActivity)
  const { all, agents } = await batch(db, {
    all: selected.map((each) => each.all),
    agents: selected.map((each) => each.agents),
  })
  return due.flatMap((each, at) => {
    const totals = all[at]
    return totals ? [formatSummary(each, totals, agents[at] ?? [])] : []
  })
}
